"""Every test of a kernel runs on the C and on the reference."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter.kernels import CHOICE

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIANTS = ("baseline", "avx2", "avx512")


@pytest.fixture(scope="session")
def compiled() -> Any:  # noqa: ANN401  a module without types
    """Return the compiled kernels. Tests must not pass because they are missing."""
    return import_module("parquet_bloomwriter.kernels._compiled")


@pytest.fixture(scope="module", params=["reference", *VARIANTS])
def kernels(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return the reference, or the C with the vectors of one kind of processor."""
    if request.param == "reference":
        yield import_module("parquet_bloomwriter.kernels.reference")
        return
    module = request.getfixturevalue("compiled")
    if request.param not in module.variants():
        pytest.skip(f"this processor has no {request.param}")
    module.choose_variant(request.param)
    yield module
    module.choose_variant(module.variants()[-1])


@pytest.fixture(autouse=True)
def _no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have processes of the tests take the kernels that an installation takes."""
    monkeypatch.delenv(CHOICE, raising=False)
