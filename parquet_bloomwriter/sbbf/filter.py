"""One split block Bloom filter in memory.

The class only ties the parts together: `block` and `kernels` insert and check, `folding`
resizes and measures, `header` and `murmur` are the bytes. Many hashes take the kernels;
a single one takes plain Python, and never waits for a compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import native
from parquet_bloomwriter.errors import InvalidArgument, MalformedFilter
from parquet_bloomwriter.sbbf import folding, murmur
from parquet_bloomwriter.sbbf.block import (
    BYTES_PER_BLOCK,
    WORDS_PER_BLOCK,
    block_index,
    check_block,
    mask,
)
from parquet_bloomwriter.sbbf.header import Dialect, decode_header, encode_header

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.sbbf.sizing import Sizing

_WORD = np.dtype("<u4")
_CACHE_LINE = 64
_KERNELS = "sbbf.kernels"


class Sbbf:
    """A filter over 64-bit hashes: "might contain" or "does not contain".

    It does not hash. Give it the hashes that `parquet_bloomwriter.hashing` makes.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, blocks: NDArray[np.uint32]) -> None:
        """Wrap an array without copying it.

        Args:
            blocks: Shape (z, 8), little-endian uint32, contiguous. If it is read-only, so
                is the filter.

        Raises:
            InvalidArgument: If the array is of another kind.
        """
        if blocks.dtype != _WORD or blocks.shape != (len(blocks), WORDS_PER_BLOCK):
            raise InvalidArgument(f"{blocks.shape} {blocks.dtype} are not blocks of 8 x uint32")
        if not 0 < len(blocks) < 1 << 31 or not blocks.flags.c_contiguous:
            raise InvalidArgument("the blocks of a filter must be contiguous, and at least one")
        self._blocks = blocks

    @classmethod
    def empty(cls, num_blocks: int) -> Sbbf:
        """Make a filter of `num_blocks` blocks that contains nothing."""
        if not 0 < num_blocks < 1 << 31:
            raise InvalidArgument(f"a filter cannot have {num_blocks} blocks")
        size = num_blocks * BYTES_PER_BLOCK
        # Aligned so that no block straddles two cache lines.
        memory = np.zeros(size + _CACHE_LINE, dtype=np.uint8)
        start = -native.address(memory) % _CACHE_LINE
        words = memory[start : start + size].view(_WORD)
        return cls(words.reshape(num_blocks, WORDS_PER_BLOCK))

    @classmethod
    def from_bytes(cls, buf: bytes | bytearray | memoryview, dialect: Dialect = "xxhash") -> Sbbf:
        """Read a header and its bitset, which must fill `buf` exactly.

        The filter is a view of `buf`, so it can be inserted into only if `buf` can be
        written to. A filter of the "murmur3" dialect is a copy.

        Raises:
            MalformedFilter: If `buf` is anything else, or of a kind that is not supported.
        """
        header = decode_header(buf)
        size = memoryview(buf).nbytes
        if size != header.length + header.num_bytes:
            raise MalformedFilter(
                f"the Bloom filter header asks for {header.num_bytes} bytes of bitset, "
                f"but {size - header.length} are there"
            )
        if header.unsupported is not None:
            raise MalformedFilter(header.unsupported)
        if dialect == "xxhash" and header.compression is None:
            raise MalformedFilter("the Bloom filter is of a draft, which does not name its hash")
        words = np.frombuffer(buf, dtype=_WORD, offset=header.length)
        blocks = words.reshape(-1, WORDS_PER_BLOCK)
        return cls(blocks) if dialect == "xxhash" else cls(_from_draft(blocks))

    def to_bytes(self, dialect: Dialect = "xxhash") -> bytes:
        """Header and bitset, as they stand in a file.

        Raises:
            InvalidArgument: If the dialect is "murmur3" and the number of blocks is not a
                power of two.
        """
        blocks = self._blocks if dialect == "xxhash" else murmur.reorder(self._blocks)
        return encode_header(self.num_bytes, dialect=dialect) + blocks.tobytes()

    @property
    def blocks(self) -> NDArray[np.uint32]:
        """The blocks, shape (z, 8), uint32; not a copy."""
        return self._blocks

    @property
    def num_blocks(self) -> int:
        """Number of blocks, z."""
        return len(self._blocks)

    @property
    def num_bytes(self) -> int:
        """Bytes of the bitset, 32 z, without the header."""
        return self._blocks.nbytes

    def insert_hash(self, h: int) -> None:
        """Insert one 64-bit hash."""
        self._require_writable()
        self._blocks[block_index(h, self.num_blocks)] |= np.array(mask(h), dtype=_WORD)

    def check_hash(self, h: int) -> bool:
        """Whether the filter might contain the hash; False means it certainly does not."""
        return check_block(self._blocks[block_index(h, self.num_blocks)].tobytes(), h)

    def insert_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """Insert many hashes.

        Not for two threads at once on one filter: bits would be lost.

        Args:
            hashes: Shape (n,), uint64.
        """
        self._require_writable()
        hashes = _checked(hashes)
        native.kernels(_KERNELS).insert(
            native.address(self._blocks), self.num_blocks, native.address(hashes), len(hashes)
        )

    def check_hashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Like `check_hash` for many hashes, shape (n,), uint64; the result has shape (n,)."""
        flags = np.empty(len(hashes), dtype=np.bool_)
        self._count(hashes, native.address(flags))
        return flags

    def contains_all(self, hashes: NDArray[np.uint64]) -> bool:
        """Whether `check_hash` is true for every hash; true of none at all."""
        return self._count(hashes, 0) == len(hashes)

    def merge(self, other: Sbbf) -> Sbbf:
        """Union with another filter, of the smaller of both sizes.

        Raises:
            InvalidArgument: If the bigger size is no multiple of the smaller.
        """
        return Sbbf(folding.merge(self._blocks, other._blocks))

    def fold(self, factor: int) -> Sbbf:
        """The filter of z / factor blocks with the same values.

        Raises:
            InvalidArgument: If `factor` does not divide z.
        """
        return Sbbf(folding.fold(self._blocks, factor=factor))

    def fold_to_target_fpp(
        self, fpp: float, *, sizing: Sizing = "pow2", max_bytes: int | None = None
    ) -> Sbbf:
        """The smallest fold whose exact rate is within `fpp`.

        It is this filter itself if nothing smaller is.

        Args:
            fpp: Rate asked for, in (0, 1).
            sizing: "pow2" halves, "exact" takes any divisor of z.
            max_bytes: Largest bitset wanted; it wins over `fpp`.

        Raises:
            InvalidArgument: If no fold is within `max_bytes`.
        """
        blocks = folding.fold_to_rate(self._blocks, fpp, sizing=sizing, max_bytes=max_bytes)
        return self if blocks is self._blocks else Sbbf(blocks)

    def exact_fpp(self) -> float:
        """Chance that an absent value passes this very filter, in [0, 1]."""
        return folding.exact_rate(self._blocks)

    def fill(self) -> float:
        """Share of bits that are set, in [0, 1]."""
        return folding.count_bits(self._blocks) / (8 * self.num_bytes)

    def estimated_ndv(self) -> float:
        """Distinct values that leave as many bits set; infinite if all bits are."""
        return folding.estimate_ndv(folding.count_bits(self._blocks), self.num_blocks)

    def __eq__(self, other: object) -> bool:
        """Same size and same bits."""
        return isinstance(other, Sbbf) and np.array_equal(self._blocks, other._blocks)

    def __repr__(self) -> str:
        """Size only; the bits would fill pages."""
        return f"<Sbbf of {self.num_blocks} blocks>"

    def _count(self, hashes: NDArray[np.uint64], flags: int) -> int:
        hashes = _checked(hashes)
        count = native.kernels(_KERNELS).check(
            native.address(self._blocks),
            self.num_blocks,
            native.address(hashes),
            len(hashes),
            flags,
        )
        return int(count)

    def _require_writable(self) -> None:
        # The kernels write through addresses, where NumPy cannot stop them.
        if not self._blocks.flags.writeable:
            raise InvalidArgument("the filter is a view of read-only memory")


def _checked(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    if hashes.dtype != np.uint64 or hashes.ndim != 1:
        raise InvalidArgument(f"{hashes.ndim}-d {hashes.dtype} is not a 1-d array of uint64")
    return np.ascontiguousarray(hashes)


def _from_draft(blocks: NDArray[np.uint32]) -> NDArray[np.uint32]:
    try:
        return murmur.reorder(blocks)
    except InvalidArgument as error:
        raise MalformedFilter(error.problem) from error
