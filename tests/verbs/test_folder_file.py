"""What a plain folder asks for by its file `_bloomify.toml`."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter import InvalidArgument, bloomify, folder_options, for_each_file
from parquet_bloomwriter.errors import UnsafeTarget
from parquet_bloomwriter.verbs.folder_file import (
    FILE,
    FolderOptions,
    find_folder_file,
    write_folder_file,
)
from tests.verbs.files import listing, written

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = """\ufeff\r
columns = ["id", "*_key", "a,b"]\r
exclude = "raw_key, old"
fpp = ["1%", "id=0.001", "a=b=0.5"]
max-bytes = "1MiB"
sizing = "exact"
placement = "end"
skip-missing = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two files, one in a folder below."""
    for name in ("lake/a.parquet", "lake/day=1/b.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(written())
    return tmp_path / "lake"


def ask(folder: Path, text: str) -> FolderOptions:
    (folder / FILE).write_text(text, "utf-8", newline="")
    return folder_options(folder)


def test_every_key(folder: Path) -> None:
    assert ask(folder, EVERYTHING) == {
        "columns": ["id", "*_key", "a,b"],
        "exclude": ["raw_key", "old"],
        "fpp": {"*": 0.01, "id": 0.001, "a=b": 0.5},
        "max_bytes": 1 << 20,
        "sizing": "exact",
        "placement": "end",
        "skip_missing": True,
    }
    for value in ('"*"', '["id", "*"]'):
        assert ask(folder, f"columns = {value}") == {"columns": None}
    for value in ("0.5", '"0.5"', '"50%"', '["0.5"]', "[0.5]"):
        assert ask(folder, f'columns = "id"\nfpp = {value}')["fpp"] == {"*": 0.5}
    assert ask(folder, 'columns = "id"\nmax-bytes = 64')["max_bytes"] == 64


def test_the_library_takes_it(folder: Path) -> None:
    options = ask(folder, 'columns = ["id", "email"]\nfpp = ["0.1", "id=0.001"]\nsizing = "exact"')
    done = list(for_each_file(str(folder), lambda path: bloomify(path, **options)))
    assert [one.error for one in done] == [None, None]
    for one in done:
        assert one.report is not None
        assert [(c.name, c.asked_fpp) for c in one.report.columns] == [("id", 1e-3), ("email", 0.1)]


def test_without_columns_nobody_guesses(folder: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"no file _bloomify.toml.*advise FOLDER --write"):
        folder_options(folder)
    with pytest.raises(InvalidArgument, match=r"_bloomify.toml names no columns"):
        ask(folder, "fpp = 0.1")
    assert find_folder_file(folder / "a.parquet") is None
    assert find_folder_file(folder / "day=1") is None  # the file of a folder above is not taken
    assert find_folder_file(folder.parent) is None


REFUSED = [
    ("colums = 'id'", ['no key "colums"', "Did you mean columns?", "The keys are: columns, "]),
    ("force = true", ['no key "force"', "max-bytes, sizing, placement, skip-missing"]),
    ('output = "/etc"', ['no key "output"']),
    ("[lake]\ncolumns = 'id'", ['no key "lake"']),
    ("columns = 3", ["columns has no list of names: 3", 'columns = ["id", "*_key"]']),
    ("columns = []", ["columns has no list of names: []"]),
    ('columns = ["id", ""]', ["no list of names"]),
    ("columns = ' , '", ["no list of names"]),
    ("exclude = [1]", ["exclude has no list of names"]),
    ("fpp = 0", ['fpp has no rate in "0"', 'fpp = ["1%", "id=0.1%"]']),
    ("fpp = nan", ["no rate in"]),
    ("fpp = true", ["no rate in"]),
    ("fpp = []", ["no rate"]),
    ("fpp = {id = 0.1}", ["no rate in"]),
    ('fpp = [0.1, "2%"]', ["two rates for the same columns"]),
    ("fpp = 1e-20", ["a rate below 0.000001, which only --fpp can ask for"]),
    ('fpp = "id=1e-7"', ["a rate below"]),
    ('max-bytes = "1GiB"', ["more than 134,217,728 bytes, which only --max-bytes can permit"]),
    ('max-bytes = "1MB"', ["write MiB"]),
    ("max-bytes = true", ["no size: True"]),
    ('placement = "front"', ["placement has none of column-chunk, row-group, end: 'front'"]),
    ("sizing = ['pow2']", ["sizing has none of pow2, exact"]),
    ("skip-missing = 1", ["skip-missing has neither true nor false: 1"]),
    ("columns = 'id'\nfpp = ?", ["this is no TOML", "line 2, column 7"]),
    ("a = " + "[" * 30_000, ["this is no TOML"]),
    ("fpp = " + "9" * 5_000, ["this is no TOML"]),
    ("max-bytes = 0x" + "f" * 60_000, ["max-bytes has no size"]),
    ("#" * 65_537, ["65,537 bytes, and may have 65,536"]),
]


def test_what_is_refused_says_where_and_what_is_allowed(folder: Path) -> None:
    for text, words in REFUSED:
        with pytest.raises(InvalidArgument) as caught:
            ask(folder, text)
        message = str(caught.value)
        assert message.startswith(f"{folder}/{FILE}: ")
        assert [word for word in words if word not in message] == [], message
        assert len(message) < 600


def test_bytes_that_act_are_not_shown(folder: Path) -> None:
    (folder / FILE).write_bytes(b'columns = "\xff"')
    with pytest.raises(InvalidArgument, match="no TOML"):
        folder_options(folder)
    with pytest.raises(InvalidArgument) as caught:
        ask(folder, '"\\u001b[2J" = 1')
    assert "\x1b" not in str(caught.value)


def test_only_a_file_is_read(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("columns = 'id'")
    (folder / FILE).symlink_to(secret)
    for what in ("a link, which is not followed", "no regular file", "no regular file"):
        with pytest.raises(InvalidArgument, match=what):
            folder_options(folder)
        (folder / FILE).rmdir() if (folder / FILE).is_dir() else (folder / FILE).unlink()
        os.mkfifo(folder / FILE) if "link" in what else (folder / FILE).mkdir()


RATES = {"*": 0.1, "id": 0.2, "g.x": 0.3, "*_key": 0.4}
GIVEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"columns": ["id", "g", "*_key"], "exclude": ("old",), "fpp": RATES}),
    # An option takes the place of its key ...
    ({"fpp": {"*": 0.5}}, {"fpp": {"*": 0.5}}),
    ({"placement": "row-group"}, {"placement": "row-group"}),
    # ... columns also of `exclude`, and exclusions add up.
    ({"columns": ["old"]}, {"columns": ["old"], "exclude": None, "fpp": {"*": 0.1}}),
    ({"columns": None}, {"columns": None, "exclude": None}),
    ({"columns": None, "exclude": ["n"]}, {"columns": None, "exclude": ["n"]}),
    ({"exclude": ["n"]}, {"exclude": ("old", "n")}),
    # Rates count for what is left.
    ({"columns": ["id"]}, {"fpp": {"*": 0.1, "id": 0.2}}),
    ({"columns": ["i*"]}, {"fpp": {"*": 0.1, "id": 0.2}}),
    ({"columns": ["g"]}, {"fpp": {"*": 0.1, "g.x": 0.3}}),
    ({"columns": ["a_key"]}, {"fpp": {"*": 0.1, "*_key": 0.4}}),
    ({"exclude": ["id"]}, {"fpp": {"*": 0.1, "g.x": 0.3, "*_key": 0.4}}),
    ({"exclude": ["g", "i?"]}, {"fpp": {"*": 0.1, "*_key": 0.4}}),
]


def test_what_a_caller_gives_comes_first(folder: Path) -> None:
    rates = '["0.1", "id=0.2", "g.x=0.3", "*_key=0.4"]'
    ask(folder, f'columns = ["id", "g", "*_key"]\nexclude = "old"\nfpp = {rates}\nplacement="end"')
    file = find_folder_file(folder)
    assert file is not None
    for given, expected in GIVEN:
        found: dict[str, Any] = dict(file.combined(given))  # type: ignore[arg-type]
        assert {key: found.get(key) for key in expected} == expected, given
        assert ("columns" in given) or found["columns"] == ["id", "g", "*_key"]


def test_a_file_that_is_written_is_read(folder: Path) -> None:
    """Whatever the names; other keys stay, and nothing is written over without being told."""
    names = ['"', "\\", "\x7f", "\x00\n\t", "ü€😀", "a,b", " x ", "#1", "a*", "'''"]
    before = listing(folder)
    assert write_folder_file(str(folder), names, fpp=0.02) == str(folder / FILE)
    text = (folder / FILE).read_text("utf-8")
    assert tomllib.loads(text)["columns"] == names
    assert folder_options(folder) == {"columns": names, "fpp": {"*": 0.02}}
    assert {**listing(folder)}.keys() - before.keys() == {FILE}
    assert write_folder_file(str(folder), names[::-1], fpp=0.02) is None
    ask(folder, EVERYTHING)
    before = listing(folder)
    with pytest.raises(UnsafeTarget, match=r"adds email, leaves out \*_key, a,b, has fpp = 0.02"):
        write_folder_file(str(folder), ["id", "email"], fpp=0.02)
    assert listing(folder) == before
    write_folder_file(str(folder), ["id", "email"], fpp=0.02, overwrite=True)
    found = folder_options(folder)
    assert found["columns"] == ["id", "email"]
    assert (found["fpp"], found["exclude"]) == ({"*": 0.02}, ["raw_key", "old"])
    assert (found["max_bytes"], found["sizing"]) == (1 << 20, "exact")
    ask(folder, 'columns = "*"')
    with pytest.raises(UnsafeTarget, match=r"adds id, leaves out \*\."):
        write_folder_file(str(folder), ["id"], fpp=0.01)
    (folder / FILE).unlink()
    with pytest.raises(InvalidArgument, match="no Unicode"):
        write_folder_file(str(folder), ["\udcff"], fpp=0.01)
    assert not (folder / FILE).exists()


def test_of_two_writers_one_wins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> None:
        """See no file, as just before another program writes one."""

    (folder / FILE).write_text("columns = 'other'")
    before = listing(folder)
    monkeypatch.setattr("parquet_bloomwriter.verbs.folder_file.find_folder_file", missing)
    with pytest.raises(UnsafeTarget, match="exists already"):
        write_folder_file(str(folder), ["id"], fpp=0.01)
    assert listing(folder) == before
