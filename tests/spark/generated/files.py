"""Random files of a table, written by pyarrow and by Spark, and what happens to them later.

Every file has few values of each column, so that most files lack most values.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import bloomify
from tests.spark.generated.tables import NEST, ROW
from tests.spark.generated.values import KINDS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.generated.tables import Table
    from tests.spark.generated.values import Kind

_ESCAPED = re.compile(r"[\x00-\x1f\"#%'*/:=?\\\x7f{\[\]^]")
_NULL = "__HIVE_DEFAULT_PARTITION__"
_NEST = pa.struct([("a", pa.int64()), ("b", pa.string()), ("deep", pa.struct([("c", pa.int32())]))])


@dataclass(slots=True, kw_only=True)
class Filling:
    """Writes the files of one table."""

    table: Table
    rng: random.Random
    spark: SparkSession
    count: int = 0
    """Rows written so far."""

    story: list[str] = field(default_factory=list)
    """What has happened, for whoever looks for a mistake."""

    def create(self) -> None:
        """Write the first files."""
        for _ in range(self.rng.randint(4, 8)):
            self.append()
        if self.table.has_int96 or self.rng.random() < 0.4:
            self.append_by_spark()

    def append(self) -> None:
        """Write one file by pyarrow, perhaps with Bloom filters."""
        folder = self.table.folder / self._partition()
        folder.mkdir(parents=True, exist_ok=True)
        self._write(folder / f"part-{self.count:05}.parquet")

    def append_by_spark(self) -> None:
        """Let Spark append files, in one of its many ways."""
        rng = self.rng
        times = "INT96" if self.table.has_int96 else "TIMESTAMP_MICROS"
        rebase = rng.choice(["LEGACY", "CORRECTED"])
        settings = {
            "spark.sql.parquet.outputTimestampType": times,
            "spark.sql.parquet.datetimeRebaseModeInWrite": rebase,
            "spark.sql.parquet.int96RebaseModeInWrite": rebase,
            "spark.sql.parquet.writeLegacyFormat": rng.choice(["true", "false"]),
        }
        rows = self._rows(rng.randint(5, 30), is_usual=True)
        for name, kind in self.table.partitions.items():
            values = rng.choices(self.table.partition_values[name], k=len(rows))
            rows = rows.append_column(name, pa.array(values, kind.storages[0]))
        old = {name: str(self.spark.conf.get(name)) for name in settings}
        for name, value in settings.items():
            self.spark.conf.set(name, value)
        given = self.table.folder.with_name(f"given-{self.table.name}.parquet")
        pq.write_table(rows, given)
        frame = self.spark.read.parquet(str(given)).coalesce(1)
        frame.write.partitionBy(*self.table.partitions).mode("append").parquet(
            str(self.table.folder)
        )
        given.unlink()
        for name, value in old.items():
            self.spark.conf.set(name, value)
        self.story.append(f"append by Spark {settings}: {rows.num_rows} rows")

    def change(self) -> None:
        """Let something happen to the files."""
        happening: Callable[[], None] = self.rng.choice(
            [self.append, self.append, self._delete, self._overwrite, self._rename, self._touch]
        )
        happening()

    def replace(self) -> None:
        """Replace some files in place, as what rewrites a table's rows does."""
        files = self.files()
        for path in self.rng.sample(files, min(len(files), self.rng.randint(1, 3))):
            new = path.with_name(f".{path.name}.new")
            self._write(new)
            new.replace(path)
            _forget_crc(path)

    def files(self) -> list[Path]:
        """The files there are now."""
        found = (path for path in self.table.folder.rglob("*.parquet") if path.is_file())
        return sorted(path for path in found if not path.name.startswith(("_", ".")))

    def _delete(self) -> None:
        path = self.rng.choice(self.files())
        if len(self.files()) > 1:
            path.unlink()
            _forget_crc(path)
            self.story.append(f"delete {self._shown(path)}")

    def _overwrite(self) -> None:
        path = self.rng.choice(self.files())
        _forget_crc(path)
        self._write(path)

    def _rename(self) -> None:
        path = self.rng.choice(self.files())
        _forget_crc(path)
        path.rename(path.with_name(f"moved-{self.count:05}-{self.rng.randrange(1000)}.parquet"))
        self.story.append(f"rename {self._shown(path)}")

    def _touch(self) -> None:
        path = self.rng.choice(self.files())
        os.utime(path, (1_600_000_000, 1_600_000_000))
        self.story.append(f"touch {self._shown(path)}")

    def _partition(self) -> str:
        parts = []
        for name in self.table.partitions:
            value: Any = self.rng.choice(self.table.partition_values[name])
            text = _NULL if value is None else _ESCAPED.sub(_escape, str(value))
            parts.append(f"{name}={text}")
        return "/".join(parts)

    def _write(self, path: Path) -> None:
        rng = self.rng
        rows = self._rows(rng.randint(2, 25), is_usual=self.table.is_uniform)
        options: dict[str, Any] = {
            "row_group_size": rng.choice([4, 10, 100]),
            "use_dictionary": rng.choice([True, False]),
            "data_page_version": rng.choice(["1.0", "2.0"]),
            "store_decimal_as_integer": rng.choice([True, False]),
        }
        pq.write_table(rows, path, **options)
        has_filters = rng.random() < 0.3
        if has_filters:
            bloomify(path, [name for name in self.table.indexable if _has(rows, name)])
        types = {name: str(rows.schema.field(name).type) for name in rows.column_names}
        self.story.append(f"write {self._shown(path)} filters={has_filters} {options} {types}")

    def _rows(self, count: int, *, is_usual: bool) -> pa.Table:
        """Random rows; of the usual schema or of one that Spark can read as that."""
        rng = self.rng
        ids = range(self.count, self.count + count)
        self.count += count
        arrays = {ROW: pa.array(list(ids), pa.int64())}
        for name, kind in self.table.names.items():
            if is_usual or not self.table.is_mixed or rng.random() < 0.9:
                arrays[name] = self._array(kind, count, is_usual=is_usual)
        arrays[NEST] = pa.array([self._nested() for _ in range(count)], _NEST)
        if is_usual:
            return pa.table(arrays)
        cases: list[Callable[[str], str]] = [str, str, str, str.upper, str.title]
        change_case = rng.choice(cases)
        names = rng.sample(sorted(arrays), len(arrays))
        return pa.table({change_case(name): arrays[name] for name in names})

    def _array(self, kind: Kind, count: int, *, is_usual: bool) -> pa.Array:
        rng = self.rng
        is_first = is_usual or not self.table.is_mixed
        storage = kind.storages[0] if is_first else rng.choice(kind.storages)
        pool = kind.fitting(storage)
        if storage == pa.int32() and kind.name == "double":
            pool = tuple(int(value) for value in pool)
        few = rng.sample(pool, min(len(pool), rng.randint(1, 4)))
        few += [value for value in kind.usual if value in pool and rng.random() < 0.3]
        nulls = rng.choice([0.0, 0.0, 0.2, 1.0] if rng.random() < 0.3 else [0.0, 0.1])
        values = [None if rng.random() < nulls else rng.choice(few) for _ in range(count)]
        if storage.id == pa.dictionary(pa.int32(), pa.string()).id:
            return pa.array(values, pa.string()).dictionary_encode()
        return pa.array(values, storage)

    def _nested(self) -> dict[str, Any] | None:
        rng = self.rng
        if rng.random() < 0.1:
            return None
        deep = None if rng.random() < 0.1 else {"c": rng.choice((None, *KINDS["int"].pool[:6]))}
        low = self.count % 5
        return {
            "a": rng.choice((None, *KINDS["long"].pool[low : low + 4])),
            "b": rng.choice((None, *KINDS["text"].pool[low : low + 4])),
            "deep": deep,
        }

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self.table.folder))


def _has(rows: pa.Table, name: str) -> bool:
    return name.split(".", maxsplit=1)[0] in rows.column_names or name in rows.column_names


def _forget_crc(path: Path) -> None:
    """Remove Hadoop's checksum of a file, which would be that of another."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _escape(found: re.Match[str]) -> str:
    return f"%{ord(found.group()):02X}"
