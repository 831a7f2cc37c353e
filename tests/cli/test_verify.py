"""`bloomify verify`: what passes, what fails and why, what was left out."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.verbs.verify import verify
from tests.verbs.broken_filters import with_zeros, without_bit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Invoke


@pytest.mark.usefixtures("orders")
def test_filters_that_are_sound(invoke: Invoke) -> None:
    result = invoke("verify", "orders.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    headline, listing = result.stdout.rstrip("\n").split("\n\n")
    assert headline == "orders.parquet: 8 filters OK, 800 values looked up"
    rows = [line.split() for line in listing.splitlines()[1:]]
    assert [row[:6] for row in rows] == [
        ["id", "OK", "4", "of", "4", "400"],
        ["email", "OK", "4", "of", "4", "400"],
    ]
    for row in rows:
        assert float(row[-1]) == pytest.approx(float(row[-2]), rel=0.2)


def test_a_filter_that_lacks_a_value(orders: Path, invoke: Invoke) -> None:
    orders.write_bytes(without_bit(orders.read_bytes(), (1, 0), 5))
    (check,) = verify(orders).failed
    result = invoke("verify", "orders.parquet")
    assert result.exit_code == 1
    headline, listing, remark = result.stdout.rstrip("\n").split("\n\n")
    assert headline.startswith("orders.parquet: 7 filters OK, 1 FAILED, ")
    assert listing.splitlines()[1].split()[:5] == ["id", "FAILED", "3", "of", "4"]
    assert listing.splitlines()[2].split()[1] == "OK"
    values = ", ".join(value.text for value in check.missing)
    assert remark.startswith(f"failed    id, row group 1: {check.reason}: ")
    assert values in remark


def test_only_the_columns_named(orders: Path, invoke: Invoke) -> None:
    orders.write_bytes(without_bit(orders.read_bytes(), (1, 0), 5))
    assert invoke("verify", "orders.parquet", "--columns", "email").exit_code == 0
    assert invoke("verify", "orders.parquet", "--columns", "id").exit_code == 1


@pytest.mark.parametrize("sample", ["1", "25%", "0.1%"])
def test_a_sample(orders: Path, invoke: Invoke, sample: str) -> None:
    orders.write_bytes(without_bit(orders.read_bytes(), (0, 0), 5))
    result = invoke("verify", "orders.parquet", "--sample", sample)
    assert result.exit_code == 0
    headline, listing = result.stdout.rstrip("\n").split("\n\n")
    assert headline == "orders.parquet: 2 filters OK, 6 not in the sample, 200 values looked up"
    assert [line.split()[1:5] for line in listing.splitlines()[1:]] == [["OK", "1", "of", "4"]] * 2
    assert invoke("verify", "orders.parquet", "--sample", "100%").exit_code == 1


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize("sample", ["0", "0%", "101%", "x", "%", "0.5", "-1", "nan%"])
def test_what_is_no_sample(invoke: Invoke, sample: str) -> None:
    result = invoke("verify", "orders.parquet", f"--sample={sample}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "invalid value for '--sample'" in result.stderr


def test_a_filter_that_cannot_be_checked(orders: Path, invoke: Invoke) -> None:
    from parquet_bloomwriter import bloomify

    bloomify(orders, ["id"], dialect="murmur3", replace=True)
    result = invoke("verify", "orders.parquet")
    assert result.exit_code == 0
    assert [line.split()[:2] for line in result.stdout.splitlines() if line.startswith("id ")] == [
        ["id", "UNCHECKED"]
    ]
    (remark,) = [line for line in result.stdout.splitlines() if line.startswith("unchecked ")]
    assert remark.startswith("unchecked id, row groups 0-3: ")


def test_many_files_of_which_one_fails_and_one_cannot_be_read(shop: Path, invoke: Invoke) -> None:
    broken = with_zeros((shop / "orders.parquet").read_bytes(), (3, 1))
    (shop / "broken.parquet").write_bytes(broken)
    result = invoke("verify", ".")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("./broken.parquet: 7 filters OK, 1 FAILED, ")
    assert lines[1].startswith("./orders.parquet: 8 filters OK, ")
    assert lines[2] == "./plain.parquet: there is no filter to check"
    remarks = [line for line in lines if line.startswith("failed ")]
    reason = "all its bits are zero, though the chunk has values"
    assert remarks == [f"failed    email, ./broken.parquet, row group 3: {reason}"]
    assert lines[-1].endswith("; 1 of 4 files failed, see above.")
    (shop / "broken.parquet").unlink()
    assert invoke("verify", ".").exit_code == 3


def test_warnings_of_many_files_are_said_once(
    fixtures_dir: Path, folder: Path, invoke: Invoke
) -> None:
    for name in ("a", "b", "c"):
        shutil.copy(fixtures_dir / "spark/bloom_dictionary.parquet", folder / f"{name}.parquet")
    shown = invoke("verify", ".", "--columns", "amount").stdout
    (warning,) = [line for line in shown.splitlines() if line.startswith("warning ")]
    assert warning == (
        "warning   amount, 3 row groups of 3 files, the first in ./a.parquet, row group 0: "
        "0.0 and -0.0 are equal, but only one of them is in it"
    )


def test_the_json_is_the_report(orders: Path, invoke: Invoke) -> None:
    orders.write_bytes(without_bit(orders.read_bytes(), (1, 0), 5))
    result = invoke("verify", "orders.parquet", "--json", "--sample", "50%")
    report = verify(orders, sample=0.5)
    (file,) = json.loads(result.stdout)["files"]
    assert (file["passed"], file["num_missing"]) == (report.passed, report.num_missing)
    assert tuple(file["sampled_row_groups"]) == report.sampled_row_groups
    for shown, check in zip(file["checks"], report.checks, strict=True):
        facts = ("row_group", "column", "reason", "num_looked_up", "fpp", "measured_fpp")
        assert {name: shown[name] for name in facts} == {
            name: getattr(check, name) for name in facts
        }
        assert shown["status"] == check.status
        assert [one["text"] for one in shown["missing"]] == [one.text for one in check.missing]
    assert result.exit_code == (0 if report.passed else 1)


def test_nothing_is_written(
    shop: Path, listing: Callable[[], dict[str, bytes]], invoke: Invoke
) -> None:
    before = listing()
    for verb in ("verify", "inspect", "advise"):
        invoke(verb, str(shop))
    assert listing() == before


@pytest.mark.usefixtures("orders")
def test_quiet_tells_by_the_code_alone(orders: Path, invoke: Invoke) -> None:
    assert (invoke("verify", "orders.parquet", "--quiet").output) == ""
    orders.write_bytes(without_bit(orders.read_bytes(), (1, 0), 5))
    result = invoke("verify", "orders.parquet", "--quiet")
    assert (result.exit_code, result.output) == (1, "")
