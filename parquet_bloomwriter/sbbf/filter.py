"""One split block Bloom filter in memory.

The class `Sbbf` connects the parts. `hashing` hashes values, `block` inserts and checks one hash,
the kernels insert and check many hashes, `folding` resizes and measures, and `header` and `murmur`
read and write bytes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.errors import InvalidArgument, MalformedFilter
from parquet_bloomwriter.hashing import (
    HashKind,
    equal_plains,
    hash_array,
    hash_plain,
    plain_bytes,
    special_floats,
)
from parquet_bloomwriter.sbbf import folding, murmur
from parquet_bloomwriter.sbbf.block import (
    BYTES_PER_BLOCK,
    WORDS_PER_BLOCK,
    block_index,
    check_block,
    mask,
)
from parquet_bloomwriter.sbbf.header import decode_header, encode_header
from parquet_bloomwriter.sbbf.sizing import num_blocks_for

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.sbbf.sizing import Sizing

    Value: TypeAlias = float | str | bytes | np.integer | np.floating
    """One value as a column stores it; NumPy's scalars count as Python's."""

_WORD = np.dtype("<u4")
_CACHE_LINE = 64


class Sbbf:
    """A split block Bloom filter of values or of their 64-bit hashes.

        ids = Sbbf.with_ndv_fpp(1_000_000, 0.01)
        ids.insert(42, "INT64")
        ids.check(42, "INT64")         # True: the filter might contain it
        ids.check(43, "INT64")         # False: it certainly does not

    The answers are "might contain" and "does not contain"; the second answer is never wrong. Give
    values with their physical type (`insert`, `check`), as Arrow arrays (`insert_array`,
    `check_array`), or as hashes (`insert_hash`, `insert_hashes` ...).

    A filter has a hash function: XXH64 by default, or MurmurHash3 with a seed, as in the drafts of
    the specification (`dialect="murmur3"`). The filter hashes values with this function. Hashes
    that are given must be results of the same function (see `parquet_bloomwriter.hashing`).

    Source: Parquet specification, "Bloom Filter". docs/reference/filter.md has the sizes, and the
    names in other implementations.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        blocks: NDArray[np.uint32],
        *,
        dialect: Dialect = "xxhash",
        murmur3_seed: int = 0,
    ) -> None:
        """Wrap an array without copying it.

        Args:
            blocks: Shape (z, 8), little-endian uint32, contiguous. If the array is read-only, the
                filter is read-only, too.
            dialect: "xxhash" for the released specification, "murmur3" for its drafts.
            murmur3_seed: Seed of MurmurHash3, 0 to 2**32 - 1. The drafts do not name a seed.

        Raises:
            InvalidArgument: If the array has another shape or type, or the hash function is
                unknown.
        """
        if blocks.dtype != _WORD or blocks.shape != (len(blocks), WORDS_PER_BLOCK):
            raise InvalidArgument(f"{blocks.shape} {blocks.dtype} are not blocks of 8 x uint32")
        if not 0 < len(blocks) < 1 << 31 or not blocks.flags.c_contiguous:
            raise InvalidArgument("the blocks of a filter must be contiguous, and at least one")
        self._blocks = blocks
        self._kind = HashKind(dialect, murmur3_seed)

    @classmethod
    def empty(cls, num_blocks: int, *, dialect: Dialect = "xxhash", murmur3_seed: int = 0) -> Sbbf:
        """Make an empty filter of `num_blocks` blocks.

        Args:
            num_blocks: Number of blocks of 32 bytes, z, in [1, 2**31).
            dialect: As for the constructor.
            murmur3_seed: As for the constructor.

        Raises:
            InvalidArgument: If an argument is out of range.
        """
        if not 0 < num_blocks < 1 << 31:
            raise InvalidArgument(f"a filter cannot have {num_blocks} blocks")
        size = num_blocks * BYTES_PER_BLOCK
        # Aligned so that no block straddles two cache lines.
        memory = np.zeros(size + _CACHE_LINE, dtype=np.uint8)
        start = -memory.__array_interface__["data"][0] % _CACHE_LINE
        words = memory[start : start + size].view(_WORD)
        blocks = words.reshape(num_blocks, WORDS_PER_BLOCK)
        return cls(blocks, dialect=dialect, murmur3_seed=murmur3_seed)

    @classmethod
    def with_ndv_fpp(  # noqa: PLR0913  all but the first two by keyword
        cls,
        ndv: int,
        fpp: float,
        *,
        sizing: Sizing = "pow2",
        max_bytes: int | None = None,
        dialect: Dialect = "xxhash",
        murmur3_seed: int = 0,
    ) -> Sbbf:
        """Make an empty filter whose size fits a number of distinct values and a rate.

        If `ndv` distinct values are inserted, an absent value passes with a probability of at most
        `fpp`. The size follows from the exact rate (see `num_blocks_for`), not from the classic
        formula.

        Args:
            ndv: Number of distinct values that will be inserted.
            fpp: False positive probability, in (0, 1).
            sizing: "pow2" for powers of two from 64 bytes, "exact" for any multiple of 32 bytes.
            max_bytes: Largest bitset, bytes; by default 128 MiB. This limit overrides `fpp`.
            dialect: As for the constructor.
            murmur3_seed: As for the constructor.

        Raises:
            InvalidArgument: If an argument is out of range, or if `sizing` is "exact" and `dialect`
                is "murmur3", whose sizes are powers of two.
        """
        if dialect == "murmur3" and sizing != "pow2":
            raise InvalidArgument("filters of the Murmur3 drafts have sizes of powers of two")
        num_blocks = num_blocks_for(ndv, fpp, sizing=sizing, max_bytes=max_bytes)
        return cls.empty(num_blocks, dialect=dialect, murmur3_seed=murmur3_seed)

    @classmethod
    def from_bytes(
        cls,
        buf: bytes | bytearray | memoryview,
        dialect: Dialect = "xxhash",
        *,
        murmur3_seed: int = 0,
    ) -> Sbbf:
        """Read a header and its bitset, which must fill `buf` exactly.

        The filter is a view of `buf`. So values can be inserted only if `buf` is writable. A filter
        of the "murmur3" dialect is a copy.

        Args:
            buf: The bytes of a filter in a file: header and bitset.
            dialect: "murmur3": a header without compression, which does not name its hash, counts
                as a header of the Murmur3 drafts.
            murmur3_seed: As for the constructor.

        Raises:
            MalformedFilter: If `buf` is not a filter, or the kind of filter is not supported.
            InvalidArgument: If the hash function is unknown.
        """
        header = decode_header(buf)
        size = memoryview(buf).nbytes
        if size != header.filter_length:
            raise MalformedFilter(
                f"the Bloom filter header asks for {header.num_bytes} bytes of bitset, "
                f"but {size - header.length} are there"
            )
        if header.unsupported is not None:
            raise MalformedFilter(header.unsupported)
        if dialect == "xxhash" and header.compression is None:
            raise MalformedFilter("the Bloom filter is of a draft, which does not name its hash")
        if dialect == "murmur3" and header.not_of_a_draft is not None:
            raise MalformedFilter(header.not_of_a_draft)
        words = np.frombuffer(buf, dtype=_WORD, offset=header.length)
        blocks = words.reshape(-1, WORDS_PER_BLOCK)
        if dialect == "murmur3":
            blocks = murmur.reorder(blocks)
        return cls(blocks, dialect=dialect, murmur3_seed=murmur3_seed)

    def to_bytes(self) -> bytes:
        """Return the bytes of the filter in a file: header and bitset.

        Raises:
            InvalidArgument: If the dialect is "murmur3" and the size is not a power of two above 32
                bytes.
        """
        header = encode_header(self.num_bytes, dialect=self.dialect)
        blocks = self._blocks if self.dialect == "xxhash" else murmur.reorder(self._blocks)
        return b"".join((header, np.ascontiguousarray(blocks).data.cast("B")))  # with one copy

    @property
    def dialect(self) -> Dialect:
        """The hash function: "xxhash", or "murmur3" for filters of the drafts."""
        return self._kind.dialect

    @property
    def murmur3_seed(self) -> int:
        """Seed of MurmurHash3; 0 for "xxhash"."""
        return self._kind.murmur3_seed

    @property
    def blocks(self) -> NDArray[np.uint32]:
        """The bits: blocks of eight words, shape (z, 8), uint32; not a copy.

        In files, the blocks of filters of the Murmur3 drafts are in another order: see
        `parquet_bloomwriter.sbbf.murmur`.
        """
        return self._blocks

    @property
    def num_blocks(self) -> int:
        """Number of blocks, z."""
        return len(self._blocks)

    @property
    def num_bytes(self) -> int:
        """Size of the bitset without the header, 32 z, bytes."""
        return self._blocks.nbytes

    def insert(
        self,
        value: Value,
        physical_type: str | None = None,
        *,
        type_length: int | None = None,
    ) -> None:
        """Insert one value, in the form in which a column of its type stores it.

        If the value is a zero, the other zero is inserted, too; if it is a NaN, the canonical NaN
        is inserted, too, because these values are equal for readers.

        Args:
            value: The value, already converted from the logical to the physical type: days for a
                DATE, the unscaled integer for a DECIMAL in INT32 or INT64, and so on.
            physical_type: Name of the physical type in the Parquet specification, such as "INT32".
                The default for text and bytes is "BYTE_ARRAY". There is no default for numbers,
                because the bytes and the hash of 42 as INT32 are not those of 42 as INT64.
            type_length: Length of a FIXED_LEN_BYTE_ARRAY, bytes; checked if given.

        Raises:
            InvalidArgument: If such a column cannot store the value, if no type is given for a
                number, or if the filter is a view of read-only memory.
        """
        for plain in _plains(value, physical_type, type_length):
            self.insert_hash(hash_plain(plain, self._kind))

    def check(
        self,
        value: Value,
        physical_type: str | None = None,
        *,
        type_length: int | None = None,
    ) -> bool:
        """Return whether the filter might contain a value; False means that it certainly does not.

        For a zero, the answer is True if the filter might contain either zero. For a NaN, the
        answer is always True, because NaN has many bit patterns, and writers insert them unchanged.

        Args:
            value: As for `insert`.
            physical_type: As for `insert`.
            type_length: As for `insert`.

        Raises:
            InvalidArgument: If such a column cannot store the value, or if no type is given for a
                number.
        """
        plains = _plains(value, physical_type, type_length)
        if isinstance(value, float | np.floating) and math.isnan(value):
            return True
        return any(self.check_hash(hash_plain(plain, self._kind)) for plain in plains)

    def insert_array(self, array: pa.Array | pa.ChunkedArray) -> None:
        """Insert every value of an Arrow array except nulls, by the rules of `insert`.

        Args:
            array: Values in the form in which Parquet stores them: int32, int64, float32, float64,
                (large_)binary, (large_)string, binary_view, string_view, fixed_size_binary, or a
                dictionary of one of these types.

        Raises:
            InvalidArgument: If the array has another type, or the filter is a view of read-only
                memory.
        """
        for chunk in _chunks(array):
            self.insert_hashes(hash_array(chunk, self._kind))
            for plain in special_floats(chunk):
                self.insert_hash(hash_plain(plain, self._kind))

    def check_array(self, array: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
        """Check every value of an Arrow array, by the rules of `check`.

        Args:
            array: As for `insert_array`, n values.

        Returns:
            An array of shape (n,): False for values that are certainly not contained. The answer
            for nulls, which are in no filter, is True.

        Raises:
            InvalidArgument: If the array has another type.
        """
        chunks = [self._check_chunk(chunk) for chunk in _chunks(array)]
        return np.concatenate([np.empty(0, np.bool_), *chunks])

    def insert_hash(self, h: int) -> None:
        """Insert one hash.

        Args:
            h: Unsigned 64-bit integer, a result of the filter's hash function.

        Raises:
            InvalidArgument: If the hash is out of range, or the filter is a view of read-only
                memory.
        """
        self._require_writable()
        _check_hash(h)
        self._blocks[block_index(h, self.num_blocks)] |= np.array(mask(h), dtype=_WORD)

    def check_hash(self, h: int) -> bool:
        """Return whether the filter might contain a hash; False means that it certainly does not.

        Args:
            h: Unsigned 64-bit integer, a result of the filter's hash function.

        Raises:
            InvalidArgument: If the hash is out of range.
        """
        _check_hash(h)
        return check_block(self._blocks[block_index(h, self.num_blocks)].tobytes(), h)

    def insert_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """Insert many hashes.

        Two threads must not insert into one filter at the same time, because bits would be lost.

        Args:
            hashes: Shape (n,), uint64.

        Raises:
            InvalidArgument: If the array has another shape or type, or if the filter is a view of
                read-only memory.
        """
        self._require_writable()
        kernels.insert(self._blocks, _checked(hashes))

    def check_hashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Check many hashes, by the rule of `check_hash`.

        Args:
            hashes: Shape (n,), uint64.

        Returns:
            An array of shape (n,): False for hashes that are certainly not contained.

        Raises:
            InvalidArgument: If the array has another shape or type.
        """
        flags = np.empty(len(hashes), dtype=np.bool_)
        kernels.check(self._blocks, _checked(hashes), flags)
        return flags

    def contains_all(self, hashes: NDArray[np.uint64]) -> bool:
        """Return whether `check_hash` is true for every hash; True for an empty array.

        Args:
            hashes: Shape (n,), uint64.

        Raises:
            InvalidArgument: If the array has another shape or type.
        """
        return kernels.check(self._blocks, _checked(hashes), None) == len(hashes)

    def merge(self, other: Sbbf) -> Sbbf:
        """Return the union with another filter, in the smaller of both sizes.

        Raises:
            InvalidArgument: If the larger size is not a multiple of the smaller size, or if the
                filters have different hash functions.
        """
        if self._kind != other._kind:
            raise InvalidArgument("filters with different hash functions cannot be merged")
        return self._like(folding.merge(self._blocks, other._blocks))

    def fold(self, factor: int) -> Sbbf:
        """Return the filter of z / factor blocks with the same values.

        The result equals, bit for bit, a filter of that size into which the same values were
        inserted.

        Args:
            factor: Number of neighbouring blocks that are merged into one block.

        Raises:
            InvalidArgument: If `factor` does not divide z.
        """
        return self._like(folding.fold(self._blocks, factor=factor))

    def fold_to_target_fpp(
        self, fpp: float, *, sizing: Sizing = "pow2", max_bytes: int | None = None
    ) -> Sbbf:
        """Return the smallest fold whose exact rate is not above `fpp`.

        If every smaller fold has a higher rate, the result is this filter itself. If you do not
        know the number of values, make the filter too large, insert all values, and fold it.

        Args:
            fpp: Rate asked for, in (0, 1).
            sizing: "pow2": fold by powers of two only; "exact": fold by any divisor of z.
            max_bytes: Largest bitset, bytes. This limit overrides `fpp`.

        Raises:
            InvalidArgument: If `fpp` is not a probability, or if no fold is within `max_bytes`.
        """
        blocks = folding.fold_to_rate(self._blocks, fpp, sizing=sizing, max_bytes=max_bytes)
        return self if blocks is self._blocks else self._like(blocks)

    def exact_fpp(self) -> float:
        """Return the probability that an absent value passes this filter, in [0, 1].

        The rate is counted from the bits of this filter. `expected_fpp` is the mean rate of all
        filters with the same number of values.
        """
        return folding.exact_rate(self._blocks)

    def fill(self) -> float:
        """Return the share of bits that are set, in [0, 1]."""
        return folding.count_bits(self._blocks) / (8 * self.num_bytes)

    def estimated_ndv(self) -> float:
        """Estimate the number of distinct values from the bits; infinite if all bits are set."""
        return folding.estimate_ndv(folding.count_bits(self._blocks), self.num_blocks)

    def __eq__(self, other: object) -> bool:
        """Compare size, bits and hash function."""
        return (
            isinstance(other, Sbbf)
            and self._kind == other._kind
            and np.array_equal(self._blocks, other._blocks)
        )

    def __repr__(self) -> str:
        """Return the size, without the bits."""
        return f"<Sbbf of {self.num_blocks} blocks>"

    def _like(self, blocks: NDArray[np.uint32]) -> Sbbf:
        """Return a filter with other bits and the same hash function."""
        return Sbbf(blocks, dialect=self.dialect, murmur3_seed=self.murmur3_seed)

    def _check_chunk(self, array: pa.Array) -> NDArray[np.bool_]:
        from pyarrow import types

        might = np.ones(len(array), np.bool_)
        might[np.asarray(array.is_valid())] = self.check_hashes(hash_array(array, self._kind))
        if types.is_floating(array.type):
            floats = array.to_numpy(zero_copy_only=False)
            physical_type = "FLOAT" if types.is_float32(array.type) else "DOUBLE"
            might[floats == 0] = self.check(0.0, physical_type)
            might[np.isnan(floats)] = True
        return might

    def _require_writable(self) -> None:
        if not self._blocks.flags.writeable:
            raise InvalidArgument("the filter is a view of read-only memory")


def _check_hash(h: int) -> None:
    if not 0 <= h < 1 << 64:
        raise InvalidArgument(f"a hash is an unsigned 64-bit integer, and {h} is none")


def _checked(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    if hashes.dtype != np.uint64 or hashes.ndim != 1:
        raise InvalidArgument(f"{hashes.ndim}-d {hashes.dtype} is not a 1-d array of uint64")
    return np.ascontiguousarray(hashes)


def _plains(value: Value, physical_type: str | None, type_length: int | None) -> tuple[bytes, ...]:
    """Return the PLAIN bytes of a value, and of the values that readers take to be equal to it."""
    if physical_type is None:
        if not isinstance(value, str | bytes):
            raise InvalidArgument(
                f"the type of {value!r} in the column is not given",
                remedy='Name its physical type, such as "INT64" or "DOUBLE".',
            )
        physical_type = "BYTE_ARRAY"
    scalar = value.item() if isinstance(value, np.generic) else value
    return equal_plains(plain_bytes(scalar, physical_type, type_length=type_length), physical_type)


def _chunks(array: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """Return the chunks of an array, with dictionaries resolved."""
    import pyarrow as pa

    if not isinstance(array, pa.Array | pa.ChunkedArray):
        raise InvalidArgument(
            f"{type(array).__name__} is not an Arrow array",
            remedy="Make one with pyarrow.array(values, type).",
        )
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    return [
        chunk.dictionary_decode() if isinstance(chunk, pa.DictionaryArray) else chunk
        for chunk in chunks
    ]
