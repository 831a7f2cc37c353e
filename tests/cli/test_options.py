"""What people type behind options."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from bloomify.commands.columns import read_leaves
from bloomify.options import parse_count, parse_rate, parse_sample
from parquet_bloomwriter import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.arguments import parse_size
from parquet_bloomwriter.column_names import settle_per_column

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Invoke


@pytest.mark.parametrize(
    ("typed", "num_bytes"),
    [
        ("64", 64),
        ("64B", 64),
        ("512K", 512 * 1024),
        ("512kib", 512 * 1024),
        ("1MiB", 1024**2),
        ("1.5 MiB", 1024**2 * 3 // 2),
        ("2g", 2 * 1024**3),
    ],
)
def test_sizes_in_binary_units(typed: str, num_bytes: int) -> None:
    assert parse_size(typed) == num_bytes


@pytest.mark.parametrize("typed", ["", "-1", "1e6", "MiB", "1,5M", "0x10", "1TB", "1MB", "1kb"])
def test_what_is_no_size_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size|is no unit"):
        parse_size(typed)


def test_an_ambiguous_unit_gets_a_hint() -> None:
    with pytest.raises(ValueError, match="write MiB"):
        parse_size("1MB")


@pytest.mark.parametrize("typed", ["0", "1", "-0.1", "nan", "inf", "101%", ""])
def test_what_is_no_probability_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="not a probability"):
        parse_rate(typed)


def test_numbers_of_values() -> None:
    assert (parse_count("1000"), parse_count("1_000"), parse_count("1,000")) == (1000,) * 3
    for typed in ("0", "-1", "1.5", "", "²"):
        with pytest.raises(ValueError, match="not a positive whole number"):
            parse_count(typed)


def test_samples_are_counts_or_shares() -> None:
    assert (parse_sample("3"), parse_sample("10%"), parse_sample("0.5%")) == (3, 0.1, 0.005)
    assert isinstance(parse_sample("1"), int)
    assert isinstance(parse_sample("100%"), float)
    for typed in ("0", "0%", "100.1%", "x%", "%", "0.1", "inf%"):
        with pytest.raises(ValueError, match="is not a"):
            parse_sample(typed)


def test_values_by_column_are_settled_for_the_columns_chosen(events: Path) -> None:
    leaves = read_leaves(str(events))
    rates = settle_per_column(
        leaves, leaves[:2], {"email": 0.001, "*": 0.05, "#1": 0.002}, default=0.01
    )
    assert {leaf.name: rate for leaf, rate in rates.items()} == {"id": 0.05, "email": 0.002}
    counts = settle_per_column(leaves, leaves[:2], {"id": 7}, default=0)
    assert {leaf.name: count for leaf, count in counts.items()} == {"id": 7, "email": 0}
    with pytest.raises(ColumnNotFound, match="Did you mean email"):
        settle_per_column(leaves, leaves, {"emial": 0.1}, default=0.01)
    with pytest.raises(InvalidArgument, match='given for "active", which is none of'):
        settle_per_column(leaves, leaves[:2], {"active": 0.1}, default=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "id", "--fpp", "2"], "invalid value for '--fpp': '2' is not a probability"),
        (["--columns", "id", "--fpp", "0.1", "--fpp", "0.2"], "more than one value is for all"),
        (["--columns", "id", "--fpp", "email=x"], "invalid value for '--fpp': 'x' is not"),
        (["--columns", "id", "--ndv", "id=0"], "invalid value for '--ndv': '0' is not a positive"),
        (["--columns", "id", "--max-bytes", "1MB"], "'MB' is no unit"),
        (["--columns", "id", "--max-bytes", "32"], "The smallest has 64 bytes."),
        (["--columns", "id", "--max-bytes", "2GiB"], "'2GiB' is more than a filter can have"),
        (["--columns", "id,,email"], "an empty name is among the columns"),
        (["--columns", "id", "--jobs", "0"], "invalid value for '--jobs'"),
        (["--columns", "id", "--sizing", "odd"], "invalid value for '--sizing'"),
        (["--columns", "id", "--placement", "start"], "invalid value for '--placement'"),
        (["--columns", "id", "--all-columns"], "--columns and --all-columns exclude each other"),
        (["--columns", "id", "--backup", "a/b"], "'a/b' cannot be appended to a file name"),
        (["--columns", "id", "-q", "-v"], "--quiet and --verbose exclude each other"),
        (["--colums", "id"], "no such option '--colums'"),
    ],
)
def test_wrong_options_are_usage_errors(
    events: Path, invoke: Invoke, arguments: list[str], message: str
) -> None:
    before = events.read_bytes()
    result = invoke("events.parquet", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("bloomify: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert events.read_bytes() == before


def test_short_options_and_rates_in_percent(events: Path, invoke: Invoke) -> None:
    long = invoke(str(events), "--columns", "id", "--fpp", "0.01", "--dry-run", "--json")
    short = invoke(str(events), "-c", "id", "--fpp", "id=1%", "--dry-run", "--json")
    assert short.exit_code == 0
    assert json.loads(short.stdout)["files"] == json.loads(long.stdout)["files"]
    assert invoke(str(events), "-c", "id", "-q").stdout == ""
    assert invoke("-V").stdout == invoke("--version").stdout
    for rate in ("100%", "0%", "%", "1%%"):
        refused = invoke(str(events), "-c", "id", "--fpp", rate)
        assert refused.exit_code == 2
        assert "is not a probability" in refused.stderr


def test_patterns_and_what_is_excluded(events: Path, invoke: Invoke) -> None:
    def chosen(*options: str) -> list[str]:
        done = invoke(str(events), *options, "--dry-run", "--json")
        assert done.exit_code == 0
        return [one["name"] for one in json.loads(done.stdout)["files"][0]["columns"]]

    assert chosen("-c", "*d,em?il") == ["id", "email"]
    assert chosen("-c", "*", "--exclude", "act*") == ["id", "email"]
    assert chosen("--all-columns", "--exclude", "email") == ["id", "active"]
    assert chosen("-c", "id,email", "--fpp", "*=0.01", "--fpp", "*m*=0.001") == ["id", "email"]
    refused = invoke(str(events), "-c", "*_id")
    assert refused.exit_code == 2
    assert 'no column matches "*_id". Did you mean id?' in refused.stderr
    refused = invoke(str(events), "-c", "id", "--exclude", "i*")
    assert "all columns that are chosen are excluded, too" in refused.stderr


@pytest.mark.parametrize("verb", [["-c", "id"], ["inspect"], ["probe", "--where", "id = 1"]])
def test_how_long_it_took(events: Path, invoke: Invoke, verb: list[str]) -> None:
    plain = invoke(*verb, str(events))
    assert " in " not in plain.stderr
    told = invoke(*verb, str(events), "--verbose")
    assert told.exit_code == 0
    line = told.stderr.splitlines()[-1]
    assert re.fullmatch(r"bloomify: (done|[\d,.]+ \w+) in \d+\.\d s(, [\d,.]+ \w+/s)?\.", line)
    if verb == ["-c", "id"]:
        assert "/s." in line
    failed = invoke(*verb, "nothing.parquet", "-v")
    assert failed.exit_code
    assert "done" not in failed.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["add", "events.parquet", "-c", "id", "--dry-run"],
        ["strip", "events.parquet", "--dry-run"],
        ["repair", "events.parquet", "--dry-run"],
        ["inspect", "events.parquet"],
        ["verify", "events.parquet"],
        ["advise", "events.parquet"],
        ["probe", "events.parquet", "--where", "id = 1"],
        ["index", "create", ".", "-c", "id"],
        ["index", "list", "."],
    ],
)
@pytest.mark.usefixtures("events")
def test_the_json_of_all_commands_has_seconds(invoke: Invoke, words: list[str]) -> None:
    report = json.loads(invoke(*words, "--json").stdout)
    assert list(report)[:3] == ["version", "command", "seconds"]
    assert report["seconds"] >= 0
