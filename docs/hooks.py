"""What `make docs` does beyond MkDocs: pages that are made, drawings, and what pages may load.

- The page of the command is made from click, and so never differs from `--help`.
- CHANGELOG.md, CONTRIBUTING.md and SECURITY.md become pages; links between them and docs/ are kept.
- The notebooks become pages (`docs.notebook_pages`).
- Drawings (SVG) become part of their page, so that they follow its colours, light or dark.
- A page that would load anything from another server fails the build.
"""

from __future__ import annotations

import inspect
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bloomify.console.help import OTHER_OPTIONS, Option
from bloomify.main import cli
from docs.notebook_pages import FOLDER, page_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = "`make docs` lists all options here, in `build/site/reference/command.html`."
"""The line in the place of the commands in docs/reference/command.md."""

ROOT_PAGES = {
    f"{name}.md": f"project/{name.lower()}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")
}
"""Files beside docs/, and the pages that show them."""

_LINK = re.compile(r"(?<=\]\()([^)#:]+)(?=[)#])")
_DRAWING = re.compile(r'<p><img alt="([^"]*)" src="([^"]*\.svg)" ?/?></p>')
_OUTSIDE = re.compile(
    r'<(?:script|img|iframe|source)\b[^>]*\bsrc="(?:https?:)?//|<link\b[^>]*rel="(?:stylesheet|preconnect|icon)"[^>]*href="(?:https?:)?//'
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of notebooks, and of files that lie beside docs/."""
    from mkdocs.structure.files import File, InclusionLevel

    for notebook in sorted(FOLDER.glob("*.ipynb")):
        uri, content = f"notebooks/{notebook.stem}.md", page_of(notebook.stem)
        file = File.generated(config, uri, content=content, inclusion=InclusionLevel.INCLUDED)
        files.append(file)
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Put in the commands, and let links lead to pages."""
    home = posixpath.dirname(page.file.src_uri)
    is_of_root = page.file.src_uri in ROOT_PAGES.values()
    base = "" if is_of_root else posixpath.join("docs", home)

    def moved(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(base, match[1]))
        if target in ROOT_PAGES:
            return posixpath.relpath(ROOT_PAGES[target], home or ".")
        if is_of_root:
            return posixpath.relpath(target.removeprefix("docs/"), home)
        return re.sub(r"\.ipynb$", ".md", match[1])

    return _LINK.sub(moved, markdown).replace(COMMANDS, "\n".join(commands()))


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Put drawings into the page."""

    def inline(match: re.Match[str]) -> str:
        path = ROOT / "docs" / posixpath.dirname(page.file.src_uri) / match[2]
        svg = re.sub(r"<style>.*?</style>", "", path.read_text("utf-8"), flags=re.DOTALL)
        svg = svg.replace("<svg ", f'<svg role="img" aria-label="{match[1]}" ', 1)
        return f'<div class="drawing">{svg}</div>'

    return _DRAWING.sub(inline, html)


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Check that a page loads nothing from another server.

    Raises:
        PluginError: If it does.
    """
    from mkdocs.exceptions import PluginError

    found = _OUTSIDE.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri} would load from another server: {found[0]}")
    return output


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Remove the page for addresses that do not exist: it finds its styles on one server only."""
    (Path(config.site_dir) / "404.html").unlink()


def commands() -> Iterator[str]:
    """Yield the Markdown of all commands."""
    context = click.Context(cli, info_name="bloomify")
    yield from _group(cli, context)


def _group(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            raise LookupError(name)
        inner = click.Context(command, parent=context, info_name=name)
        yield from _command(command, inner)
        if isinstance(command, click.Group):
            yield from _group(command, inner)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    level = "#" * context.command_path.count(" ") + "#"
    yield f"{level} {context.command_path}\n"
    yield f"```text\n{context.command_path} {usage}\n```\n"
    yield f"{_text(inspect.cleandoc(command.help or ''))}\n"
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            title = parameter.section if isinstance(parameter, Option) else OTHER_OPTIONS
            sections.setdefault(title, []).append(record)
    for title, records in sorted(sections.items(), key=lambda pair: pair[0] == OTHER_OPTIONS):
        yield f"**{title}**\n"
        for name, text in records:
            yield f"`{name}`\n:   {_text(text)}\n"
    yield from _examples(command.epilog or "")


def _examples(epilog: str) -> Iterator[str]:
    """Yield the part of an epilog that has examples."""
    _, found, rest = epilog.partition("Examples:\n")
    if found:
        lines = [line.strip() for line in rest.partition("\n\n")[0].splitlines()]
        yield "**Examples**\n"
        yield "```sh\n" + "\n".join(filter(None, lines)) + "\n```\n"


def _text(text: str) -> str:
    """Return a text of click as Markdown, with options as code."""
    plain = re.sub(r"([*_\[\]|\\])", r"\\\1", text.replace("\b\n", "")).replace("<", "&lt;")
    plain = re.sub(r"`([^`]*)`", lambda found: "`" + found[1].replace("\\", "") + "`", plain)
    return re.sub(r"(?<![\w`-])(--?[a-z0][\w-]*)(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"`\1`", plain)
