"""The pages of the site have every public name, every option and every drawing."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import click
import pytest

from bloomify.main import cli
from docs.hooks import COMMANDS, commands
from tests.docs.page_blocks import DOCS, pages

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARY = {
    "parquet_bloomwriter": "reference/library.md",
    "parquet_bloomwriter.index": "reference/library-index.md",
    "parquet_bloomwriter.spark": "reference/library-spark.md",
}


@pytest.mark.parametrize("package", LIBRARY)
def test_a_page_of_the_library_has_every_public_name_once(package: str) -> None:
    text = (DOCS / LIBRARY[package]).read_text("utf-8")
    named = Counter(re.findall(rf"^::: {re.escape(package)}\.(\w+)$", text, re.MULTILINE))
    public = [name for name in importlib.import_module(package).__all__ if name[0] != "_"]
    assert {name: named[name] for name in public} == dict.fromkeys(public, 1)


def _leaves(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _leaves(command, f"{path} {name}")


def test_the_page_of_the_command_has_every_option() -> None:
    assert (DOCS / "reference/command.md").read_text("utf-8").count(COMMANDS) == 1
    sections = dict(
        re.findall(
            r"^#+ (bloomify [\w -]+)\n(.*?)(?=^#+ |\Z)",
            "\n".join(commands()),
            re.MULTILINE | re.DOTALL,
        )
    )
    found = dict(_leaves(cli, "bloomify"))
    assert set(sections) == set(found)
    for path, command in found.items():
        for option in chain.from_iterable(one.opts for one in command.params):
            assert not option.startswith("--") or f"{option}" in sections[path], (path, option)


def test_help_is_text_and_not_code() -> None:
    indented = [line for text in commands() for line in text.splitlines() if line[:1] == " "]
    assert indented == []


def test_drawings_say_in_words_what_they_show() -> None:
    text = "".join((DOCS / page).read_text("utf-8") for page in pages())
    used = dict(re.findall(r"!\[([^\]]+)\]\((?:[./\w-]*/)?drawings/([\w-]+\.svg)\)", text))
    drawings = {path.name for path in (DOCS / "how-it-works/drawings").iterdir()}
    assert set(used.values()) == drawings
    assert all(len(words) > 60 for words in used)  # a sentence
