"""An object on S3 as a source of bytes: every range is of the one version that was opened.

Opening costs one request, for the end of the object, which also tells its size, its ETag and its
attributes. Later requests carry that ETag: if another program writes the object meanwhile, reading
ends with FileChanged, and never mixes two versions.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import FileProblem, NotParquet, StoreProblem
from parquet_bloomwriter.stores.reader import ObjectReader
from parquet_bloomwriter.stores.s3.answers import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.stores.s3.answers import ObjectState
    from parquet_bloomwriter.stores.s3.bucket import S3Bucket


class S3Source(ObjectReader):
    """One version of an object."""

    def __init__(self, bucket: S3Bucket, state: ObjectState, tail: bytes) -> None:
        """Read the object of this state, whose last bytes are known."""
        super().__init__(
            state.size,
            name=str(state.path),
            identity=(bucket.endpoint, state.path, state.etag),
        )
        self.bucket = bucket
        self.state = state
        self._kept = (state.size - len(tail), tail)

    def hold_all(self) -> None:
        """Read what is not known yet by one request, and keep the whole object."""
        start, tail = self._kept
        if start:
            self._kept = (0, self._whole(0, start, self._fetch(0, start)) + tail)

    def _request(self, start: int, stop: int) -> bytes:
        state = self.state
        data, now = self.bucket.read(state.path.key, start, stop, if_match=state.etag)
        if now.size != state.size:
            raise StoreProblem(
                f"the store says that one version of the object has {state.size} bytes, and then "
                f"{now.size}",
                path=str(state.path),
                remedy="Reach the store without a proxy between.",
            )
        return data


@contextmanager
def open_object(bucket: S3Bucket, key: str) -> Iterator[S3Source]:
    """Open an object by reading its end.

    Raises:
        NotParquet: If it is empty.
        FileNotFoundError: If there is none.
        StoreProblem: If the store refuses, or does not answer.
        FileProblem: What reading it raises, with its name.
    """
    try:
        tail, state = bucket.read(key, None, S3Source.tail_bytes)
    except StoreProblem as error:
        refusal = error.__cause__
        if isinstance(refusal, Refusal) and refusal.code == "InvalidRange":
            raise NotParquet("the object is empty", path=bucket.spell(key)) from None
        raise
    try:
        yield S3Source(bucket, state, tail)
    except FileProblem as error:  # It says itself what became of the object.
        error.path = error.path or str(state.path)
        raise
