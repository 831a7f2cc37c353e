"""The command `bloomify`: parses arguments, calls one verb, prints one report.

Whoever imports `bloomify` in Python means the library: its names are those of
`parquet_bloomwriter`, which is imported when the first of them is asked for.
"""


def __getattr__(name: str) -> object:
    """Return the public name of the library."""
    import parquet_bloomwriter

    try:
        return getattr(parquet_bloomwriter, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    import parquet_bloomwriter

    return [*globals(), *parquet_bloomwriter.__all__]
