"""Each exit code and each kind of error: one line on standard error, nothing on standard output."""

from __future__ import annotations

import errno
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bloomify.console.messages import describe
from bloomify.exits import ExitCode, exit_code_of, exit_code_of_run
from parquet_bloomwriter import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Invoke

ROOT = Path(__file__).parents[2]
UNCHANGED = "The file was left unchanged."


def check(result: object, invoke_code: int, message: str) -> None:
    found = (result.exit_code, result.stdout, result.stderr)  # type: ignore[attr-defined]
    assert found == (invoke_code, "", f"bloomify: {message}\n")


def test_words_of_the_library_in_the_name_of_a_folder(events: Path, invoke: Invoke) -> None:
    """Only what the library proposes is said with its option."""
    folder = events.parent / "permit overwriting or force it"
    folder.mkdir()
    file = events.rename(folder / "write elsewhere")
    (folder / "_metadata").touch()
    path = f"{folder.name}/{file.name}"
    record = f"{folder}/_metadata (_metadata file with the offsets of this file)"
    problem = f"after a rewrite, {record} would be wrong about the file"
    remedy = (
        "Remove it first and have its writer make it anew, write to another path with -o, "
        "or insist with --force."
    )
    message = f"{path}: {problem}. {UNCHANGED} {remedy}"
    check(invoke(path, "--columns", "id"), 5, message)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", [["add"], ["strip"], ["repair"]])
def test_no_such_file(invoke: Invoke, verb: list[str]) -> None:
    columns = ["--columns", "id"] if verb == ["add"] else []
    result = invoke(*verb, "nosuch.parquet", *columns)
    check(result, 2, "nosuch.parquet: there is no such file. Check the name.")


def test_what_is_not_there_has_one_exit_code(events: Path, invoke: Invoke) -> None:
    """A file, a folder, a pattern; alone, and beside a file that is there."""
    verbs = [
        ["add", "--columns", "id"],
        *(["strip"], ["repair"], ["inspect"], ["verify"], ["advise"]),
        *(["probe", "--where", "id = 1"], ["get", "--where", "id = 1"]),
    ]
    before = events.read_bytes()
    for verb, *options in verbs:
        for absent in ("nosuch.parquet", "nosuch/", "nosuch*.parquet"):
            for inputs in ([absent], [events.name, absent]):
                assert invoke(verb, *inputs, *options).exit_code == 2, (verb, inputs)
    assert events.read_bytes() == before
    (events.parent / "text.parquet").write_text("this is no Parquet file, but long enough")
    assert invoke("inspect", events.name, "text.parquet").exit_code == 3
    assert invoke("inspect", events.name, "text.parquet", "nosuch.parquet").exit_code == 2


def test_there_is_one_table_of_exit_codes(invoke: Invoke) -> None:
    codes = {int(code) for code in ExitCode}
    page = (ROOT / "docs/reference/output.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d[\d, ]*) \|", page.partition("## Exit codes")[2], re.MULTILINE)
    assert {int(code) for row in rows for code in row.split(",")} == codes
    shown = invoke("--help-all").stdout.partition("Exit codes:")[2].partition("\n\n")[0]
    listed = re.findall(r"^ +(\d+) |\((\d+):", shown, re.MULTILINE)
    assert {int(code) for pair in listed for code in pair if code} == codes


@pytest.mark.parametrize("columns", [["--columns", "id"], []])
def test_a_text_file(folder: Path, invoke: Invoke, columns: list[str]) -> None:
    (folder / "notes.txt").write_text("Milk, bread, and a filter.\n")
    sentences = f"{UNCHANGED} Check that it is a Parquet file, and was copied whole."
    problem = 'byte 23: the last four bytes are not "PAR1"'
    check(invoke("notes.txt", *columns), 4, f"notes.txt: {problem}. {sentences}")


def test_an_empty_file(folder: Path, invoke: Invoke) -> None:
    (folder / "empty.parquet").touch()
    problem = "the file has 0 bytes, fewer than the smallest Parquet file"
    sentences = f"{UNCHANGED} Check that it was copied whole."
    check(invoke("strip", "empty.parquet"), 4, f"empty.parquet: {problem}. {sentences}")


def test_a_broken_footer(events: Path, invoke: Invoke) -> None:
    data = events.read_bytes()
    data = data[:-20] + b"\xff" * 12 + data[-8:]
    events.write_bytes(data)
    result = invoke("events.parquet", "--columns", "id")
    assert (result.exit_code, result.stdout, events.read_bytes()) == (4, "", data)
    assert result.stderr.startswith("bloomify: events.parquet: ")


