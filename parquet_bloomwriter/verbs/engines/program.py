"""The program that lets an engine count rows, run by the Python that has the engine.

`queries` runs the text of this module with `python -c`, so that an engine may break, and may
belong to another environment. The program therefore imports nothing of this package, and works with
Python 3.9. Its only argument is the name of an engine. Standard input has a JSON list of questions;
standard output gets a line of JSON with the engine's version, and then one for each answer: a
number of rows, or an error as text. An engine runs with its own settings.

A question is an object: `path` of a file; `column`, the names that lead to it; `values`, as `code`
writes them; `form`, one of `=`, `IN` and `join`; and `schema_of`, the path of a file whose schema
the engine is to give to the file that it reads, or null.

If standard input has an object instead, the engine is measured: it counts the rows of each of some
`folders` that satisfy a `condition`, SQL in the engine's own dialect, `repeats` times in turn,
after a first time that does not count. Each run is one line: `rows`, `seconds`, `cpu`, seconds of
processor time of all threads, and `bytes` that it read, or null where that is not known. The last
line has for each folder the numbers of row groups that were read and of all, or null. Nothing is
kept from one run to the next that the engine does not keep by its own settings.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import re
import sys
import time
import uuid
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Question: TypeAlias = dict[str, Any]
    Count: TypeAlias = Callable[[list[Question]], list[Any]]
    Literals: TypeAlias = dict[str, Callable[[Any, dict[str, Any]], str]]
    """Functions that write a value in SQL, by its `type`; numbers and text need none."""


def decoded(coded: Any) -> Any:  # noqa: ANN401  values of every type
    """Return the Python value of a JSON value, which may be an object with `type` and `text`."""
    if not isinstance(coded, dict):
        return coded
    text = coded["text"]
    readers: dict[str, Callable[[str], Any]] = {
        "binary": bytes.fromhex,
        "date": dt.date.fromisoformat,
        "time": dt.time.fromisoformat,
        "timestamp": dt.datetime.fromisoformat,
        "decimal": decimal.Decimal,
        "uuid": uuid.UUID,
    }
    return readers[coded["type"]](text)


def text_literal(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def sql_condition(question: Question, column: str, literals: Literals, rows_of: str) -> str:
    """Return the condition in SQL; `rows_of` is the engine's function from an array to rows."""
    spelled = ", ".join(sql_literal(coded, literals) for coded in question["values"])
    if question["form"] == "=":
        return f"{column} = {spelled}"
    rows = f"SELECT {rows_of}([{spelled}])" if question["form"] == "join" else spelled
    return f"{column} IN ({rows})"


def sql_literal(coded: Any, literals: Literals) -> str:  # noqa: ANN401
    """Return a coded value as a literal of SQL."""
    value = decoded(coded)
    kind = "text" if isinstance(value, str) else coded["type"] if isinstance(coded, dict) else ""
    if kind in literals:
        return literals[kind](value, coded)
    return text_literal(value) if kind == "text" else str(value)


def values_of(question: Question) -> list[Any]:
    """Return the values of a question as Python values, for engines without SQL conditions."""
    if question["form"] == "join" or question["schema_of"]:
        raise NotImplementedError("only = and IN are asked of this engine")
    return [decoded(coded) for coded in question["values"]]


def duckdb() -> tuple[str, Count]:
    """Ask DuckDB. A file read after another has that other file's schema."""
    engine = import_module("duckdb")
    connection = engine.connect()

    def cast(kind: str) -> Callable[[Any, dict[str, Any]], str]:
        return lambda _, coded: f"'{coded['text']}'::{kind}"

    literals: Literals = {
        "binary": lambda value, _: "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB",
        "timestamp": lambda value, coded: cast("TIMESTAMPTZ" if value.tzinfo else "TIMESTAMP")(
            value, coded
        ),
        "date": cast("DATE"),
        "time": cast("TIME"),
        "uuid": cast("UUID"),
    }

    def count(question: Question) -> Any:  # noqa: ANN401
        column = ".".join(f'"{name}"' for name in quoted_names(question, '"'))
        condition = sql_condition(question, column, literals, "unnest")
        paths = [*filter(None, [question["schema_of"]]), question["path"]]
        query = f"SELECT count(*) FROM read_parquet(?) WHERE {condition}"  # noqa: S608  spelled here
        return connection.execute(query, [paths]).fetchone()[0]

    return str(engine.__version__), each(count)


