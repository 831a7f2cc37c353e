"""Errors: the message is composed from facts, and programs can compose it in their own words."""

from __future__ import annotations

import errno
import pickle

from parquet_bloomwriter.errors import InvalidArgument, NoFileMatches, Proposal, UnsafeTarget, Way

FORCE = Proposal(Way.FORCE, "force it")
ERROR = UnsafeTarget(
    "after a rewrite, force it would be wrong about the file",
    path="force it",
    remedy=("Name another than force it, write elsewhere, or ", FORCE, "."),
)


def test_the_message_holds_all_facts() -> None:
    error = UnsafeTarget("it is bad", path="a\nb", row_group=1, column="c", byte=2, remedy="Run.")
    where = "a\\nb: row group 1: column c: byte 2"
    assert str(error) == f"{where}: it is bad. The file was left unchanged. Run."
    assert str(InvalidArgument("it is bad")) == "it is bad."


def test_proposals_are_a_part_of_the_remedy() -> None:
    assert ERROR.remedy == "Name another than force it, write elsewhere, or force it."
    assert ERROR.ways == {Way.FORCE}
    assert InvalidArgument("it is bad", remedy="Run.").ways == frozenset()


def test_only_proposals_get_other_words() -> None:
    """Whatever stands in paths, problems and the rest of the remedy."""
    remedy = ERROR.remedy_in({Way.FORCE: "{} with --force", Way.OVERWRITE: "no"})
    assert remedy == "Name another than force it, write elsewhere, or force it with --force."
    message = ERROR.message(outcome="", remedy=remedy)
    assert message == f"force it: after a rewrite, force it would be wrong about the file. {remedy}"


def test_a_remedy_can_be_replaced() -> None:
    error = InvalidArgument("it is bad", remedy=("Do ", FORCE))
    error.remedy = "Run."
    assert (error.remedy, error.ways) == ("Run.", frozenset())


def test_errors_can_be_pickled() -> None:
    """Executors of Spark send them to the driver."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(ERROR, protocol))  # noqa: S301  our own
        assert (str(again), again.ways, again.path) == (str(ERROR), ERROR.ways, ERROR.path)
        missing = pickle.loads(pickle.dumps(NoFileMatches("no", remedy="Run."), protocol))  # noqa: S301  same
        assert (str(missing), missing.errno) == ("no. Run.", errno.ENOENT)
