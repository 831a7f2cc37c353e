"""A predicate on the columns of a table, and what it means for each of its files.

The table says by which names it knows the columns of a file, and of which columns all rows have
the same value, or one that is not known (`table_files`). Conditions on these become constants, or
opaque: any row may satisfy them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from parquet_bloomwriter.predicate.bind import Domains, bind
from parquet_bloomwriter.probing.evaluation import leaves_of
from parquet_bloomwriter.probing.files import Bindings, SchemaBinding
from parquet_bloomwriter.probing.partitions import Partition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.predicate.bound import Bound
    from parquet_bloomwriter.probing.footer_cache import CachedFooter
    from parquet_bloomwriter.probing.partitions import Texts
    from parquet_bloomwriter.table_files.files import Table, TableFile


@dataclass(slots=True, eq=False)
class LogicalBindings(Bindings):
    """A predicate, and what it means for each schema of a table's files."""

    def to_file(self, file: CachedFooter) -> SchemaBinding:
        """Return what the predicate means for a file."""
        found = self.seen.get(file.schema)
        if found is None:
            bound = self._bound(file.footer())
            ordinals = tuple(leaf.ordinal for leaf in leaves_of(bound))
            found = self.seen[file.schema] = SchemaBinding(bound=bound, ordinals=ordinals)
        return found

    def names(self) -> list[tuple[str, ...]]:
        """Return the names of the table's columns: no file need have them all."""
        return [self._of.column_names()]

    @property
    def _of(self) -> Table:
        return cast("Table", self.table)

    def _bound(self, footer: Footer) -> Bound:
        leaves = self._of.in_file(footer)
        expression = self.expression
        if self.partition is not None:
            expression = self.partition.decided(expression, ())
        lacking = Partition(
            values=dict(self._undecided(leaves, footer)),
            hides_stored=True,
            origin="null, which the file's rows have there,",
            hides_parts=False,
        )
        parts = self._of.part_leaves(footer)
        return bind(lacking.decided(expression, ()), Domains.of(leaves.values(), parts))

    def _undecided(self, leaves: Mapping[str, Leaf], footer: Footer) -> Iterator[tuple[str, Texts]]:
        """Yield columns that the file lacks, and those whose conditions mean something else."""
        for name in self.columns:
            texts = self._of.known_texts(name, leaves.get(name), footer)
            if texts is not None:
                yield name, texts


def partition_of_file(file: TableFile, columns: Sequence[str]) -> Partition | None:
    """Return the partition columns of a predicate with the file's values; None if it has none."""
    values = file.partition_texts(columns)
    if not values:
        return None
    return Partition(values=values, hides_stored=True, origin=file.table.partition_origin)