def datafusion() -> tuple[str, Count]:
    """Ask DataFusion, each time in a new context, because a context caches metadata."""
    engine = import_module("datafusion")
    units = {"ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}

    def cast(text: str, kind: str) -> str:
        return f"arrow_cast({text}, '{kind}')"

    def quoted(coded: dict[str, Any], kind: str) -> str:
        return cast(f"'{coded['text']}'", kind)

    def bits(coded: dict[str, Any]) -> int:
        return 32 if coded["unit"] == "ms" else 64

    def zone(value: Any) -> str:  # noqa: ANN401
        return 'Some("UTC")' if value.tzinfo else "None"

    literals: Literals = {
        "uuid": lambda value, _: cast(f"X'{value.hex}'", "FixedSizeBinary(16)"),
        "binary": lambda value, coded: cast(
            f"X'{value.hex()}'",
            f"FixedSizeBinary({coded['width']})" if coded["width"] else "Binary",
        ),
        "decimal": lambda value, coded: quoted(
            coded, f"Decimal128({coded['digits']}, {-value.as_tuple().exponent})"
        ),
        "date": lambda _, coded: f"DATE '{coded['text']}'",
        "time": lambda _, coded: quoted(coded, f"Time{bits(coded)}({units[coded['unit']]})"),
        "timestamp": lambda value, coded: quoted(
            coded, f"Timestamp({units[coded['unit']]}, {zone(value)})"
        ),
    }

    def count(question: Question) -> Any:  # noqa: ANN401
        first = quoted_names(question, '"')[0]
        others = question["column"][1:]
        column = f't."{first}"' + "".join(f"[{text_literal(name)}]" for name in others)
        condition = sql_condition(question, column, literals, "unnest")
        schema = None
        if question["schema_of"]:
            schema = import_module("pyarrow.parquet").read_schema(question["schema_of"])
            schema = schema.remove_metadata()
        context = engine.SessionContext()
        context.register_parquet("t", question["path"], schema=schema)
        query = f"SELECT count(*) AS n FROM t WHERE {condition}"  # noqa: S608  spelled here
        return context.sql(query).collect()[0].column(0)[0].as_py()

    return version("datafusion"), each(count)


def clickhouse() -> tuple[str, Count]:
    """Ask ClickHouse as a library, chdb."""
    engine = import_module("chdb")
    literals = clickhouse_literals()
    structures: dict[str, str] = {}

    def run(query: str) -> str:
        return str(engine.query(query, "TabSeparatedRaw")).strip()

    def quoted(name: str, quote: str) -> str:
        return quote + name.replace("\\", "\\\\").replace(quote, 2 * quote) + quote

    def structure_of(path: str) -> str:
        if path not in structures:
            lines = run(f"DESCRIBE file({clickhouse_text(path)}, Parquet)").splitlines()
            fields = [line.split("\t")[:2] for line in lines]
            structures[path] = ", ".join(f"{quoted(name, '`')} {kind}" for name, kind in fields)
        return structures[path]

    def query_of(question: Question) -> str:
        column = ".".join(quoted(name, '"') for name in question["column"])
        condition = sql_condition(question, column, literals, "arrayJoin")
        source = f"{clickhouse_text(question['path'])}, Parquet"
        if question["schema_of"]:
            source += f", {clickhouse_text(structure_of(question['schema_of']))}"
        return f"count() FROM file({source}) WHERE {condition}"

    def count(questions: list[Question]) -> list[Any]:
        parts = [f"SELECT {i}, {query_of(one)}" for i, one in enumerate(questions)]
        lines = run(" UNION ALL ".join(parts)).splitlines()
        found = {int(i): n for i, n in (line.split("\t") for line in lines)}
        return [found[i] for i in range(len(questions))]

    return run("SELECT version()"), count


def clickhouse_text(text: str) -> str:
    """Return a text as a literal of ClickHouse's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def clickhouse_literals() -> Literals:
    """Return the functions that write values in ClickHouse's SQL."""
    scales = {"ms": 3, "us": 6, "ns": 9}

    def binary(value: bytes, coded: dict[str, Any]) -> str:
        text = f"unhex('{value.hex()}')"
        return f"toFixedString({text}, {coded['width']})" if coded["width"] else text

    return {
        "text": lambda value, _: clickhouse_text(value),
        "binary": binary,
        "uuid": lambda _, coded: f"toUUID('{coded['text']}')",
        "decimal": lambda value, coded: (
            f"CAST('{value:f}', 'Decimal({coded['digits']}, {-value.as_tuple().exponent})')"
        ),
        "date": lambda _, coded: f"toDate32('{coded['text']}')",
        "time": lambda _, coded: f"CAST('{coded['text']}', 'Time64({scales[coded['unit']]})')",
        "timestamp": lambda value, coded: (
            f"toDateTime64('{value.replace(tzinfo=None)}', {scales[coded['unit']]}, 'UTC')"
        ),
    }


def spark() -> tuple[str, Count]:
    """Ask Spark, in one session."""
    functions = import_module("pyspark.sql.functions")
    session = spark_session()

    def count(question: Question) -> Any:  # noqa: ANN401
        column = functions.col(".".join(f"`{name}`" for name in quoted_names(question, "`")))
        values = [bytearray(v) if isinstance(v, bytes) else v for v in values_of(question)]
        condition = column == values[0] if question["form"] == "=" else column.isin(values)
        return session.read.parquet(question["path"]).where(condition).count()

    return str(session.version), each(count)


def spark_session() -> Any:  # noqa: ANN401
    """Return the session of Spark in this process."""
    builder = import_module("pyspark.sql").SparkSession.builder.master("local[1]")
    builder = builder.config("spark.ui.enabled", "false")
    return builder.config("spark.log.level", "OFF").getOrCreate()


def polars() -> tuple[str, Count]:
    """Ask Polars, which can give a file another schema, but asks no filters."""
    engine = import_module("polars")

    def count(question: Question) -> Any:  # noqa: ANN401
        values = values_of(question)
        first, *others = question["column"]
        column = engine.col(first)
        for name in others:
            column = column.struct.field(name)
        condition = column == values[0] if question["form"] == "=" else column.is_in(values)
        return engine.scan_parquet(question["path"]).filter(condition).collect().height

    return version("polars"), each(count)


def with_arrow(package: str, module: str, read: str) -> Callable[[], tuple[str, Count]]:
    """Return the function that asks pyarrow, or a package that takes the same conditions."""

    def asked() -> tuple[str, Count]:
        function = getattr(import_module(module), read)
        field = import_module("pyarrow.compute").field

        def count(question: Question) -> Any:  # noqa: ANN401
            values, names = values_of(question), question["column"]
            if len(names) == 1:
                operator = "==" if question["form"] == "=" else "in"
                constant = values[0] if operator == "==" else values
                condition: Any = [(names[0], operator, constant)]
            else:
                column = field(*names)
                condition = column == values[0] if question["form"] == "=" else column.isin(values)
            return len(function(question["path"], columns=[names[0]], filters=condition))

        return version(package), each(count)

    return asked


def quoted_names(question: Question, quote: str) -> list[str]:
    """Return the names of the column with quotation marks doubled, as SQL needs them."""
    return [name.replace(quote, 2 * quote) for name in question["column"]]


ENGINES: dict[str, Callable[[], tuple[str, Count]]] = {
    "duckdb": duckdb,
    "datafusion": datafusion,
    "clickhouse": clickhouse,
    "spark": spark,
    "polars": polars,
    "pyarrow": with_arrow("pyarrow", "pyarrow.parquet", "read_table"),
    "pandas": with_arrow("pandas", "pandas", "read_parquet"),
    "bloomify": with_arrow("parquet-bloomwriter", "parquet_bloomwriter", "read_table"),
}


def read_by_calls() -> int | None:
    """Return the bytes that system calls of this process have read; None if nothing counts them."""
    counts = Path("/proc/self/io")
    if not counts.exists():
        return None
    lines = counts.read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("rchar:")).split()[1])


