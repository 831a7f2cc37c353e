"""The program that lets an engine count rows, run by the Python that has the engine.

`queries` runs the text of this module with `python -c`, so that an engine may break, and may
belong to another environment. The program therefore imports nothing of this package, and works with
Python 3.9. Its only argument is the name of an engine. Standard input has a JSON list of questions;
standard output gets a line of JSON with the engine's version, and then one for each answer: a
number of rows, or an error as text. An engine runs with its own settings.

A question is an object: `path` of a file; `column`, the names that lead to it; `values`, as `code`
writes them; `form`, one of `=`, `IN` and `join`; and `schema_of`, the path of a file whose schema
the engine is to give to the file that it reads, or null.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import sys
import uuid
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
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
    sql = import_module("pyspark.sql")
    functions = import_module("pyspark.sql.functions")
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.log.level", "OFF").getOrCreate()

    def count(question: Question) -> Any:  # noqa: ANN401
        column = functions.col(".".join(f"`{name}`" for name in quoted_names(question, "`")))
        values = [bytearray(v) if isinstance(v, bytes) else v for v in values_of(question)]
        condition = column == values[0] if question["form"] == "=" else column.isin(values)
        return session.read.parquet(question["path"]).where(condition).count()

    return str(session.version), each(count)


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
        return [" ".join(f"{type(error).__module__}.{type(error).__name__}: {error}".split())]


def main() -> None:
    """Answer the questions of standard input."""
    lines = os.fdopen(os.dup(1), "w")  # engines print, too
    os.dup2(2, 1)
    found, count = ENGINES[sys.argv[1]]()
    print(json.dumps(found), file=lines, flush=True)
    questions = json.load(sys.stdin)
    at_once = _AT_ONCE.get(sys.argv[1], 1)
    for start in range(0, len(questions), at_once):
        for answer in answers_to(questions[start : start + at_once], count):
            print(json.dumps(answer), file=lines, flush=True)


if __name__ == "__main__":
    main()
