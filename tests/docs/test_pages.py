"""The pages of the site have every public name, every option and every drawing."""

from __future__ import annotations

import importlib
import json
import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import click
import pytest

from bloomify.main import cli
from docs.hooks import COMMANDS, commands
from docs.notebook_pages import FOLDER, page_of
from tests.docs.page_blocks import DOCS, ROOT, pages

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


@pytest.mark.parametrize("name", [path.stem for path in sorted(FOLDER.glob("*.ipynb"))])
def test_a_notebook_has_a_page_with_all_that_it_shows(name: str) -> None:
    assert f": notebooks/{name}.md\n" in (ROOT / "mkdocs.yml").read_text("utf-8")
    page = page_of(name)
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert outputs
    for cell in cells:
        assert "".join(cell["source"]).rstrip() in page
    for output in outputs:
        data = output.get("data", {})
        kind = "text/html" if "text/html" in data else "text/plain"
        text = "".join(output.get("text", data.get(kind, "")))
        for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", text) or text.splitlines():
            assert cell in page


def test_an_output_of_a_notebook_is_one_block_of_html() -> None:
    blocks = re.findall(r'<div class="output">.*', page_of("which_columns"), re.DOTALL)
    for block in blocks[0].split('<div class="output">')[1:]:
        assert block.partition("\n\n")[0].endswith("</div>")
    assert "<style" not in page_of("which_columns")
    assert not re.search(r"<table(?![^>]* class=)", page_of("which_columns"))
