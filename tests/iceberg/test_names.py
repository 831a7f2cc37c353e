"""Names of tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg.names import TableName, is_iceberg, parse_name


@pytest.mark.parametrize(
    ("given", "catalog", "identifier"),
    [
        ("iceberg://prod/sales.orders", "prod", ("sales", "orders")),
        ("ICEBERG://prod/eu.sales.orders", "prod", ("eu", "sales", "orders")),
        ("iceberg://prod/sales.q1%2E2026", "prod", ("sales", "q1.2026")),
        ("iceberg://prod/sales.orders/", "prod", ("sales", "orders")),
        ("iceberg://a b/Größe.t%25", "a b", ("Größe", "t%")),
    ],
)
def test_a_name_is_split_and_put_together(
    given: str, catalog: str, identifier: tuple[str, ...]
) -> None:
    name = parse_name(given)
    assert name == TableName(catalog, identifier)
    assert parse_name(str(name)) == name


@pytest.mark.parametrize(
    "given",
    [
        "iceberg://",
        "iceberg://prod",
        "iceberg://prod/",
        "iceberg://prod/orders",
        "iceberg:///sales.orders",
        "iceberg://prod/sales..orders",
        "iceberg://prod/sales/orders",
        "iceberg://user:secret@prod/sales.orders",
        "s3://bucket/table",
    ],
)
def test_a_name_without_a_part_is_refused(given: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_name(given)
    assert "secret" not in str(caught.value)


def test_paths_are_no_names() -> None:
    assert is_iceberg("iceberg://prod/sales.orders")
    assert not any(map(is_iceberg, ["iceberg/prod", Path("iceberg://a/b.c"), b"iceberg://", None]))
