"""Help pages: the first fits a screen, the second has everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from bloomify.commands.index import VERBS
from bloomify.main import cli

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

PAGES = [(), *((name,) for name in cli.modules), *(("index", name) for name in VERBS)]
"""The words of every command."""

SECOND_PAGE = [
    *("--dialect", "--murmur3-seed", "--backup", "--regenerate-crc", "--plan", "--ndv"),
    *("--branch", "--commit-every", "--max-files", "--max-bytes-rewritten", "--newest-first"),
]


@pytest.fixture(autouse=True)
def _screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_the_first_page_of_each_command_fits_a_screen(invoke: Invoke) -> None:
    for words in PAGES:
        lines = invoke(*words, "--help").stdout.splitlines()
        options = [line for line in lines if line.startswith("  -")]
        assert len(lines) <= 40, words
        assert len(options) <= 18, words
        assert [line for line in lines if len(line) > 80] == [], words


def test_rare_options_and_those_of_tables_are_on_the_second_page(invoke: Invoke) -> None:
    first = [set(invoke(*words, "--help").stdout.split()) for words in ((), ("add",))]
    second = [set(invoke(*words, "--help-all").stdout.split()) for words in ((), ("add",))]
    for option in SECOND_PAGE:
        assert not any(option in page for page in first)
        assert all(option in page for page in second)
    assert all("--help-all" in page for page in first)


def test_help_leads_to_the_page_of_a_command(invoke: Invoke) -> None:
    for words in PAGES:
        page = invoke(*words, "--help").stdout
        assert invoke("help", *words).stdout == page
        assert invoke("-h", *words).stdout == page
        assert invoke("--help", *words).stdout == page
        assert invoke("help", *words, "--help-all").stdout.startswith(page.splitlines()[0])
    all_of_probe = invoke("probe", "--help-all").stdout
    assert "--dialect" in all_of_probe
    for words in (("help", "probe", "--help-all"), ("--help-all", "probe")):
        assert invoke(*words).stdout == all_of_probe
    assert invoke("help", "probe", "lake/").stdout == invoke("probe", "--help").stdout


def test_help_on_tables_has_their_options(invoke: Invoke) -> None:
    page = invoke("help", "tables").stdout
    assert invoke("-h", "tables").stdout == page
    context = click.Context(cli)
    for name in ("add", "verify"):
        command = cli.get_command(context, name)
        assert command is not None
        own = [one for one in command.params if getattr(one, "section", "") == "Tables"]
        assert len(own) >= 3
        assert all(one.opts[0] in page for one in own)
    assert "iceberg://CATALOG/NAMESPACE.TABLE" in page


def test_help_on_what_is_not_there(invoke: Invoke) -> None:
    for words, near, group in (
        (["advice"], "advise", ""),
        (["table"], "tables", ""),
        (["index", "crate"], "create", " index"),
    ):
        result = invoke("help", *words)
        message = f'there is no command of the name "{words[-1]}". Did you mean {near}?'
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == f"bloomify: {message} See bloomify{group} --help.\n"