@pytest.mark.parametrize("columns", [["--columns", "id"], []])
def test_a_fifo(folder: Path, invoke: Invoke, columns: list[str]) -> None:
    os.mkfifo(folder / "pipe")
    remedy = (
        "A pipe can be neither read from its end nor verified nor replaced: name a regular file."
    )
    message = f"pipe: this is a FIFO. {UNCHANGED} {remedy}"
    check(invoke("pipe", *columns), 5, message)


def test_a_column_that_is_not_there(events: Path, invoke: Invoke) -> None:
    before = events.read_bytes()
    message = 'events.parquet: there is no column "emial". Did you mean email?'
    check(invoke("events.parquet", "--columns", "emial"), 2, message)
    message = 'events.parquet: there is no column "ID". Did you mean id?'
    check(invoke("strip", "events.parquet", "--columns", "ID"), 2, message)
    assert events.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do anything")
def test_no_permission_to_read(events: Path, invoke: Invoke) -> None:
    events.chmod(0)
    remedy = "Ask for the permission, or write elsewhere with -o."
    message = f"events.parquet: permission denied. {UNCHANGED} {remedy}"
    check(invoke("events.parquet", "--columns", "id"), 6, message)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (
            errno.EACCES,
            f"permission denied. {UNCHANGED} Ask for the permission, or write elsewhere with -o.",
        ),
        (errno.EROFS, f"read-only file system. {UNCHANGED} Write elsewhere with -o."),
        (errno.EIO, f"input/output error. {UNCHANGED} Check the disk."),
    ],
)
def test_errors_of_the_system_while_reading(
    events: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, number: int, message: str
) -> None:
    def refuse(path: str, *_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number), os.path.realpath(path))

    monkeypatch.setattr("parquet_bloomwriter.source.local.os.open", refuse)
    result = invoke("events.parquet", "--columns", "id")
    monkeypatch.undo()
    check(result, 6, f"events.parquet: {message}")
    assert events.exists()


