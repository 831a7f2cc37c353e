"""Elements of HTML and SVG, put together so that text cannot become markup.

`Html` is markup; `str` is text, and is escaped wherever it goes: children and attributes alike.
Control characters and bidirectional marks, which a browser would obey or hide, are made visible as
well. Names of elements and attributes are written in the code, never taken from data.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from parquet_bloomwriter.text import clipped, name, safe

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_NAME = 200
"""Characters shown of the name of a column or file."""

_VOID = frozenset({"meta", "br"})


@dataclass(frozen=True, slots=True)
class Html:
    """A piece of markup."""

    source: str


Content: TypeAlias = Html | str
"""Markup, or text that is to be escaped."""

Attribute: TypeAlias = str | int | float | None
"""None leaves the attribute out; a float is written with two decimals."""


def element(tag: str, *children: Content, **attributes: Attribute) -> Html:
    """Make one element.

    Args:
        tag: Name of the element.
        *children: What is in it; text is escaped.
        **attributes: By name, with `_` for `-`; a final `_` is dropped, as in `class_`.
    """
    opening = f"<{tag}{''.join(_attribute(*pair) for pair in attributes.items())}>"
    if tag in _VOID:
        return Html(opening)
    return Html(f"{opening}{joined(children).source}</{tag}>")


def joined(children: Iterable[Content]) -> Html:
    """Return pieces of markup, one after the other."""
    return Html("".join(c.source if isinstance(c, Html) else _escaped(c) for c in children))


def scrollable(*children: Content, label: str, class_: str) -> Html:
    """Make a part that scrolls by itself, also with the keyboard; screen readers read `label`."""
    return element("div", *children, role="region", tabindex=0, aria_label=label, class_=class_)


def identifier(text: str) -> Html:
    """Return a name from a file as markup, isolated from the direction of the text around it."""
    return element("bdi", named(text))


def named(text: str) -> str:
    """Return a name from a file as visible text, cut if it is long."""
    return clipped(name(text), LONGEST_NAME)


def _attribute(key: str, value: Attribute) -> str:
    if value is None:
        return ""
    shown = f"{value:.2f}" if isinstance(value, float) else str(value)
    return f' {key.rstrip("_").replace("_", "-")}="{_escaped(shown)}"'


def _escaped(text: str) -> str:
    return escape(safe(text))
