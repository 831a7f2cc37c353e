"""One verb over many files: which ones, where to, and what a bad one does to the others."""

from __future__ import annotations

import errno
import io
import os
import shutil
import threading
from pathlib import Path
from typing import Any, cast

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from parquet_bloomwriter import (
    BloomFile,
    InvalidArgument,
    NotParquet,
    UnsupportedFile,
    advise,
    bloomify,
    for_each_file,
    inspect,
    repair,
    strip,
    verify,
)
from parquet_bloomwriter.source.folders import Leftovers, Why
from parquet_bloomwriter.verbs.for_each_file import find_tasks
from tests.verbs.files import listing, people, written

DATA = written()
NEW = bloomify(DATA).data or b""
NAMES = ("a.parquet", "b.parq", "sub/a.parquet", "sub/deep/c.pq")
HIDDEN = (".a.parquet", "_b.parquet", "_delta_log/x.parquet", ".git/y.parquet")
OTHERS = dict.fromkeys(("z.csv", "no"), b"something else")
LEFT = {**dict.fromkeys(HIDDEN, DATA), **OTHERS}
"""What no verb touches."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset, with files and folders that readers pass over."""
    root = tmp_path / "in"
    for name in (*NAMES, *HIDDEN):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(DATA)
    for name, data in OTHERS.items():
        (root / name).write_bytes(data)
    return root


def add(path: str, output: str | None, jobs: int) -> Any:  # noqa: ANN401
    # The folder has a `_delta_log` on purpose; files in place are not what is tested with it.
    return bloomify(path, output=output, jobs=jobs, force=True)


def seen(path: str, output: str | None, jobs: int) -> tuple[str, str | None, int]:
    return path, output, jobs


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_folder_in_place(folder: Path, jobs: int) -> None:
    outcomes = list(for_each_file([folder], add, jobs=jobs))
    assert [outcome.path for outcome in outcomes] == [str(folder / name) for name in NAMES]
    assert all(outcome.error is None and outcome.output is None for outcome in outcomes)
    expected = {**LEFT, **dict.fromkeys(NAMES, NEW)}
    assert listing(folder) == expected


def test_a_folder_into_another(folder: Path, tmp_path: Path) -> None:
    before = listing(folder)
    outcomes = list(for_each_file([folder], add, output=tmp_path / "out"))
    assert [outcome.output for outcome in outcomes] == [str(tmp_path / "out" / n) for n in NAMES]
    assert listing(tmp_path / "out") == dict.fromkeys(NAMES, NEW)
    assert listing(folder) == before


def test_patterns(folder: Path) -> None:
    def paths(*inputs: str) -> list[str]:
        given = [str(folder / pattern) for pattern in inputs]
        return [os.path.relpath(o.path, folder) for o in for_each_file(given, seen)]

    assert paths("*.parquet") == ["_b.parquet", "a.parquet"]
    assert paths("**/[ac].p*") == ["a.parquet", "sub/a.parquet", "sub/deep/c.pq"]
    assert paths("sub/*", "z.csv") == ["sub/a.parquet", "z.csv"]


def test_names_that_look_like_patterns(tmp_path: Path) -> None:
    path = tmp_path / "a[1].parquet"
    path.write_bytes(DATA)
    (tmp_path / "a1.parquet").write_bytes(b"not this one")
    (outcome,) = for_each_file([path], add)
    assert outcome.error is None
    assert listing(tmp_path) == {"a[1].parquet": NEW, "a1.parquet": b"not this one"}


