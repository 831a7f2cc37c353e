"""Words and numbers, and tables of them."""

from __future__ import annotations

import unicodedata
from operator import itemgetter
from typing import Any

import pytest
from click import unstyle
from hypothesis import given
from hypothesis import strategies as st

from bloomify.console import table as drawn
from bloomify.console.table import labelled
from parquet_bloomwriter import text
from parquet_bloomwriter.reports.summary import Column, Table


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("plain ü 名", "plain ü 名"),
        ("a\nb", "a\\nb"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("not UTF-8 \udcff", "not UTF-8 \\udcff"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(given_text: str, shown: str) -> None:
    assert text.safe(given_text) == shown


@given(st.text(st.characters(codec=None)))
def test_safe_text_is_one_printable_line(given_text: str) -> None:
    shown = text.safe(given_text)
    assert shown.isprintable()
    assert not {"Cc", "Cf", "Cs", "Zl", "Zp"} & set(map(unicodedata.category, shown))


def test_an_empty_name_is_visible() -> None:
    assert text.name("") == '""'


@pytest.mark.parametrize(
    ("num_bytes", "shown"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (9_999, "9,999 bytes"),
        (10_000, "9.8 KiB"),
        (1024**2, "1.0 MiB"),
        (3 * 1024**3 // 2, "1.5 GiB"),
        (5000 * 1024**4, "5,000.0 TiB"),
    ],
)
def test_sizes(num_bytes: int, shown: str) -> None:
    assert text.size(num_bytes) == shown


def test_growth_says_both_sizes_and_the_share() -> None:
    assert text.growth(1000, 1500) == "1,000 bytes -> 1,500 bytes (+50.0 %)"
    assert text.growth(1500, 1000) == "1,500 bytes -> 1,000 bytes (-33.3 %)"
    assert text.growth(0, 9) == "0 bytes -> 9 bytes"


@pytest.mark.parametrize(
    ("probability", "shown"),
    [
        (None, "-"),
        (0.01, "0.01"),
        (0.5, "0.5"),
        (0.00721, "0.0072"),
        (0.000414, "0.00041"),
        (0.0000012, "0.0000012"),
        (4.54e-13, "4.5e-13"),
        (1.0, "1"),
        (0.0, "0"),
    ],
)
def test_rates_have_two_digits(probability: float | None, shown: str) -> None:
    assert text.rate(probability) == shown


def test_runs_of_numbers_are_contracted() -> None:
    assert text.ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"


@given(st.text(), st.integers(min_value=1, max_value=30))
def test_shortened_text_fits(given_text: str, columns: int) -> None:
    shown = text.shorten(given_text, columns)
    assert text.width(shown) <= columns
    assert shown == given_text or text.ELLIPSIS in shown


def test_shortening_keeps_both_ends() -> None:
    assert text.shorten("address.list.element.city", 15) == "address…nt.city"
    assert text.shorten("名名名名", 5) == "名…名"


def test_labelled_text_hangs_beside_its_label() -> None:
    sentence = "id, email: the filters that are there contain every value"
    assert labelled("kept", sentence, columns=None) == f"kept      {sentence}"
    assert labelled("kept", sentence, columns=40).splitlines() == [
        "kept      id, email: the filters that",
        "          are there contain every value",
    ]


def table(headings: list[dict[str, Any]], rows: list[list[str]], *, columns: int | None) -> str:
    """Draw rows of text below headings, which are given by the fields of columns."""
    made = tuple(Column(value=itemgetter(at), **one) for at, one in enumerate(headings))
    return drawn.table(Table(columns=made, rows=rows), columns=columns)


HEADINGS: list[dict[str, Any]] = [{"title": "name", "is_text": True}, {"title": "bytes"}]


def test_tables_align_by_what_the_terminal_shows() -> None:
    laid_out = table(HEADINGS, [["id", "1"], ["名前", "1,024"], ["u\u0308", "7"]], columns=None)
    assert laid_out.splitlines() == [
        "\x1b[1mname  bytes\x1b[0m",
        "id        1",
        "名前  1,024",
        "u\u0308         7",
    ]


def test_long_names_give_way_to_the_width() -> None:
    rows = [["a_very_long_name_of_a_column", "1,024"]]
    assert table(HEADINGS, rows, columns=22).splitlines()[1] == "a_very_…_column  1,024"
    assert len(table(HEADINGS, rows, columns=None).splitlines()[1]) == 35


WORDY: list[dict[str, Any]] = [
    {"title": "name", "is_text": True, "colors": {"id": "green"}},
    {"title": "bytes"},
    {"title": "share", "is_extra": True},
    {"title": "place", "is_extra": True},
    {"title": "reason", "is_text": True, "is_long": True},
]
ROWS = [["id", "1", "2 %", "end", "one two three four five six seven eight nine ten eleven"]]


def test_without_a_limit_nothing_is_left_out_or_wrapped() -> None:
    (_, line) = table(WORDY, ROWS, columns=None).splitlines()
    assert line == f"\x1b[32mid\x1b[0m        1    2 %    end  {ROWS[0][-1]}"


def test_extra_columns_are_left_out_from_the_last() -> None:
    assert "place" in table(WORDY, ROWS, columns=85)
    assert "place" not in table(WORDY, ROWS, columns=80)
    assert "share" in table(WORDY, ROWS, columns=80)
    assert "share" not in table(WORDY, ROWS, columns=70)


def test_sentences_are_wrapped_beside_the_other_columns() -> None:
    _, *lines = table(WORDY, ROWS, columns=40).splitlines()
    assert lines == [
        "\x1b[32mid\x1b[0m        1  one two three four five six",
        "             seven eight nine ten eleven",
    ]


@given(st.integers(20, 120), st.lists(st.text("ab ", max_size=90), min_size=1))
def test_wrapped_tables_keep_every_word(columns: int, sentences: list[str]) -> None:
    rows = [["x", "1", "2", "3", sentence] for sentence in sentences]
    shown = unstyle(table(WORDY, rows, columns=columns))
    words = " ".join(line[-len(line.lstrip()) :] for line in shown.splitlines()[1:]).split()
    if all(len(word) <= 24 for sentence in sentences for word in sentence.split()):
        given_words = [word for sentence in sentences for word in sentence.split()]
        assert [word for word in words if set(word) <= set("ab")] == given_words
