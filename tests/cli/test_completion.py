"""What a shell completes, as docs/reference/command.md sets it up."""

from __future__ import annotations

import os
import pty
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from bloomify.main import cli
from parquet_bloomwriter import bloomify

FILES = ["file"]


def completed(**environment: str) -> str:
    """Return what is printed for a shell that sets these variables."""
    done = CliRunner().invoke(cli, [], prog_name="bloomify", env=environment)
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("typed", "proposed"),
    [
        (["st"], ["strip"]),
        (["ev"], FILES),
        (["--max"], ["--max-bytes", "--max-files", "--max-bytes-rewritten"]),
        (["events.parquet", "--max"], ["--max-bytes", "--max-files", "--max-bytes-rewritten"]),
        (["events.parquet", "ev"], FILES),
        (["events.parquet", "--sizing", ""], ["pow2", "exact"]),
        (["events.parquet", "--backup-dir", "o"], FILES),
        (["strip", "ev"], FILES),
        (["strip", "--back"], ["--backup", "--backup-dir"]),
        (["inspect", "--html", "p"], FILES),
        (["index", "cre"], ["create"]),
        (["index", "create", "w"], FILES),
        (["mistyped", "ev"], FILES),
        (["events.parquet", "-c", ""], ["id", "email", "active"]),
        (["events.parquet", "-c", "id,e"], ["id,email"]),
        (["strip", "events.parquet", "--columns", "a"], ["active"]),
        (["index", "create", ".", "--columns", "i"], ["id"]),
        (["add", "nothing.parquet", "--exclude", "i"], []),
        (["add", "s3://bucket/x.parquet", "--columns", "i"], []),
    ],
)
@pytest.mark.usefixtures("events")
def test_completion(typed: list[str], proposed: list[str]) -> None:
    shown = completed(
        COMP_WORDS=" ".join(["bloomify", *typed]),
        COMP_CWORD=str(len(typed)),
        _BLOOMIFY_COMPLETE="bash_complete",
    )
    kinds = [line.split(",", 1) for line in shown.splitlines() if line]
    assert [kind if kind != "plain" else text for kind, text in kinds] == proposed


def test_in_a_shell(events: Path) -> None:
    before = events.read_bytes()
    bloomify(events, "id")
    process, terminal = pty.fork()
    if process == 0:
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])  # noqa: S606, S607
    folder = Path(sys.executable).parent
    set_up = f'PATH={folder}:$PATH; eval "$(_BLOOMIFY_COMPLETE=bash_source bloomify)"'
    os.write(terminal, f"{set_up}\nbloomify str\tev\t--quie\t; exit $?\n".encode())
    with suppress(OSError):  # Linux says so at the end of a pseudo-terminal.
        while os.read(terminal, 65536):
            pass
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert events.read_bytes() == before


@pytest.mark.parametrize("shell", ["zsh", "fish"])
@pytest.mark.usefixtures("events")
def test_in_other_shells(shell: str) -> None:
    variable = "_BLOOMIFY_COMPLETE"
    assert f"{shell}_complete" in completed(**{variable: f"{shell}_source"})
    last = {"COMP_CWORD": "2" if shell == "zsh" else "--max"}
    words = {"COMP_WORDS": "bloomify add --max", **last}
    shown = completed(**words, **{variable: f"{shell}_complete"})
    assert "--max-bytes-rewritten" in shown
    assert "--jobs" not in shown
