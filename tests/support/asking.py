"""What a probe says of one file in memory, and filters made to be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.probing.batch_reader import BatchReader
from parquet_bloomwriter.probing.footer_cache import CachedFooter, FileBatch
from parquet_bloomwriter.source import BufferSource, read_footer
from parquet_bloomwriter.verbs.probe import probe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.probing.report import FileProbe
    from parquet_bloomwriter.probing.verdict import Check
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.verbs.bloom_file import BloomFile


def asked(data: bytes, filters: Filters) -> FileProbe:
    """The one file of a report."""
    (found,) = probe(given_as(data), filters).files
    return found


def given_as(data: bytes) -> Any:  # noqa: ANN401  whatever `probe` takes
    """What `asked` gives to `probe`; tests may have files written instead."""
    return data


def check_of(data: bytes, filters: Filters, row_group: int = 0) -> Check:
    """The one condition in one row group."""
    (check,) = asked(data, filters).row_groups[row_group].checks
    return check


def found_in(
    file: BloomFile,
    column: str,
    values: Any,  # noqa: ANN401  of any library
    row_group: int | None = None,
) -> NDArray[np.bool_]:
    """What a file's filters say of several values."""
    found = file.might_contain(column, values, row_group=row_group)
    assert isinstance(found, np.ndarray)
    return found


def known(data: bytes, *ordinals: int) -> CachedFooter:
    """The footer, with some columns learned."""
    file = CachedFooter.of(read_footer(BufferSource(data)))
    file.learn(ordinals)
    return file


def batch_of(*files: bytes, ordinal: int = 0) -> tuple[FileBatch, BatchReader]:
    """Files taken together, and reads from them."""
    sources: list[Source] = [BufferSource(data) for data in files]
    return FileBatch.of([known(data, ordinal) for data in files]), BatchReader(sources)


def random_bits(
    seed: int, num_blocks: int, density: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
    """Blocks of a filter, most of them empty if the density is low; shape (z, 8)."""
    rng = np.random.default_rng(seed)
    bits = rng.random((num_blocks, 8, 32)) < density
    return np.packbits(bits, axis=-1, bitorder="little").view("<u4")[..., 0].copy()
