"""What Python and the compiled loop `kernels.probe_usual` pass to each other.

A module of its own, so that numba is imported only to compile. A task is `TASK_WORDS` int64
numbers:

    word  0  in      file descriptor
          1  in      `bloom_filter_offset`
          2  in      `bloom_filter_length`, bytes
          3  in      absolute position of the footer
          4  in      hash
          5  in/out  absolute position of the bitset
          6  in/out  size of the bitset, bytes; 0 while unknown
          7  out     answer: `NOT_IN`, `MIGHT_BE_IN`, `EMPTY` or `ODD`, plus `WITH_HEADER`
"""

from __future__ import annotations

TASK_WORDS = 8

PIECE_BYTES = 32
"""Bytes of a block, and bytes read for a header. A header with its bitset is always longer."""

NOT_IN, MIGHT_BE_IN, EMPTY, ODD = 0, 1, 2, 3
"""Answers: the hash is not in the filter; might be in it; is not in it, and its block has no bit
set; the filter does not have the usual header, or could not be read."""

WITH_HEADER = 4
"""Added to an answer if the header was read for it."""