def test_each_file_once(folder: Path) -> None:
    """Also if it is named twice, by another spelling or through a link."""
    (folder / "link.parquet").symlink_to(folder / "a.parquet")
    inputs: list[str | os.PathLike[str]] = [
        folder,
        folder / "sub",
        f"{folder}/sub/../a.parquet",
        folder / "sub/deep/*.pq",
    ]
    found = [outcome.path for outcome in for_each_file(inputs, seen)]
    assert len(found) == len({os.path.realpath(path) for path in found}) == len(NAMES)


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_bad_file_does_not_stop_the_others(folder: Path, jobs: int) -> None:
    (folder / "b.parq").write_bytes(b"no parquet at all")
    (folder / "sub/a.parquet").unlink()
    (folder / "sub/a.parquet").symlink_to(folder / "gone")
    outcomes = list(for_each_file([folder], add, jobs=jobs))
    assert [type(outcome.error) for outcome in outcomes] == [
        type(None), NotParquet, FileNotFoundError, type(None),
    ]  # fmt: skip
    assert [outcome.report is None for outcome in outcomes] == [False, True, True, False]
    assert (folder / "b.parq").read_bytes() == b"no parquet at all"
    assert (folder / "sub/deep/c.pq").read_bytes() == NEW


class PanicException(BaseException):
    """As libraries in Rust raise it."""


@pytest.mark.parametrize("jobs", [1, 3])
def test_whatever_a_verb_raises_is_an_outcome(folder: Path, jobs: int) -> None:
    raised = [MemoryError(), RecursionError("deep"), PanicException("index out of range")]
    errors = dict(zip(sorted(map(str, folder.rglob("*.parq*")))[-3:], raised, strict=True))

    def fail(path: str) -> str:
        if path in errors:
            raise errors[path]
        return path

    outcomes = list(for_each_file(folder, fail, jobs=jobs))
    assert {one.path: one.error for one in outcomes if one.error} == errors
    assert len(outcomes) == len(NAMES) > len(errors)
    texts = [str(one) for one in outcomes if isinstance(one.error, PanicException)]
    assert [text.partition(": ")[2] for text in texts] == ["PanicException: index out of range"]


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("jobs", [1, 3])
def test_what_ends_a_program_ends_the_loop(
    folder: Path, jobs: int, ending: type[BaseException]
) -> None:
    def end(_: str) -> None:
        raise ending

    with pytest.raises(ending):
        list(for_each_file(folder, end, jobs=jobs))


def test_an_interruption_has_its_notes_once(folder: Path) -> None:
    def end(path: str) -> None:
        if path.endswith("c.pq"):
            interruption = KeyboardInterrupt()
            interruption.add_note("a note")
            raise interruption

    with pytest.raises(KeyboardInterrupt) as caught:
        list(for_each_file(folder, end, jobs=3))
    assert caught.value.__notes__.count("a note") == 1


def test_one_file_to_a_file_or_a_folder(folder: Path, tmp_path: Path) -> None:
    def output(given: str, target: str) -> str | None:
        (outcome,) = for_each_file([folder / given], seen, output=tmp_path / target)
        return outcome.output

    assert output("a.parquet", "new.parquet") == str(tmp_path / "new.parquet")
    assert output("a.parquet", "in") == str(tmp_path / "in/a.parquet")
    (outcome,) = for_each_file([folder / "a.parquet"], seen, output=f"{tmp_path}/new/")
    assert outcome.output == f"{tmp_path}/new/a.parquet"
    # What a folder holds goes to a folder, even if it is one file.
    assert output("sub/deep", "new") == str(tmp_path / "new/c.pq")
    assert output("sub/deep/*.pq", "new") == str(tmp_path / "new/c.pq")


def test_outputs_that_would_collide(folder: Path, tmp_path: Path) -> None:
    before = listing(tmp_path)
    with pytest.raises(InvalidArgument, match="several inputs would be written"):
        list(for_each_file([folder / "a.parquet", folder / "sub"], add, output=tmp_path / "out"))
    (tmp_path / "file").write_bytes(b"precious")
    with pytest.raises(InvalidArgument, match="is a file"):
        list(for_each_file([folder], add, output=tmp_path / "file"))
    assert listing(tmp_path) == {**before, "file": b"precious"}


def test_inputs_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for given in (tmp_path / "empty", tmp_path / "*.parquet"):
        with pytest.raises(InvalidArgument, match="no"):
            list(for_each_file([given], add))
    assert list(for_each_file([], seen)) == []


