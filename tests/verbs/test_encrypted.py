"""Files with encrypted columns and a plaintext footer: other columns are asked, nothing changed."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from parquet_bloomwriter import (
    BloomFile,
    MalformedFile,
    UnsupportedFile,
    advise,
    bloomify,
    inspect,
    probe,
    read_table,
    repair,
    strip,
    verify,
)
from parquet_bloomwriter.index.build.group import filter_of_file
from tests.verbs.broken_filters import with_filter
from tests.verbs.files import filter_bytes, footer_of, listing, people, read, with_footer, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class KmsInMemory(pe.KmsClient):  # type: ignore[misc]  # pyarrow has no types
    """Wraps keys in nothing but their name."""

    def __init__(self, _config: object) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        """Put the name before the key."""
        return base64.b64encode(master_key_identifier.encode() + b":" + key_bytes)

    def unwrap_key(self, wrapped_key: str, _master_key_identifier: str) -> bytes:
        """Take the name away."""
        return base64.b64decode(wrapped_key).split(b":", 1)[1]


FACTORY = pe.CryptoFactory(KmsInMemory)
CONNECTION = pe.KmsConnectionConfig()


def encrypted(*, plaintext_footer: bool = True, **options: Any) -> bytes:  # noqa: ANN401  of pyarrow
    """Two row groups by pyarrow, the e-mail addresses encrypted."""
    configuration = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": ["email"]}, plaintext_footer=plaintext_footer
    )
    properties = FACTORY.file_encryption_properties(CONNECTION, configuration)
    return written(encryption_properties=properties, **options)


def decrypted(data: bytes) -> Any:  # noqa: ANN401  a table
    """What pyarrow reads with the keys; it checks the signature of the footer, too."""
    properties = FACTORY.file_decryption_properties(CONNECTION)
    return pq.read_table(io.BytesIO(data), decryption_properties=properties)


DATA = encrypted(write_page_index=True)
BLIND = encrypted(write_statistics=False, use_dictionary=False)
FILTERED = bloomify(written(write_statistics=False), ["id"]).data or b""


def with_filters(data: bytes, column: int) -> bytes:
    """The same file with the filters of ids; the signature is wrong then."""
    for row_group in (0, 1):
        data = with_filter(data, (row_group, column), filter_bytes(FILTERED, (row_group, 0)))
    return data


def surviving(data: bytes, predicate: str) -> tuple[int, ...]:
    return probe(data, predicate).files[0].surviving


def test_the_sample_is_encrypted_and_signed() -> None:
    assert decrypted(DATA).equals(people())
    with pytest.raises(OSError, match="decrypt"):
        read(DATA)
    assert b"user3@mail.example" not in DATA
    assert footer_of(DATA).is_signed
    assert footer_of(DATA).encrypted.tolist() == [[False, True, False]] * 2


def test_statistics_of_plaintext_columns_are_used() -> None:
    assert surviving(DATA, "id = 3") == (0,)
    assert surviving(DATA, "id = 900") == (1,)
    assert surviving(DATA, "id = 77777") == ()
    assert surviving(DATA, "id = 900 AND email = 'user900@mail.example'") == (1,)


@pytest.mark.parametrize("predicate", ["= 'user3@mail.example'", "= 'z'", "< 'a'", "IS NULL"])
def test_of_encrypted_columns_nothing_is_concluded(predicate: str) -> None:
    assert surviving(DATA, f"email {predicate}") == (0, 1)


def test_filters_of_plaintext_columns_are_used() -> None:
    data = with_filters(BLIND, 0)
    assert surviving(data, "id = 3") == (0,)
    assert surviving(data, "id = 77777") == ()
    with BloomFile(data) as file:
        assert file.might_contain("id", 900)
        assert not file.might_contain("id", 77_777)
    assert verify(data).passed
    assert len(inspect(data).filters) == len((0, 1))


def test_filters_of_encrypted_columns_are_not_taken_for_plaintext() -> None:
    data = with_filters(BLIND, 1)
    assert surviving(data, "email = 'nobody'") == (0, 1)
    assert inspect(data).filters == ()
    with BloomFile(data) as file:
        assert file.filter(0, "email") is None
        assert file.might_contain("email", "nobody")


@pytest.mark.parametrize("verb", [bloomify, strip, repair, advise])
def test_nothing_is_rewritten_since_the_footer_is_signed(
    verb: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(DATA)
    with pytest.raises(UnsupportedFile, match="the signature would be wrong"):
        verb(path)
    assert listing(tmp_path) == {"a.parquet": DATA}


def test_a_changed_footer_is_indeed_refused_by_readers_that_check_it() -> None:
    with pytest.raises(pa.ArrowInvalid, match="signature verification failed"):
        decrypted(with_filters(DATA, 0))


def test_rows_of_plaintext_columns_are_read() -> None:
    table = read_table(DATA, filters="id = 900 OR city = 'Oslo'", columns=["id", "city"])
    expected = people().select(["id", "city"])
    rows = [row for row in expected.to_pylist() if row["id"] == 900 or row["city"] == "Oslo"]
    assert table.to_pylist() == rows


def test_an_index_holds_plaintext_columns_only(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(DATA)
    assert not isinstance(filter_of_file(str(path), "id", fpp=0.01, max_bytes=1 << 20), str)
    reason = filter_of_file(str(path), "email", fpp=0.01, max_bytes=1 << 20)
    assert reason == "the column is encrypted"


def test_encrypted_footers_are_refused() -> None:
    data = encrypted(plaintext_footer=False)
    for ask in (inspect, bloomify, strip):
        with pytest.raises(
            UnsupportedFile, match=r"the footer is encrypted.*Only who has its keys can read it"
        ):
            ask(data)


@pytest.mark.parametrize("cut", [1, 28])
def test_a_signature_of_another_length_is_malformed(cut: int) -> None:
    with pytest.raises(MalformedFile, match="instead of a signature of 28"):
        inspect(with_footer(DATA, footer_of(DATA).data[:-cut]))
