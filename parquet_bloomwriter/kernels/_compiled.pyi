# ruff: noqa: PYI021  functions of C have no other docstrings
"""The kernels in C that read files; the others have the types of the reference."""

from parquet_bloomwriter.kernels.reference.buffers import Buffer, Int

def walk_file(
    descriptor: Int, pos: Int, limit: Int, num_values: Int, schema: Buffer, pages: Buffer
) -> tuple[int, int, int, int, int, int]:
    """Note the pages of a column chunk in an open file, of which only the headers are read.

    Args:
        descriptor: Of the file.
        pos: Absolute position of the first page header.
        limit: Absolute position before which pages end.
        num_values: The walk ends when data pages have so many values.
        schema: Of a PageHeader: see `layout`.
        pages: To be written: int64, shape (n, `PAGE_COLUMNS`), aligned.

    Returns:
        The number of the problem, of `layout.PROBLEMS`, or 0, or `FULL` if there are more than n
        pages; the position behind the last page that was noted; how many were noted; how many
        values are still to be found; and the number of reads, and of bytes that were read.
    """

def read_pieces(descriptors: Buffer, starts: Buffer, size: Int, target: Buffer) -> int:
    """Read pieces of one size, one behind the other.

    Args:
        descriptors: File descriptors, int64, shape (n,), aligned.
        starts: Absolute positions in the files, int64, shape (n,), aligned.
        size: Of each piece, bytes.
        target: To be written, n times `size` bytes.

    Returns:
        How many pieces were read completely, before the first that was not.
    """

def probe_usual(tasks: Buffer) -> int:
    """Look one hash up in each of some filters with the header that every known writer makes.

    Args:
        tasks: int64, shape (n, `TASK_WORDS`), aligned; see `layout`.

    Returns:
        How many filters are `ODD`.
    """

def probe_groups(groups: Buffer, starts: Buffer, answers: Buffer) -> int:
    """Look one hash up in all members of each of some groups of filters with checksums.

    Args:
        groups: int64, shape (n, `GROUP_WORDS`), aligned; see `layout`.
        starts: Absolute positions of the bitsets of all members, int64, aligned.
        answers: To be written, a byte for each answer.

    Returns:
        How many groups are not `AS_WRITTEN`.
    """
