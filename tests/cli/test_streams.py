"""Real processes: streams, pipes, terminals, signals, and what starting them costs."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pyarrow.parquet as pq
import pytest

from bloomify.commands.index import VERBS, index
from bloomify.main import cli

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Command, Invoke

BLOOMIFY = [sys.executable, "-m", "bloomify"]


def test_results_and_errors_go_their_own_ways(events: Path, command: Command) -> None:
    events.with_name("text.parquet").write_bytes(b"no Parquet file")
    result = command("events.parquet", "text.parquet", "--columns", "id")
    assert result.returncode == 3
    assert result.stdout.startswith("events.parquet: 2 filters added, ")
    assert result.stderr.startswith("bloomify: text.parquet: ")
    assert result.stderr.count("\n") == 1


def test_in_pipes_there_is_neither_colour_nor_progress(events: Path, command: Command) -> None:
    result = command(str(events), "--all-columns")
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    assert "\r" not in result.stdout


def on_a_terminal(
    *arguments: str, program: tuple[str, ...] = ("-m", "bloomify"), **environment: str
) -> str:
    """Run a command line with all streams on a terminal of 80 columns; return what it shows."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(environment, COLUMNS="80")
        os.execv(sys.executable, [sys.executable, *program, *arguments])  # noqa: S606  no shell is wanted
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so at the end of a pseudo-terminal.
            part = b""
        if not part:
            break
        shown += part
    os.close(terminal)
    os.waitpid(process, 0)
    return shown.decode().replace("\r\n", "\n")


ONE_BY_ONE = """
import json, sys
import bloomify.main
bloomify.main._leave = sys.exit
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        bloomify.main.main()
    except SystemExit:
        print("\\0", end="", flush=True)
"""


def several_on_a_terminal(lines: list[list[str]], **environment: str) -> list[str]:
    """Run command lines one after the other in one process; return what each shows."""
    shown = on_a_terminal(json.dumps(lines), program=("-c", ONE_BY_ONE), **environment)
    *parts, rest = shown.split("\0")
    assert (rest, len(parts)) == ("", len(lines)), shown
    return parts


def without_bar(shown: str) -> str:
    """What stays on the terminal: on a slow machine the bar shows for a moment."""
    return shown.rpartition("\r\x1b[K")[2]


@pytest.mark.usefixtures("events", "orders")
def test_a_terminal_gets_colours_and_lines_that_fit() -> None:
    lines = [
        ["events.parquet", "--all-columns", "--dry-run"],
        ["probe", "orders.parquet", "--where", "id = 401 AND email = 'user400@mail.example'"],
        ["probe", ".", "--where", "id = 400"],
        ["inspect", "orders.parquet"],
        ["verify", "orders.parquet"],
        ["advise", "orders.parquet"],
    ]
    coloured = several_on_a_terminal(lines)
    added = "\x1b[1mevents.parquet\x1b[0m: 3 filters would be added"
    assert without_bar(coloured[0]).startswith(added)
    for line, shown in zip(lines, coloured, strict=True):
        assert "\x1b[1m" in shown, line
    without_colour = several_on_a_terminal(lines, NO_COLOR="1")
    assert "skipped   active: BOOLEAN columns get no filters: readers and" in without_colour[0]
    for line, shown in zip(lines, without_colour, strict=True):
        plain = without_bar(shown)
        assert "\x1b" not in plain, line
        _, *rest = plain.splitlines()  # the first one has the file and the condition
        assert max(map(len, rest)) <= 80, line


@pytest.mark.usefixtures("orders")
def test_a_terminal_is_not_told_to_obey_paths() -> None:
    Path("orders.parquet").rename("a\x1b[31m.parquet")
    shown = without_bar(on_a_terminal("probe", ".", "--where", "id = 400", "--files"))
    assert shown.splitlines()[0] == "./a\\x1b[31m.parquet"  # a slow one tells its time as well


IMPATIENT = """
import parquet_bloomwriter.progress
parquet_bloomwriter.progress.PATIENCE = 0
from bloomify.main import main
main()
"""


