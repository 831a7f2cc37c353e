"""What writers with SQL call each type of the matrix; those that are missing they cannot write."""

from __future__ import annotations

from typing import Final

_DECIMALS = {
    f"DECIMAL({digits}, 2){where}": f"DECIMAL({digits}, 2)"
    for digits in (4, 9, 18, 38)
    for where in ("", " as integer")
}
_SIZES = (8, 16, 32, 64)


def _only(types: dict[str, str], *, as_integer: bool) -> dict[str, str]:
    """Decimals of up to 18 digits in one of two physical types."""
    return {name: sql for name, sql in types.items() if ("integer" in name) == as_integer}


DUCKDB: Final = {
    "BOOLEAN": "BOOLEAN",
    **dict(
        zip(
            (f"INT({bits}, signed)" for bits in _SIZES),
            ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"),
            strict=True,
        )
    ),
    **dict(
        zip(
            (f"INT({bits}, unsigned)" for bits in _SIZES),
            ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
            strict=True,
        )
    ),
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "STRING": "VARCHAR",
    "JSON": "JSON",
    "BYTE_ARRAY": "BLOB",
    "UUID": "UUID",
    **_only(_DECIMALS, as_integer=True),
    "DECIMAL(38, 2)": "DECIMAL(38, 2)",
    "DATE": "DATE",
    "TIME(us)": "TIME",
    "TIME(ns)": "TIME_NS",
    "TIMESTAMP(ms)": "TIMESTAMP_MS",
    "TIMESTAMP(us)": "TIMESTAMP",
    "TIMESTAMP(ns)": "TIMESTAMP_NS",
    "TIMESTAMP(us, UTC)": "TIMESTAMPTZ",
    "TIMESTAMP(ns, UTC)": "TIMESTAMPTZ_NS",
    "INTERVAL": "INTERVAL",
    "STRUCT of INT64": "STRUCT(x BIGINT, y INTEGER)",
    "STRUCT of STRING": "STRUCT(x VARCHAR, y INTEGER)",
    "LIST of INT64": "BIGINT[]",
    "LIST of STRING": "VARCHAR[]",
    "MAP of STRING": "MAP(VARCHAR, INTEGER)",
}

CHDB: Final = {
    **{
        name: f"Nullable({kind})"
        for name, kind in (
            ("BOOLEAN", "Bool"),
            *((f"INT({bits}, signed)", f"Int{bits}") for bits in _SIZES),
            *((f"INT({bits}, unsigned)", f"UInt{bits}") for bits in _SIZES),
            ("FLOAT", "Float32"),
            ("DOUBLE", "Float64"),
            ("STRING", "String"),
            ("FIXED_LEN_BYTE_ARRAY(5)", "FixedString(5)"),
            *((f"DECIMAL({digits}, 2)", f"Decimal({digits}, 2)") for digits in (4, 9, 18, 38, 76)),
            ("DATE", "Date32"),
            ("TIME(ms)", "Time64(3)"),
            ("TIME(us)", "Time64(6)"),
            ("TIME(ns)", "Time64(9)"),
            ("TIMESTAMP(ms, UTC)", "DateTime64(3, 'UTC')"),
            ("TIMESTAMP(us, UTC)", "DateTime64(6, 'UTC')"),
            ("TIMESTAMP(ns, UTC)", "DateTime64(9, 'UTC')"),
        )
    },
    "ENUM": "Enum",
    "UUID": "Nullable(UUID)",
    "LIST of INT64": "Array(Int64)",
    "LIST of STRING": "Array(String)",
    "MAP of STRING": "Map(String, Nullable(Int32))",
    "STRUCT of INT64": "Tuple(x Nullable(Int64), y Nullable(Int32))",
    "STRUCT of STRING": "Tuple(x Nullable(String), y Nullable(Int32))",
}

SPARK: Final = {
    "BOOLEAN": "BOOLEAN",
    **dict(
        zip(
            (f"INT({bits}, signed)" for bits in _SIZES),
            ("TINYINT", "SMALLINT", "INT", "BIGINT"),
            strict=True,
        )
    ),
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "STRING": "STRING",
    "BYTE_ARRAY": "BINARY",
    **_DECIMALS,
    "DATE": "DATE",
    "TIME(us)": "TIME(6)",
    "TIMESTAMP(us)": "TIMESTAMP_NTZ",
    "TIMESTAMP(ms, UTC)": "TIMESTAMP",
    "TIMESTAMP(us, UTC)": "TIMESTAMP",
    "INT96": "TIMESTAMP",
    "STRUCT of INT64": "STRUCT<x: BIGINT, y: INT>",
    "STRUCT of STRING": "STRUCT<x: STRING, y: INT>",
    "LIST of INT64": "ARRAY<BIGINT>",
    "LIST of STRING": "ARRAY<STRING>",
    "MAP of STRING": "MAP<STRING, INT>",
}
del SPARK["DECIMAL(38, 2) as integer"]
