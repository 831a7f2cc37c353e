"""A predicate bound to the columns of files: once for each schema, not for each file.

A table says by which names it knows the columns of a file, and of which columns all rows have
the same value, or one that is not known (`table_files`). Conditions on these become constants, or
opaque: any row may satisfy them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from parquet_bloomwriter.errors import ColumnNotFound
from parquet_bloomwriter.hashing import XXHASH, HashKind
from parquet_bloomwriter.predicate import columns_of
from parquet_bloomwriter.predicate.bind import Domains, bind, domains_of
from parquet_bloomwriter.predicate.to_sql import columns_of_text, single_quotes
from parquet_bloomwriter.probing.evaluation import leaves_of
from parquet_bloomwriter.probing.hashes import Hashes
from parquet_bloomwriter.text import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_bloomwriter.metadata import Footer, Leaf, Schema
    from parquet_bloomwriter.predicate.bound import Bound, InSet
    from parquet_bloomwriter.predicate.expression import Expression, Texts
    from parquet_bloomwriter.probing.footer_cache import CachedFooter
    from parquet_bloomwriter.probing.partitions import Partition
    from parquet_bloomwriter.table_files.files import Table, TableFile


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SchemaBinding:
    """A predicate bound to the columns of files of one schema."""

    bound: Bound
    ordinals: tuple[int, ...]
    """Ordinals of the leaf columns that the predicate needs."""


@dataclass(slots=True, eq=False)
class Bindings:
    """A predicate, and its binding for each schema that was met."""

    expression: Expression
    columns: tuple[str, ...] = ()
    seen: dict[Schema, SchemaBinding] = field(default_factory=dict)
    hashed: dict[InSet, Hashes] = field(default_factory=dict)
    """Hashes of the values of conditions; a condition is a key by its identity."""

    hash_kind: HashKind = XXHASH
    """Hash function of filters whose headers name none; "xxhash" distrusts these filters."""

    reads_paths: bool = False
    """Whether columns of hive partitions are read from paths."""

    partition: Partition | None = None
    """Columns that all the files have in their paths, with the same values; None without any."""

    table: Table | None = None
    """Table to which all the files belong; None without one."""

    @classmethod
    def of(
        cls, expression: Expression, hash_kind: HashKind = XXHASH, *, reads_paths: bool = False
    ) -> Bindings:
        """Return a new object without any schema."""
        return cls(expression, columns_of(expression), hash_kind=hash_kind, reads_paths=reads_paths)

    def of_table(self, table: Table) -> Bindings:
        """Return a new object for the files of a table."""
        return LogicalBindings(self.expression, self.columns, hash_kind=self.hash_kind, table=table)

    def in_partition(self, partition: Partition) -> Bindings:
        """Return a new object for files with these columns in their paths."""
        return replace(self, seen={}, hashed={}, partition=partition)

    @property
    def is_excluded(self) -> bool:
        """Return whether paths alone exclude the files, whatever the files store."""
        return self.partition is not None and self.partition.excludes(self.expression)

    def to(self, schema: Schema) -> SchemaBinding:
        """Return the binding of the predicate for a schema."""
        found = self.seen.get(schema)
        if found is None:
            bound = bind(self.expression_for(schema), domains_of(schema))
            ordinals = tuple(leaf.ordinal for leaf in leaves_of(bound))
            found = self.seen[schema] = SchemaBinding(bound=bound, ordinals=ordinals)
        return found

    def to_file(self, file: CachedFooter) -> SchemaBinding:
        """Return the binding of the predicate for a file."""
        return self.to(file.schema)

    def names(self) -> list[tuple[str, ...]]:
        """Return the names of the leaf columns in each schema that was met."""
        return [tuple(leaf.name for leaf in schema.leaves) for schema in self.seen]

    def expression_for(self, schema: Schema) -> Expression:
        """Return the predicate with the conditions that paths decide replaced by constants."""
        if self.partition is None:
            return self.expression
        return self.partition.decided(self.expression, {leaf.name for leaf in schema.leaves})

    def hashes(self, atom: InSet) -> Hashes:
        """Return the hashes of a condition's values."""
        if atom not in self.hashed:
            self.hashed[atom] = Hashes.of(atom.plains or (), self.hash_kind)
        return self.hashed[atom]

    def check_columns(self, paths: Sequence[str], tables: Sequence[tuple[str, ...]] = ()) -> None:
        """Check that every column of the predicate is in a file, or a partition key in a path.

        Args:
            paths: Of the files.
            tables: Names of the columns of each table that files belong to.

        Raises:
            ColumnNotFound: If a column is not.
        """
        of_text = dict(columns_of_text(self.expression))
        names = (*self.columns, *of_text)
        schemas = [*self.names(), *tables]
        if any(all(_has(known, name) for name in names) for known in schemas):
            return
        for name in names if schemas else ():
            is_known = any(_has(known, name) for known in schemas)
            if is_known or in_paths(name, paths):
                continue
            if of_text.get(name):
                raise ColumnNotFound(f'there is no column "{name}"', remedy=single_quotes(name))
            from parquet_bloomwriter.column_names import select_columns

            try:
                for schema in list(self.seen)[:1]:
                    select_columns(schema.leaves, [name])
                if not self.seen:
                    raise ColumnNotFound(f'there is no column "{name}"', name=name)  # noqa: TRY301
            except ColumnNotFound as error:
                near = suggestion(name, (*schemas[0], *_names_in_paths(paths)))
                is_text = name in of_text and not near.startswith("Did you mean")
                error.remedy = single_quotes(name) if is_text else near
                raise


def in_paths(name: str, paths: Sequence[str]) -> bool:
    """Return whether some path has a folder of a column: `year=2023/`."""
    return any(f"/{name}=" in f"/{path}" for path in paths)


def _names_in_paths(paths: Sequence[str]) -> Iterator[str]:
    """Yield the column names in folders, from the outermost folder of the first path on."""
    for path in paths:
        for folder in path.split("/")[:-1]:
            name, is_given, _ = folder.partition("=")
            if name and is_given:
                yield name


def _has(known: Sequence[str], name: str) -> bool:
    return any(one == name or one.startswith(f"{name}.") for one in known)


@dataclass(slots=True, eq=False)
class LogicalBindings(Bindings):
    """A predicate on a table, and its binding for each schema of the table's files."""

    def to_file(self, file: CachedFooter) -> SchemaBinding:
        """Return the binding of the predicate for a file."""
        found = self.seen.get(file.schema)
        if found is None:
            bound = self._bound(file.footer())
            ordinals = tuple(leaf.ordinal for leaf in leaves_of(bound))
            found = self.seen[file.schema] = SchemaBinding(bound=bound, ordinals=ordinals)
        return found

    def names(self) -> list[tuple[str, ...]]:
        """Return the names of the table's columns: a file need not have them all."""
        return [self._of.column_names()]

    @property
    def _of(self) -> Table:
        return cast("Table", self.table)

    def _bound(self, footer: Footer) -> Bound:
        from parquet_bloomwriter.probing.partitions import Partition

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
        """Yield columns that the file lacks, or on which conditions mean something else."""
        for name in self.columns:
            texts = self._of.known_texts(name, leaves.get(name), footer)
            if texts is not None:
                yield name, texts


def partition_of_file(file: TableFile, columns: Sequence[str]) -> Partition | None:
    """Return the predicate's partition columns with the values of a file; None without any."""
    from parquet_bloomwriter.probing.partitions import Partition

    values = file.partition_texts(columns)
    if not values:
        return None
    return Partition(values=values, hides_stored=True, origin=file.table.partition_origin)
