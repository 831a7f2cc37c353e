"""Text never becomes markup, and nothing in it is obeyed or hidden."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.reports.markup import LONGEST_NAME, Html, element, identifier, joined
from parquet_bloomwriter.text import clipped, safe
from tests.reports.parsing import Seen
from tests.reports.samples import HOSTILE

any_text = st.one_of(st.text(st.characters(codec=None)), st.sampled_from(HOSTILE))


@given(any_text, any_text)
def test_text_stays_text(child: str, attribute: str) -> None:
    seen = Seen(element("p", child, title=attribute).source)
    assert seen.elements == [("p", {"title": safe(attribute)})]
    assert seen.text == safe(child)


@given(any_text)
def test_names_are_isolated_and_visible(text: str) -> None:
    seen = Seen(identifier(text).source)
    assert seen.elements == [("bdi", {})]
    assert seen.text == clipped(safe(text) or '""', LONGEST_NAME)


def test_markup_is_taken_as_it_is() -> None:
    inner = element("b", "1 < 2")
    assert inner == Html("<b>1 &lt; 2</b>")
    assert element("p", inner, "&").source == "<p><b>1 &lt; 2</b>&amp;</p>"
    assert joined([inner, "<"]).source == "<b>1 &lt; 2</b>&lt;"


def test_attributes() -> None:
    made = element("meta", class_="a", aria_label="b", width=1.0, tabindex=0, title=None)
    assert made.source == '<meta class="a" aria-label="b" width="1.00" tabindex="0">'


@given(st.text(), st.integers(min_value=3, max_value=20))
def test_long_text_loses_its_middle(text: str, longest: int) -> None:
    cut = clipped(text, longest)
    assert len(cut) <= longest
    assert cut == text or (cut[0] == text[0] and cut[-1] == text[-1] and "…" in cut)


@pytest.mark.parametrize("hidden", ["\u202e", "\x00", "\x1b", "\u200b", "\n", "\udcff"])
def test_what_is_hidden_or_obeyed_is_made_visible(hidden: str) -> None:
    shown = Seen(element("p", f"a{hidden}b").source).text
    assert shown.isprintable()
    assert len(shown) > 3
