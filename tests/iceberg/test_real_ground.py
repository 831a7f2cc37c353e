"""Copies of real tables are read under their new names as they are expected to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import iceberg_real
from tests.support.iceberg_readers import READERS, by_all

if TYPE_CHECKING:
    from tests.support.iceberg_tables import Warehouse

NAMES = iceberg_real.names()


def test_there_are_tables() -> None:
    if not NAMES:
        pytest.skip("BLOOMIFY_TABLES names no folder of tables")
    assert len(NAMES) == 23
    assert len({iceberg_real.short(name) for name in NAMES}) == 23


@pytest.mark.parametrize("name", iceberg_real.parameters())
def test_readers_read_the_copy(name: str, warehouse: Warehouse) -> None:
    table = iceberg_real.copy(name, warehouse)
    seen = by_all(table, readers=iceberg_real.readers(name))
    expected = iceberg_real.ROWS.get(iceberg_real.short(name))
    assert all(rows.total() == expected for rows in seen.values())
    for reader in READERS:
        if reader not in seen:
            with pytest.raises(Exception, match=r"."):
                by_all(table, readers=[reader])