def test_a_full_disk(
    events: Path,
    invoke: Invoke,
    listing: Callable[[], dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = listing()
    with monkeypatch.context() as patch:
        patch.setattr("parquet_bloomwriter.replace.commit.write_all", fill)
        result = invoke("events.parquet", "--columns", "id")
    remedy = "Free some space, or write elsewhere with -o."
    message = f"events.parquet: no space left on device. {UNCHANGED} {remedy}"
    check(result, 6, message)
    assert listing() == before
    assert events.exists()


def test_too_little_memory(events: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhaust(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("parquet_bloomwriter.strip", exhaust)
    remedy = "Give it fewer --jobs or a smaller --max-bytes."
    message = f"events.parquet: not enough memory. {UNCHANGED} {remedy}"
    check(invoke("strip", "events.parquet"), 6, message)
    assert events.exists()


def test_a_panic_of_a_library_in_rust(
    events: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        pass

    def panic(*_: object, **__: object) -> None:
        raise PanicException("index out of range")

    for verb, name in (
        ("strip", "parquet_bloomwriter"),
        ("inspect", "parquet_bloomwriter.verbs.inspect"),
    ):
        monkeypatch.setattr(f"{name}.{verb}", panic)
        result = invoke(verb, "events.parquet")
        assert (result.exit_code, result.stdout) == (70, "")
        assert result.stderr.startswith("bloomify: events.parquet: PanicException: index out of")
    assert events.exists()
    monkeypatch.setenv("BLOOMIFY_DEBUG", "1")
    with pytest.raises(PanicException):
        invoke("strip", "events.parquet")


@pytest.mark.usefixtures("events")
def test_a_bug_outside_of_any_file(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("unthought of")

    monkeypatch.setattr("bloomify.views.new_file.StripView.headline", fail)
    result = invoke("strip", "events.parquet")
    check(result, 70, "RuntimeError: unthought of. This is a bug; BLOOMIFY_DEBUG=1 shows where.")
    monkeypatch.setenv("BLOOMIFY_DEBUG", "1")
    assert isinstance(invoke("strip", "events.parquet").exception, RuntimeError)


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOMEM, errno.ENOSPC])
def test_who_only_reads_is_not_told_of_writing(number: int) -> None:
    error = OSError(number, os.strerror(number), "in.parquet")
    message = describe(error, path="in.parquet", reads_only=True)
    assert message.startswith(f"in.parquet: {os.strerror(number).lower()}.")
    assert not any(word in message for word in ("unchanged", "write", "--max-bytes"))
    assert "unchanged" in describe(error, path="in.parquet")
    problem = errors.MalformedFile("it is broken", remedy="Mend it.")
    assert describe(problem, path="x", reads_only=True) == "x: it is broken. Mend it."
    assert describe(problem, path="x") == f"x: it is broken. {UNCHANGED} Mend it."


@pytest.mark.parametrize("verb", ["inspect", "verify", "advise"])
def test_a_bug_in_a_verb_that_reads(
    events: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("unthought of")

    monkeypatch.setattr(f"parquet_bloomwriter.verbs.{verb}.{verb}", fail)
    message = "RuntimeError: unthought of. This is a bug; BLOOMIFY_DEBUG=1 shows where."
    check(invoke(verb, "events.parquet"), 70, f"events.parquet: {message}")
    assert events.exists()


def test_another_file_is_named_where_the_system_refuses_that(events: Path) -> None:
    error = PermissionError(errno.EACCES, "Permission denied", "/srv/new/.out.parquet.tmp")
    assert describe(error, path=str(events)) == (
        f"{events}: permission denied: /srv/new/.out.parquet.tmp. {UNCHANGED} "
        "Ask for the permission, or write elsewhere with -o."
    )


def test_standard_output_is_named() -> None:
    error = OSError(errno.ENOSPC, "No space left on device", "standard output")
    assert describe(error) == "standard output: no space left on device."


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidArgument("x"), ExitCode.USAGE),
        (errors.ColumnNotFound("x"), ExitCode.USAGE),
        (errors.NotParquet("x"), ExitCode.NOT_PARQUET),
        (errors.MalformedFile("x"), ExitCode.NOT_PARQUET),
        (errors.MalformedFilter("x"), ExitCode.NOT_PARQUET),
        (errors.UnsupportedFile("x"), ExitCode.REFUSED),
        (errors.UnsafeTarget("x"), ExitCode.REFUSED),
        (errors.FileChanged("x"), ExitCode.REFUSED),
        (errors.VerificationFailed("x"), ExitCode.REFUSED),
        (errors.Unfinished("x"), ExitCode.IO_ERROR),
        (PermissionError(13, "x"), ExitCode.IO_ERROR),
        (RuntimeError("x"), ExitCode.BUG),
    ],
)
def test_each_error_has_its_code(error: Exception, code: ExitCode) -> None:
    assert exit_code_of(error) is code


def test_the_code_of_a_run() -> None:
    refused, malformed = ExitCode.REFUSED, ExitCode.NOT_PARQUET
    assert exit_code_of_run([], num_files=2, passed=True) is ExitCode.OK
    assert exit_code_of_run([], num_files=2, passed=False) is ExitCode.CHECK_FAILED
    assert exit_code_of_run([refused], num_files=2, passed=True) is ExitCode.SOME_FAILED
    assert exit_code_of_run([refused, malformed], num_files=2, passed=True) is refused
    assert exit_code_of_run([malformed], num_files=1, passed=True) is malformed


def test_every_code_is_documented(invoke: Invoke) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/reference/output.md").read_text()
    for text, title in ((invoke("--help-all").stdout, "Exit codes:"), (page, "## Exit codes")):
        shown = re.findall(r"\d+", text.partition(title)[2])
        assert [code for code in ExitCode if str(code.value) not in shown] == []


def test_what_does_not_exist_ends_with_2(tmp_path: Path, invoke: Invoke) -> None:
    """By whatever name it is asked for: a file, a folder or a pattern."""
    for name in ("none.parquet", "none/", "none*.parquet"):
        for command in ("inspect", "verify", "advise", "strip", "repair"):
            assert invoke(command, str(tmp_path / name)).exit_code == 2
        assert invoke("probe", str(tmp_path / name), "--where", "id = 1").exit_code == 2
        assert invoke(str(tmp_path / name), "--columns", "id").exit_code == 2


def test_a_url_of_the_web_says_what_is_missing(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    result = invoke("inspect", "https://example.org/a.parquet")
    assert result.exit_code == 2
    assert "read by fsspec over HTTP, which needs packages that are not installed" in result.stderr
    assert "pip install fsspec requests aiohttp. Or download the file first." in result.stderr
