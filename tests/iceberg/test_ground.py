"""The tables that the tests make are what they say.

`tests/tables/test_iceberg_rows.py` compares the rows: readers see them in old snapshots, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyiceberg.manifest import DataFileContent

from tests.support.iceberg_deletes import live_entries
from tests.support.iceberg_readers import by_pyiceberg
from tests.support.iceberg_tables import MAKERS

if TYPE_CHECKING:
    from tests.support.iceberg_tables import Warehouse


@pytest.mark.parametrize("maker", [one for one in MAKERS if "equality" in one])
def test_pyiceberg_refuses_equality_deletes(maker: str, warehouse: Warehouse) -> None:
    table = MAKERS[maker](warehouse).load()
    with pytest.raises(ValueError, match="equality deletes"):
        by_pyiceberg(table)


def test_equality_deletes_are_between_the_sequence_numbers_of_data(warehouse: Warehouse) -> None:
    table = MAKERS["equality_deletes"](warehouse).load()
    data = sorted(one.sequence_number or 0 for one in live_entries(table))
    [delete] = live_entries(table, DataFileContent.EQUALITY_DELETES)
    assert data == [1, 2, 4]
    assert delete.sequence_number == 3
