"""docs/api.md has every public name, as its docstring says."""

from __future__ import annotations

import re

import pytest

from docs.api import PACKAGES, PAGE, Package, page, public_names


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `python -m docs.api`"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_the_page_has_every_public_name_once(package: Package) -> None:
    names = [name for group in package.groups.values() for name in group]
    public = [name for name in public_names(package.name) if not name.startswith("__")]
    assert sorted(names) == sorted(public)


def test_every_entry_says_something() -> None:
    entries = re.split(r"^#### ", page(), flags=re.MULTILINE)[1:]
    prose = [re.sub(r"```.*?```", "", entry, flags=re.DOTALL).splitlines()[1:] for entry in entries]
    assert all(any(re.match(r"[A-Z]", line) for line in lines) for lines in prose)