@pytest.mark.usefixtures("events")
def test_long_work_shows_a_bar_on_a_terminal_and_takes_it_away() -> None:
    arguments = ["events.parquet", "--columns", "id", "-o", "new.parquet"]
    shown = on_a_terminal(*arguments, program=("-c", IMPATIENT))
    bar, cleared, rest = shown.rpartition("\r\x1b[K")
    assert "\r\x1b[Kbloomify   [" in bar
    assert " bytes" in bar
    assert cleared
    assert rest.startswith("\x1b[1mevents.parquet -> new.parquet\x1b[0m: ")
    quiet = on_a_terminal(*arguments, "--overwrite", "--quiet", program=("-c", IMPATIENT))
    assert quiet == ""


@pytest.mark.usefixtures("orders")
def test_verify_shows_a_bar_on_a_terminal() -> None:
    shown = on_a_terminal("verify", "orders.parquet", program=("-c", IMPATIENT))
    bar, _, rest = shown.rpartition("\r\x1b[K")
    assert " of 8 filters" in bar
    assert rest.startswith("\x1b[1morders.parquet:\x1b[0m 8 filters OK")


WAIT_WHILE_CHECKING = """
import os, time
from parquet_bloomwriter.progress import FileProgress
advance = FileProgress.built

def built(self):
    os.write(2, b"checking\\n")
    for _ in range(3000):  # not for ever, should nobody stop it
        if self._bar._stopped is not None:
            break
        time.sleep(0.01)
    advance(self)

FileProgress.built = built
from bloomify.main import main
main()
"""


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize("files", [["orders.parquet"], ["orders.parquet", "copy.parquet"]])
def test_verify_is_interrupted(files: list[str]) -> None:
    Path("copy.parquet").write_bytes(Path("orders.parquet").read_bytes())
    arguments = [sys.executable, "-c", WAIT_WHILE_CHECKING, "verify", *files, "--jobs", "2"]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "checking\n"
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=20)
    assert (process.returncode, stdout) == (130, "")
    after = " after 0 of 2 files" if files[1:] else ""
    assert stderr.replace("checking\n", "") == f"bloomify: interrupted{after}.\n"