def unknown(*_: object) -> None:
    """Return None, for what an engine does not tell."""


class Measured(NamedTuple):
    """An engine that is measured: how it counts rows, and what it tells of row groups."""

    query: Callable[[str, str], Callable[[], int]]
    """Prepares a query of a folder by a condition, and returns the function that runs it."""

    row_groups: Callable[[str, str], list[int] | None] = unknown
    """Returns the numbers of row groups that such a query reads, and of all; None if unknown."""

    bytes_read: Callable[[], int | None] = read_by_calls
    """Returns the bytes read so far; None if unknown: pages of files that are mapped into memory
    are not counted."""

    cpu_seconds: Callable[[], float] = time.process_time
    """Returns the processor time so far, of all threads."""


def files_in(folder: str) -> list[str]:
    """Return the paths of the files below a folder."""
    return sorted(f"{way}/{name}" for way, _, names in os.walk(folder) for name in names)


def measured_duckdb() -> Measured:
    """Measure DuckDB, each time with a new connection, which is open before the clock runs."""
    engine = import_module("duckdb")

    def counted(condition: str) -> str:
        return f"SELECT count(*) FROM read_parquet(?) WHERE ({condition}\n)"  # noqa: S608  as above

    def prepared(folder: str, query: str) -> Callable[[], Any]:
        connection, paths = engine.connect(), files_in(folder)
        connection.execute("SELECT 1").fetchall()
        return lambda: connection.execute(query, [paths]).fetchone()

    def query(folder: str, condition: str) -> Callable[[], int]:
        run = prepared(folder, counted(condition))
        return lambda: int(run()[0])

    def row_groups(folder: str, condition: str) -> list[int] | None:
        explained = f"EXPLAIN (ANALYZE, FORMAT json) {counted(condition)}"
        _, plan = prepared(folder, explained)()
        names = ("row_groups_scanned", "total_row_groups_to_scan")
        scans = [one for one in nodes(json.loads(plan)) if one.get("type") == "TABLE_SCAN"]
        scans = [one for one in scans if all(name in one for name in names)]
        return [sum(one[name] for one in scans) for name in names] if scans else None

    return Measured(query, row_groups)


