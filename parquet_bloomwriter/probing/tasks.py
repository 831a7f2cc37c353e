"""What Python and the compiled loop `kernels.probe_usual` say to each other, without numba.

A task is `TASK_WORDS` int64 numbers, in this order: file descriptor, `bloom_filter_offset`,
`bloom_filter_length`, position of the footer, hash; in and out, position and size of the bitset
(0 while unknown); and, out, the answer.
"""

from __future__ import annotations

TASK_WORDS = 8

PIECE_BYTES = 32
"""Bytes of a block, and bytes read for a header: fewer than any header with its bitset has."""

NOT_IN, MIGHT_BE_IN, EMPTY, ODD = 0, 1, 2, 3
"""Answers: the hash is not in the filter; might be in it; is not in it, and its block has no bit at
all; the filter is none of the usual ones, or could not be read."""

WITH_HEADER = 4
"""Added to an answer if the header was read for it."""