def test_a_name_of_nothing_stops_everything(folder: Path) -> None:
    before = listing(folder)
    for wrong in ("gone.parquet", "gone/", "a.parquet/b.parquet"):
        with pytest.raises(FileNotFoundError) as caught:
            list(for_each_file([folder, folder / wrong], add))
        assert caught.value.filename == str(folder / wrong).rstrip("/")
    assert listing(folder) == before


def test_one_path_is_no_sequence_of_characters(folder: Path) -> None:
    given = str(folder / "sub")
    outcomes = list(for_each_file(given, seen))
    assert [outcome.path for outcome in outcomes] == [f"{given}/a.parquet", f"{given}/deep/c.pq"]
    (outcome,) = for_each_file(folder / "a.parquet", seen)
    assert outcome.path == str(folder / "a.parquet")


def test_urls_are_refused(folder: Path, tmp_path: Path) -> None:
    before = listing(tmp_path)
    for wrong, problem in (
        (for_each_file("s3://u:p@b/x", seen), "has a user or a password"),
        (for_each_file("sftp://u:p@b/x", seen), "given with a password"),
        (for_each_file(folder, seen, output="file:///x"), "is a URL, and a local path"),
        (for_each_file(folder, backed_up, backup_dir="gs://u:p@b/x"), "is a URL, and a local path"),
        (for_each_file("s3://b/x", backed_up, backup_dir="old"), "backups are kept of local files"),
    ):
        with pytest.raises(InvalidArgument, match=problem) as caught:
            list(wrong)
        assert "u:p" not in str(caught.value)
    for verb in (bloomify, strip, repair):
        with pytest.raises(InvalidArgument, match=r"'file:///x.parquet' is a URL.*by its path"):
            verb("file:///x.parquet")
        with pytest.raises(InvalidArgument, match="given with a password"):
            verb(folder / "a.parquet", output="sftp://u:p@bucket/x.parquet")
    assert listing(tmp_path) == before


def test_a_verb_of_the_path_alone(tmp_path: Path) -> None:
    one, other = tmp_path / "in/a.parquet", tmp_path / "in/b.parquet"
    one.parent.mkdir()
    for path in (one, other):
        path.write_bytes(DATA)
    outcomes = list(for_each_file([one, other], lambda path: bloomify(path, ["id"])))
    assert [outcome.report.num_built for outcome in outcomes if outcome.report] == [2, 2]
    assert [outcome.output for outcome in outcomes] == [None, None]
    kept, keeping = tmp_path / "kept", cast("Any", strip)
    (outcome,) = for_each_file(one, keeping, backup_dir=kept)
    assert outcome.error is None
    assert (one.read_bytes(), (kept / "a.parquet").read_bytes()) == (DATA, other.read_bytes())


def test_verbs_that_cannot_be_called(folder: Path) -> None:
    before = listing(folder)

    def refused(verb: Any, **options: Any) -> str:  # noqa: ANN401  anything
        with pytest.raises(InvalidArgument) as caught:
            next(for_each_file(folder, verb, **options))
        return caught.value.problem

    needs = "the callable must take (path), or (path, output, jobs)"
    assert refused(lambda: None) == needs
    assert refused(None) == needs
    assert refused(lambda path: path, backup_dir=folder.parent / "b") == (
        f"{needs}, and the keyword backup_dir"
    )
    for verb in (lambda path: path, bloomify):
        assert refused(verb, output=folder.parent / "out") == (
            "with an output, the callable must take (path, output, jobs)"
        )
    assert listing(folder) == before


