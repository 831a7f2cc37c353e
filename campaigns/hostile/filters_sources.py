"""Sources that lie: short reads, reads that fail, sizes that are wrong, files that change.

The n-th read goes wrong, once or for ever, for n = 1, 2, ... until one more than an honest source
is asked for. A verb then raises an error of the package or of the system, or it is right; a probe
may know less, but rules nothing out that an honest source does not.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from campaigns.hostile.filters_doubles import LIES, RUDE, WAYS, Trouble
from campaigns.hostile.filters_files import filtered
from campaigns.hostile.filters_judge import REFUSED, RIGHT, Wrong, check_message
from parquet_bloomwriter import inspect, read_table, verify
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.reports.verification import CheckStatus
from parquet_bloomwriter.verbs.bloom_file import BloomFile
from parquet_bloomwriter.verbs.probe import probe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_NAMES = ("own/end", "own/column-chunk", "own/no_length")
_ERRORS = (BloomwriterError, OSError, pa.ArrowException)
_PRESENT, _SOMEWHERE = 3, "user40@mail.example"
"""Values of the first row group, and of the second."""


def _probe(given: dict[str, Any]) -> object:
    filters = [[("id", "=", _PRESENT)], [("email", "=", _SOMEWHERE)]]
    given = dict(given)
    return probe(given.pop("source"), filters, **given).files[0].surviving


def _might(given: dict[str, Any]) -> object:
    with BloomFile(**given) as file:
        return (file.might_contain("id", _PRESENT), file.might_contain("email", [_SOMEWHERE])[0])  # type: ignore[index]


def _many(given: dict[str, Any]) -> object:
    with BloomFile(**given) as file:
        return tuple(file.might_contain("id", list(range(70))).tolist())  # type: ignore[union-attr]


def _inspect(given: dict[str, Any]) -> object:
    return inspect(**given).columns


def _verify(given: dict[str, Any]) -> object:
    checks = verify(jobs=1, absent=10, **given).checks
    return tuple(check.status is not CheckStatus.FAILED for check in checks)


def _read_table(given: dict[str, Any]) -> object:
    given = dict(given)
    return read_table(given.pop("source"), filters=[("id", "=", _PRESENT)], **given).to_pylist()


_VERBS: Final[dict[str, Callable[[dict[str, Any]], object]]] = {
    "probe": _probe,
    "might_contain": _might,
    "many": _many,
    "inspect": _inspect,
    "verify": _verify,
    "read_table": _read_table,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lied:
    """One try."""

    name: str
    """The file."""

    verb: str
    way: str
    """How the source is given."""

    lie: str
    at: int
    """The read that goes wrong, from 1."""


@cache
def sources() -> Sequence[Lied | tuple[str, int]]:
    """All tries; those of two are files that are cut while they are open, at a byte."""
    lied = [
        Lied(name=name, verb=verb, way=way, lie=lie, at=at)
        for name in _NAMES
        for way in WAYS
        for verb in _VERBS
        for lie in (*LIES, *_rude(way, verb))
        for at in range(1, _honest(name, way, verb)[1] + 2)
    ]
    cut = [(name, at) for name in _NAMES for at in range(0, len(filtered(name).data), 7)]
    return [*lied, *cut]


def _rude(way: str, verb: str) -> tuple[str, ...]:
    """The lies that are told only to this package, not to pyarrow."""
    if way == "stream":
        return () if verb == "read_table" else RUDE
    return RUDE[:1] if way == "fsspec" else ()


@cache
def _honest(name: str, way: str, verb: str) -> tuple[object, int]:
    """What a verb says of an honest source, and how many reads it takes."""
    trouble = Trouble(lie="none", at=0)
    answer = _VERBS[verb](WAYS[way](filtered(name).data, trouble))
    return answer, trouble.count


def check_source(number: int, scratch: Path) -> str:
    """Use a verb on a source that lies.

    Raises:
        Wrong: If the verb is wrong.
    """
    case = sources()[number]
    if not isinstance(case, Lied):
        return _cut_while_open(*case, scratch)
    expected, _ = _honest(case.name, case.way, case.verb)
    given = WAYS[case.way](filtered(case.name).data, Trouble(lie=case.lie, at=case.at))
    try:
        found = _VERBS[case.verb](given)
    except _ERRORS as error:
        if isinstance(error, BloomwriterError):
            check_message(error)
        if "short" in case.lie and case.verb != "read_table":  # which lets pyarrow read
            raise Wrong(f"{case}: short reads are no error") from error
        return REFUSED
    if found != expected and not _knows_less(case, found, expected):
        raise Wrong(f"{case}: {str(found)[:200]} instead of {str(expected)[:200]}")
    return RIGHT


def _knows_less(case: Lied, found: Any, expected: Any) -> bool:  # noqa: ANN401  answers of any verb
    """Whether it rules out no more than it should."""
    if case.verb == "probe":
        return set(found) >= set(expected)
    if case.verb in ("might_contain", "many"):
        return all(one >= other for one, other in zip(found, expected, strict=True))
    return False


def _cut_while_open(name: str, at: int, scratch: Path) -> str:
    """A file on disk becomes shorter after its footer was read."""
    path = scratch / "open.parquet"
    path.write_bytes(filtered(name).data)
    with BloomFile(path) as file:
        os.truncate(path, at)
        try:
            might = [file.might_contain("id", _PRESENT), file.might_contain("email", _SOMEWHERE)]
        except _ERRORS:
            return REFUSED
    if not all(might):
        raise Wrong(f"{name} cut at {at} while open: {might}")
    return RIGHT