def test_nobody_reads_on(events: Path, listing: Callable[[], dict[str, bytes]]) -> None:
    before = listing()
    for name in ("a", "b", "c"):
        events.with_name(f"{name}.parquet").write_bytes(before["events.parquet"])
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run(
        [*BLOOMIFY, ".", "--columns", "id", "--jobs", "1"],
        check=False,
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert (result.returncode, result.stderr) == (0, b"")
    assert all(data != before["events.parquet"] for data in listing().values())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_standard_output_is_full(events: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = subprocess.run(
            [*BLOOMIFY, str(events), "--columns", "id"],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert result.returncode == 6
    assert result.stderr == b"bloomify: standard output: no space left on device.\n"


WAIT_WHILE_WRITING = """
import os, time
from parquet_bloomwriter.progress import FileProgress
advance = FileProgress.wrote

def wrote(self, num_bytes):
    os.write(2, b"writing\\n")  # whole lines, whichever thread it is
    for _ in range(3000):  # not for ever, should nobody stop it
        if self._bar._stopped is not None:
            break
        time.sleep(0.01)
    advance(self, num_bytes)

FileProgress.wrote = wrote
from bloomify.main import main
main()
"""


@pytest.mark.parametrize(
    ("number", "code", "files"),
    [
        (signal.SIGINT, 130, ["events.parquet", "other.parquet"]),
        (signal.SIGTERM, 143, ["events.parquet"]),
    ],
    ids=["ctrl-c", "terminated"],
)
def test_interrupted(
    events: Path,
    listing: Callable[[], dict[str, bytes]],
    number: signal.Signals,
    code: int,
    files: list[str],
) -> None:
    events.with_name("other.parquet").write_bytes(events.read_bytes())
    before = listing()
    arguments = [sys.executable, "-c", WAIT_WHILE_WRITING, *files, "--columns", "id", "--jobs", "2"]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stderr is not None
        for _ in files:
            assert process.stderr.readline() == "writing\n"
        during = listing()
        process.send_signal(number)
        stdout, stderr = process.communicate()
    assert len(during) == len(before) + len(files)
    assert listing() == before
    assert (process.returncode, stdout) == (code, "")
    after = " after 0 of 2 files" if files[1:] else ""
    message = f"interrupted{after}. Files that are not reported as done were left unchanged."
    assert stderr == f"bloomify: {message}\n"


TERMINATED_IN = """
import os, signal
import {module} as module

def terminated(*arguments, **keywords):
    os.kill(os.getpid(), signal.SIGTERM)

module.{name} = terminated
from bloomify.main import main
main()
"""


def test_terminated_before_the_work_and_after_it(events: Path) -> None:
    before, after = ("parquet_bloomwriter.verbs.for_each_file", "find_tasks"), "note_indexes"
    for module, name in (before, ("bloomify.runner", after)):
        script = TERMINATED_IN.format(module=module, name=name)
        arguments = [sys.executable, "-c", script, events.name, "--columns", "id"]
        done = subprocess.run(arguments, capture_output=True, encoding="utf-8", check=False)
        assert (name, done.returncode) == (name, 143)
        assert done.stderr.startswith("bloomify: interrupted. Files that are not reported as done")
        assert (name, "2 filters added" in done.stdout) == (name, name == after)


INTERRUPTED_WITH_NOTES = """
from parquet_bloomwriter.rewrite import session

def interrupted(*arguments):
    interruption = KeyboardInterrupt()
    interruption.add_note("events.parquet: it is not known whether the new version is in place")
    raise interruption

session.RewriteSession.begin = interrupted
from bloomify.main import main
main()
"""


INTERRUPTED_AT_THE_THIRD = """
from parquet_bloomwriter.rewrite import session

begin, done = session.RewriteSession.begin, []

def interrupted(*arguments):
    if len(done) == 2:
        raise KeyboardInterrupt
    done.append(arguments)
    return begin(*arguments)

session.RewriteSession.begin = interrupted
from bloomify.main import main
main()
"""


def test_an_interruption_says_how_many_files_were_done(events: Path) -> None:
    for number in range(4):
        events.with_name(f"{number}.parquet").write_bytes(events.read_bytes())
    arguments = [sys.executable, "-c", INTERRUPTED_AT_THE_THIRD, ".", "--columns", "id"]
    done = subprocess.run(
        [*arguments, "--jobs", "1"], capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stdout.count("2 filters added")) == (130, 2)
    assert done.stderr == (
        "bloomify: interrupted after 2 of 5 files. Files that are not reported as done were left "
        "unchanged.\n"
    )


def test_an_interruption_says_what_is_known_of_files(events: Path) -> None:
    arguments = [sys.executable, "-c", INTERRUPTED_WITH_NOTES, events.name, "--columns", "id"]
    done = subprocess.run(arguments, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == (
        "bloomify: interrupted. events.parquet: it is not known whether the new version is in "
        "place. Other files that are not reported as done were left unchanged.\n"
    )


def test_a_name_that_the_stream_cannot_spell(events: Path, command: Command) -> None:
    events.rename("名.parquet")
    result = command("名.parquet", "--columns", "id", PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("\\u540d.parquet: 2 filters added")


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (("--help",), ("numpy", "pyarrow", "parquet_bloomwriter.reports.summary")),
        # NumPy's own `unique` loads the masked arrays.
        (("events.parquet", "--columns", "id"), ("numpy.ma", "pandas", "secrets", "fsspec")),
        (("get", ".", "--where", "id = 3"), ("numpy.ma", "pandas", "fsspec")),
    ],
)
@pytest.mark.usefixtures("events")
def test_commands_do_not_load_what_they_do_not_need(
    arguments: tuple[str, ...], heavy: tuple[str, ...]
) -> None:
    script = f"""
import json, os, sys
sys.argv = ["bloomify", *{arguments}]
import bloomify.main
bloomify.main._leave = sys.exit
try:
    bloomify.main.main()
except SystemExit as ending:
    loaded = sorted(set({heavy}) & set(sys.modules))
    print(json.dumps([ending.code, loaded, os.environ["OPENBLAS_NUM_THREADS"]]), file=sys.stderr)
"""
    result = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8"
    )
    assert json.loads(result.stderr) == [0, [], "1"]


@pytest.mark.skipif(sys.platform == "win32", reason="the shell of POSIX closes the streams")
def test_closed_streams_are_no_error_and_no_file_takes_their_place(events: Path) -> None:
    condition = ("--where", "id = 3")
    for arguments, closed in (
        (("get", events.name, *condition), ">&-"),
        (("probe", events.name, *condition), ">&-"),
        (("advise", events.name, "--json"), ">&- 2>&-"),
        ((events.name, "--columns", "id", "-o", "new.parquet"), "<&- >&- 2>&-"),
    ):
        line = f"{shlex.join([*BLOOMIFY, *arguments])} {closed}"
        done = subprocess.run(["/bin/sh", "-c", line], check=False, capture_output=True)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), arguments
    assert pq.read_table("new.parquet").equals(pq.read_table(events))
    assert pq.ParquetFile("new.parquet").metadata.row_group(0).column(0).bloom_filter_offset


COMMANDS = {
    **{
        name: cli.get_command(click.Context(cli), name)
        for name in cli.modules
        if name not in {"index", "help"}
    },
    **{f"index {name}": index.get_command(click.Context(index), name) for name in VERBS},
}


@pytest.mark.parametrize("verb", [None, *COMMANDS])
def test_help_has_every_option(invoke: Invoke, verb: str | None) -> None:
    words = invoke(*(verb.split() if verb else []), "--help-all").stdout.split()
    command = COMMANDS[verb or "add"]
    assert command is not None
    options = [
        option
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("-")
    ]
    assert len(options) > 2
    assert [o for o in options if o not in words and f"{o}," not in words] == []


def test_help_has_every_command(invoke: Invoke) -> None:
    text = invoke("--help").stdout.partition("Commands:")[2].partition("Which filters:")[0]
    listed = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    assert listed == [
        "add",
        "strip",
        "repair",
        "advise",
        "inspect",
        "verify",
        "probe",
        "get",
        "check-engine",
        "measure",
        "index",
        "help",
    ]


def test_the_examples_work(invoke: Invoke, orders: Path) -> None:
    (orders.parent / "warehouse").mkdir()
    for name in ("events.parquet", "warehouse/a.parquet"):
        (orders.parent / name).write_bytes(orders.read_bytes())
    commands = []
    for page, number in (("--help-all", 13), ("--help", 3)):
        text = invoke(page).stdout.partition("Examples:")[2].partition("Exit codes:")[0]
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        assert len(lines) == number
        commands += lines
    function = f'bloomify() {{ "{sys.executable}" -m bloomify "$@"; }}\n'
    for command in commands:
        if "|" in command:
            line = ["/bin/sh", "-c", function + command]
            code = subprocess.run(line, check=False).returncode
        else:
            code = invoke(*shlex.split(command)[1:]).exit_code
        assert (command, code) in {(command, 0), (command, 1)}


def test_help_says_which_readers_refuse_exact_sizes(invoke: Invoke) -> None:
    text = " ".join(invoke("--help-all").stdout.split())
    assert (
        "Arrow C++, Velox and older ClickHouse refuse them, and Impala reads them wrongly" in text
    )


def test_version(invoke: Invoke) -> None:
    from parquet_bloomwriter import __version__

    assert invoke("--version").stdout == f"bloomify {__version__}\n"


def test_without_arguments_it_says_how_to_begin(command: Command) -> None:
    result = command()
    assert (result.returncode, result.stdout) == (2, "")
    assert "bloomify FILE --columns id" in result.stderr
    assert len(result.stderr.splitlines()) < 12