def test_verbs_of_one_file_name_the_one_for_folders(folder: Path) -> None:
    for verb in (bloomify, strip, repair, inspect, verify, advise, BloomFile):
        with pytest.raises(UnsupportedFile, match="for_each_file applies a verb to every file"):
            verb(folder / "sub")
    for verb in (bloomify, strip, repair):
        with pytest.raises(InvalidArgument, match="for_each_file applies a verb to several"):
            verb([folder / "a.parquet"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (io.BytesIO(b"PAR1"), "Pass its getvalue()."),
        (pa.table({"id": [1]}), "Write it to a file first."),
        (pd.DataFrame({"id": [1]}), "Write it to a file first."),
        (pl.DataFrame({"id": [1]}), "Write it to a file first."),
        (None, "Pass a path, or bytes."),
    ],
)
def test_what_to_pass_instead(given: Any, remedy: str) -> None:  # noqa: ANN401  anything
    for verb in (bloomify, strip, repair):
        with pytest.raises(InvalidArgument) as caught:
            verb(given)
        assert caught.value.remedy == remedy


def test_frames_are_no_files(folder: Path) -> None:
    frame = pd.read_parquet(folder / "a.parquet")
    for verb in (inspect, verify, advise, BloomFile):
        with pytest.raises(InvalidArgument, match=r"from DataFrame\. Write it to a file first\.$"):
            verb(frame)


def test_an_open_file_has_a_path(folder: Path) -> None:
    with (folder / "a.parquet").open("rb") as file:
        with pytest.raises(InvalidArgument, match="Pass its path"):
            bloomify(file)  # type: ignore[arg-type]
        assert inspect(file).num_row_groups


def test_a_pattern_is_no_name_of_one_file(folder: Path) -> None:
    for verb in (bloomify, strip, repair, inspect, verify, advise, BloomFile):
        for pattern in ("*.parquet", "nothing*"):
            with pytest.raises(FileNotFoundError, match="for_each_file applies a verb") as caught:
                verb(folder / pattern)
            assert isinstance(caught.value, InvalidArgument)
            assert caught.value.errno == errno.ENOENT
    with pytest.raises(FileNotFoundError, match="no file matches"):
        list(for_each_file([folder / "nothing*"], add))


def backed_up(path: str, output: str | None, jobs: int, *, backup_dir: str | None = None) -> Any:  # noqa: ANN401
    return bloomify(path, output=output, jobs=jobs, force=True, backup_dir=backup_dir)


@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize("pattern", ["", "**/[ac].p*"])
def test_backups_keep_the_tree(folder: Path, tmp_path: Path, jobs: int, pattern: str) -> None:
    kept = tmp_path / "kept/of today"
    (folder / "b.parq").rename(folder / "a.pq")
    names = ("a.parquet", "a.pq", "sub/a.parquet", "sub/deep/c.pq")
    outcomes = list(for_each_file(folder / pattern, backed_up, backup_dir=kept, jobs=jobs))
    assert [outcome.error for outcome in outcomes] == [None] * len(names)
    assert listing(kept) == dict.fromkeys(names, DATA)
    assert listing(folder) == {**LEFT, **dict.fromkeys(names, NEW)}


@pytest.mark.parametrize("backup_dir", ["in", "in/old", "in/sub/../sub/deep/x", "link/x"])
@pytest.mark.parametrize("given", ["in", "in/**/*.parquet", "in/s*/*"])
def test_backups_among_the_inputs_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, backup_dir: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("in")
    before = listing(tmp_path)
    with pytest.raises(InvalidArgument, match=r"would be read by readers of .* too"):
        list(for_each_file(given, backed_up, backup_dir=backup_dir))
    with pytest.raises(InvalidArgument, match=r"would be read by readers of .* too"):
        list(for_each_file("in/sub", backed_up, output="out", backup_dir="out/old"))
    assert listing(tmp_path) == before
    assert folder.is_dir()


@pytest.mark.parametrize("option", ["backup_dir", "output"])
def test_a_folder_below_a_file_is_refused_before_anything_starts(
    folder: Path, tmp_path: Path, option: str
) -> None:
    (tmp_path / "plain").write_text("a plain file")
    before = listing(tmp_path)
    calls: list[object] = []
    where: Any = {option: tmp_path / "plain" / "old" / "kept"}
    with pytest.raises(InvalidArgument, match=r'below ".*plain", which is no folder'):
        list(for_each_file([folder], lambda *given, **_: calls.append(given), **where))
    assert (calls, listing(tmp_path)) == ([], before)


