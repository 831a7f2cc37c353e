"""Every system call of a replacement fails, is interrupted, or is the last one before a kill.

Whatever happens, the folder holds the whole old file or the whole new one, and nothing
else. A run that was killed may leave its temporary file; the next run removes it.
"""

from __future__ import annotations

import errno
import itertools
import os
import subprocess
import sys
import textwrap
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter.errors import Unfinished
from parquet_bloomwriter.replace import commit
from parquet_bloomwriter.replace.names import exchange
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.replace.temporary import find_temporaries
from parquet_bloomwriter.source.local import open_file
from tests.support.replacing import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
OLD = b"PAR1old bytesPAR1"
NEW = b"PAR1oldNEW bytesPAR1"
CALLS = (
    "open",
    "fstat",
    "stat",
    "fchmod",
    "fchown",
    "write",
    "copy_file_range",
    "pread",
    "fsync",
    "listxattr",
    "getxattr",
    "setxattr",
    "removexattr",
    "link",
    "replace",
    "utime",
    "listdir",
)


def _listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Faults:
    """Counts the system calls, and makes one of them fail."""

    def __init__(self, patch: pytest.MonkeyPatch, *, number: int) -> None:
        """Let call `number`, 0-based, fail."""
        self.number = number
        self.passed = 0
        self.hit: str | None = None
        """The call that failed; None if the run ended before call `number`."""

        self.before: BaseException | None = None
        self.after: BaseException | None = None
        for name in CALLS:
            if hasattr(os, name):
                patch.setattr(os, name, self._watch(name, getattr(os, name)))
        patch.setattr(commit, "exchange", self._watch("exchange", exchange))

    def _watch(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  as the wrapped function
            hit = self.passed == self.number
            self.passed += 1
            if hit:
                self.hit = name
            if hit and self.before is not None:
                raise self.before
            try:
                result = real(*args, **kwargs)
            except OSError:
                if hit and self.after is not None:
                    raise self.after from None
                raise
            if hit and self.after is not None:
                if name == "open":
                    os.close(result)
                raise self.after
            return result

        return call


def _rewrite(folder: Path, *, output: str | None, backup_suffix: str | None) -> None:
    with open_file(folder / "a.parquet") as source:
        path = None if output is None else folder / output
        target = choose_target(source, path, overwrite=True, backup_suffix=backup_suffix)
        with replacing(source, target, verify=lambda _: None) as new:
            new.copy(0, 7)
            new.write(b"NEW")
            new.copy(7, len(OLD))


SCENARIOS: dict[str, tuple[dict[str, Any], list[dict[str, bytes]]]] = {
    "in place": (
        {"output": None, "backup_suffix": None},
        [{"a.parquet": OLD}, {"a.parquet": NEW}],
    ),
    "in place with backup": (
        {"output": None, "backup_suffix": "~"},
        [{"a.parquet": OLD}, {"a.parquet": NEW, "a.parquet~": OLD}],
    ),
    "new name": (
        {"output": "b", "backup_suffix": None},
        [{"a.parquet": OLD}, {"a.parquet": OLD, "b": NEW}],
    ),
}


def _prepare(folder: Path) -> None:
    (folder / "a.parquet").write_bytes(OLD)
    with suppress(OSError, AttributeError):
        os.setxattr(folder / "a.parquet", "user.origin", b"a test")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A replacement during which one system call failed."""

    folder: Path
    call: str
    """The name of that call."""

    raised: BaseException | None
    """What reached the caller."""


def _every_run(
    factory: pytest.TempPathFactory,
    options: dict[str, Any],
    *,
    before: BaseException | None = None,
    after: BaseException | None = None,
) -> Iterator[Run]:
    """Let the first call fail, then the second in a new folder, until a run has no such call.

    Args:
        factory: Makes a folder for each run.
        options: Of `_rewrite`.
        before: Raised instead of the call.
        after: Raised when the call is done.
    """
    for number in itertools.count():
        folder = factory.mktemp("fault")
        _prepare(folder)
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch, number=number)
            faults.before, faults.after = before, after
            raised = _caught(folder, options, before or after)
        if faults.hit is None:
            assert raised is None
            return
        yield Run(folder=folder, call=faults.hit, raised=raised)


def _caught(
    folder: Path, options: dict[str, Any], fault: BaseException | None
) -> BaseException | None:
    """Return `fault`, or the error that it causes, if either reaches the caller."""
    try:
        _rewrite(folder, **options)
    except BaseException as error:
        if fault not in (error, error.__cause__):
            raise
        return error
    return None


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EIO])
def test_a_fault_at_any_call(
    tmp_path_factory: pytest.TempPathFactory,
    scenario: str,
    reason: int,
) -> None:
    options, (old_state, new_state) = SCENARIOS[scenario]
    calls, outcomes = set(), set()
    for run in _every_run(tmp_path_factory, options, before=OSError(reason, os.strerror(reason))):
        is_new = run.raised is None or isinstance(run.raised, Unfinished)
        assert _listing(run.folder) == (new_state if is_new else old_state), run.call
        calls.add(run.call)
        outcomes.add(type(run.raised))
    assert {"open", "write", "fsync"} <= calls
    assert {OSError, Unfinished} <= outcomes  # left alone, or its folder could not be synced


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interruption_at_any_call(
    tmp_path_factory: pytest.TempPathFactory,
    scenario: str,
    moment: str,
) -> None:
    options, (old_state, new_state) = SCENARIOS[scenario]
    calls = set()
    for run in _every_run(tmp_path_factory, options, **{moment: KeyboardInterrupt()}):
        assert run.raised is not None, run.call
        states = [old_state, new_state]
        if (moment, run.call, scenario) == ("after", "link", "in place with backup"):
            states.append({"a.parquet": OLD, "a.parquet~": OLD})  # made, not yet known
        assert _listing(run.folder) in states, run.call
        calls.add(run.call)
    assert {"open", "write", "fsync"} <= calls


KILLED = """
    import os, signal, sys
    from parquet_bloomwriter.replace import commit
    from parquet_bloomwriter.replace.commit import new_version
    from parquet_bloomwriter.source.local import open_file
    from parquet_bloomwriter.replace.target import choose_target

    root, output, suffix, *calls = sys.argv[1:]

    def rewrite(folder, last):
        seen = 0

        def watch(real):
            def call(*args, **kwargs):
                nonlocal seen
                result = real(*args, **kwargs)
                seen += 1
                if seen == last:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result
            return call

        for name in calls:
            setattr(os, name, watch(getattr(os, name)))
        commit.exchange = watch(commit.exchange)
        with open_file(folder + "/a.parquet") as source:
            target = choose_target(
                source, output and f"{folder}/{output}" or None, backup_suffix=suffix or None
            )
            with new_version(source, target) as new:
                new.copy(0, 7)
                new.write(b"NEW")
                new.copy(7, 17)
                new.complete()
                new.commit()

    for last in range(1, len(os.listdir(root)) + 1):
        child = os.fork()
        if not child:
            rewrite(f"{root}/{last}", last)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != -signal.SIGKILL:
            sys.exit(code)
        print(last)
"""
MOST_CALLS = 60


def _killed(root: Path, options: dict[str, Any]) -> list[Path]:
    """Replace a file in one folder after the other: killed after the first call, the second ...

    Args:
        root: Of the folders; made.
        options: Of `_rewrite`.

    Returns:
        The folders of the runs that were killed: all runs that had so many calls.
    """
    for number in range(1, MOST_CALLS + 1):
        (root / str(number)).mkdir(parents=True)
        _prepare(root / str(number))
    arguments = [root, options["output"] or "", options["backup_suffix"] or ""]
    calls = [name for name in [*CALLS, "unlink"] if hasattr(os, name)]
    done = subprocess.run(
        [sys.executable, "-S", "-c", textwrap.dedent(KILLED), *map(str, arguments), *calls],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    killed = [root / number for number in done.stdout.split()]
    assert 10 < len(killed) < MOST_CALLS
    return killed


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_after_any_call(tmp_path: Path, scenario: str) -> None:
    options, (_, new_state) = SCENARIOS[scenario]
    left = 0
    for folder in _killed(tmp_path / "kill", options):
        target = folder / (options["output"] or "a.parquet")
        temporaries = {Path(found).name for found in find_temporaries(str(target))}
        left += len(temporaries)
        found = _listing(folder)
        assert found["a.parquet"] in (OLD, NEW)
        others = {name: found[name] for name in found if name not in temporaries | {"a.parquet"}}
        assert others in ({}, {name: new_state[name] for name in new_state if name != "a.parquet"})
        again = folder / "a.parquet"
        for _ in range(2):  # a temporary name of the target itself goes one run later
            with open_file(again) as source:
                permitted = choose_target(
                    source, target, overwrite=True, permit_hard_links="a.parquet~" in found
                )
                with replacing(source, permitted, verify=lambda _: None) as new:
                    new.write(b"again")
        kept = {name: found[name] for name in found if name not in temporaries}
        assert _listing(folder) == kept | {target.name: b"again"}
    assert left > 3