def nodes(tree: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """Yield all objects in a JSON value."""
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    for part in tree if isinstance(tree, list) else ():
        yield from nodes(part)


def measured_datafusion() -> Measured:
    """Measure DataFusion, each time in a new context, because a context caches metadata."""
    engine = import_module("datafusion")
    told = r"row_groups_pruned_%s=(\d+) total \S+ (\d+) matched"

    def counted(condition: str) -> str:
        return f"SELECT count(*) AS n FROM t WHERE ({condition}\n)"  # noqa: S608  as above

    def run(folder: str, query: str) -> Any:  # noqa: ANN401
        context = engine.SessionContext()
        context.register_parquet("t", f"{folder}/")
        return context.sql(query).collect()[0]

    def query(folder: str, condition: str) -> Callable[[], int]:
        return lambda: int(run(folder, counted(condition)).column(0)[0].as_py())

    def row_groups(folder: str, condition: str) -> list[int] | None:
        found = run(folder, f"EXPLAIN ANALYZE {counted(condition)}").column(1)
        plan = "".join(map(str, found.to_pylist()))
        by_statistics = re.findall(told % "statistics", plan)
        by_filters = re.findall(told % "bloom_filter", plan)
        if not (by_statistics and by_filters):
            return None
        read = sum(int(left) for _, left in by_filters)
        return [read, sum(int(total) for total, _ in by_statistics)]

    return Measured(query, row_groups)


def measured_clickhouse() -> Measured:
    """Measure ClickHouse as a library, chdb."""
    engine = import_module("chdb")

    def query(folder: str, condition: str) -> Callable[[], int]:
        place = folder.replace("\\", "\\\\").replace("'", "\\'")
        source = f"file('{place}/**/*.parquet', Parquet)"
        query = f"SELECT count() FROM {source} WHERE ({condition}\n)"  # noqa: S608
        return lambda: int(str(engine.query(query, "TabSeparatedRaw")).strip())

    return Measured(query, bytes_read=unknown)


def measured_spark() -> Measured:
    """Measure Spark, in one session: its Java process does the work.

    Java reads more than the files, and the counts of Hadoop lack reads of several ranges at once.
    """
    session = spark_session()
    java = session._jvm  # noqa: SLF001
    times = Path("/proc", str(java.java.lang.ProcessHandle.current().pid()), "stat")

    def cpu_seconds() -> float:
        if not times.exists():
            return time.perf_counter()
        user, system = times.read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def query(folder: str, condition: str) -> Callable[[], int]:
        return lambda: int(session.read.parquet(folder).where(f"({condition}\n)").count())

    return Measured(query, bytes_read=unknown, cpu_seconds=cpu_seconds)


def measured_polars() -> Measured:
    """Measure Polars, which maps files into memory."""
    engine = import_module("polars")

    def query(folder: str, condition: str) -> Callable[[], int]:
        chosen = engine.scan_parquet(folder).filter(engine.sql_expr(condition))
        return lambda: int(chosen.select(engine.len()).collect().item())

    return Measured(query, bytes_read=unknown)


def measured_bloomify() -> Measured:
    """Measure `read_table`, without what it keeps of files in memory."""
    library = import_module("parquet_bloomwriter")
    predicate = import_module("parquet_bloomwriter.predicate")

    def query(folder: str, condition: str) -> Callable[[], int]:
        library.clear_cache()
        names = predicate.columns_of(predicate.parse(condition))
        columns = sorted({name.split(".")[0] for name in names})
        return lambda: int(library.read_table(folder, columns=columns, filters=condition).num_rows)

    def row_groups(folder: str, condition: str) -> list[int]:
        found = library.probe(folder, condition)
        return [found.num_surviving, found.num_row_groups]

    return Measured(query, row_groups)


MEASURED: dict[str, Callable[[], Measured]] = {
    "duckdb": measured_duckdb,
    "datafusion": measured_datafusion,
    "clickhouse": measured_clickhouse,
    "spark": measured_spark,
    "polars": measured_polars,
    "bloomify": measured_bloomify,
}


def measurements(engine: Measured, request: dict[str, Any]) -> Iterator[Any]:
    """Yield the measurements of all runs, and then the row groups."""
    condition, folders = request["condition"], request["folders"]
    for turn in range(1 + request["repeats"]):
        for folder in folders:
            run = engine.query(folder, condition)
            read, cpu, began = engine.bytes_read(), engine.cpu_seconds(), time.perf_counter()
            rows = run()
            seconds, cpu = time.perf_counter() - began, engine.cpu_seconds() - cpu
            after = engine.bytes_read()
            num_bytes = None if read is None or after is None else after - read
            if turn:
                yield {"rows": rows, "seconds": seconds, "cpu": cpu, "bytes": num_bytes}
    yield [engine.row_groups(folder, condition) for folder in folders]


_AT_ONCE = {"clickhouse": 32}
"""Questions in one query: a query of ClickHouse takes long to begin, whatever it reads."""


def each(count: Callable[[Question], Any]) -> Count:
    """Return a function that answers questions one after the other."""
    return lambda questions: [count(question) for question in questions]


def answers_to(questions: list[Question], count: Count) -> list[Any]:
    """Return the answer to each question; if any fails, they are asked one after the other."""
    try:
        return [int(answer) for answer in count(questions)]
    except Exception as error:  # noqa: BLE001  engines have errors of their own
        if len(questions) > 1:
            return [answer for one in questions for answer in answers_to([one], count)]
        return [words_of(error)]


def words_of(error: Exception) -> str:
    """Return an error as one line."""
    return " ".join(f"{type(error).__module__}.{type(error).__name__}: {error}".split())


def main() -> None:
    """Answer the questions of standard input."""
    lines = os.fdopen(os.dup(1), "w")  # engines print, too
    os.dup2(2, 1)
    found, count = ENGINES[sys.argv[1]]()
    print(json.dumps(found), file=lines, flush=True)
    questions = json.load(sys.stdin)
    if isinstance(questions, dict):
        try:
            for one in measurements(MEASURED[sys.argv[1]](), questions):
                print(json.dumps(one), file=lines, flush=True)
        except Exception as error:  # noqa: BLE001  engines have errors of their own
            print(json.dumps(words_of(error)), file=lines, flush=True)
        return
    at_once = _AT_ONCE.get(sys.argv[1], 1)
    for start in range(0, len(questions), at_once):
        for answer in answers_to(questions[start : start + at_once], count):
            print(json.dumps(answer), file=lines, flush=True)


if __name__ == "__main__":
    main()