def test_backups_that_would_collide(folder: Path, tmp_path: Path) -> None:
    inputs = [folder / "a.parquet", folder / "sub/a.parquet"]
    with pytest.raises(InvalidArgument, match="several inputs would be kept as"):
        list(for_each_file(inputs, backed_up, backup_dir=tmp_path / "kept"))


def test_backups_beside_their_files_are_left_as_they_are(tmp_path: Path) -> None:
    """Readers count them, for engines do; a verb that writes in place would spoil them."""
    root = tmp_path / "in"
    files = ("a.parquet", "000000_0", "000000_0_copy_1", "b.parquet.gz")
    backups = ("a.parquet.bak", "a.parquet.bak.bak", "a.parquet~", "000000_0.bak")
    root.mkdir()
    for name in (*files, *backups):
        (root / name).write_bytes(DATA)
    expected = {**dict.fromkeys(files, NEW), **dict.fromkeys(backups, DATA)}
    for given, output in ((root, None), (root, root), (root / "*", None)):
        left = Leftovers()
        tasks = find_tasks([root / "a.parquet", given], output=output, leftovers=left)
        assert {Path(task.path).name for task in tasks} == {*files}
        assert [(one.why, one.num_names) for one in left.groups()] == [(Why.BACKUP, len(backups))]
    assert [one.error for one in for_each_file(root, add)] == [None] * len(files)
    assert listing(root) == expected

    list(for_each_file(root, add, output=tmp_path / "out"))  # no row less than before
    assert {*listing(tmp_path / "out")} == {*files, *backups}
    for named in ([root / "*.bak"], [root / "a.parquet.bak"], [*root.iterdir()]):
        assert any(task.path.endswith(".bak") for task in find_tasks(named)), named


def test_upper_case_suffixes_are_suffixes(tmp_path: Path) -> None:
    for name in ("A.PARQUET", "b.Parq", "sub/C.PQ", "_D.PARQUET", "E.CSV"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(DATA)
    found = [os.path.relpath(outcome.path, tmp_path) for outcome in for_each_file(tmp_path, seen)]
    assert found == ["A.PARQUET", "E.CSV", "b.Parq", "sub/C.PQ"]


def test_dry_runs_make_no_folders(folder: Path, tmp_path: Path) -> None:
    before = listing(tmp_path)
    list(for_each_file([folder], seen, output=tmp_path / "out", dry_run=True))
    assert listing(tmp_path) == before
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("jobs", "each"), [(1, 1), (3, 1), (4, 1), (9, 2)])
def test_threads_are_shared_out(folder: Path, jobs: int, each: int) -> None:
    outcomes = list(for_each_file([folder], seen, jobs=jobs))
    assert {outcome.report[2] for outcome in outcomes if outcome.report} == {each}


def test_there_and_back(folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(folder / "sub", work)
    before = listing(work)
    list(for_each_file([work], add))
    list(for_each_file([work], lambda path, output, _: strip(path, output=output)))
    assert listing(work) == before
    assert len(people()) == 1000


@pytest.mark.parametrize("can_start", [0, 1, 2])
def test_threads_that_cannot_be_started_are_done_without(
    folder: Path, monkeypatch: pytest.MonkeyPatch, can_start: int
) -> None:
    """Each file is worked on once all the same, where need be in the caller's thread."""
    start, left = threading.Thread.start, [can_start]

    def limited(thread: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    seen: list[str] = []
    outcomes = list(for_each_file(folder, seen.append, jobs=4))
    assert sorted(seen) == sorted(outcome.path for outcome in outcomes)
    assert len(seen) == len(NAMES)
    assert not any(outcome.error for outcome in outcomes)
    assert bloomify(next(folder.rglob("c.pq")), jobs=4, force=True).num_built
