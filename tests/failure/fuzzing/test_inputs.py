"""What fuzzing found, and a share of what it tries, through the same functions, without Atheris."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from campaigns.fuzzing import targets
from campaigns.fuzzing.campaign import Fuzzing
from campaigns.fuzzing.files import INPUTS, seeds
from campaigns.fuzzing.garbage import text
from campaigns.fuzzing.targets import TARGETS, Wrong
from campaigns.harness import Plan, run

if TYPE_CHECKING:
    from pathlib import Path

_TEXTS = 500
_MUTATIONS = {"footer": 150, "header": 500, "probe": 120, "sql": 200}


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_found_stays_mended(target: str) -> None:
    inputs = list(seeds(target))
    assert len(inputs) > 10
    for data in inputs:
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_mutations_are_answered_or_refused(target: str) -> None:
    inputs = list(seeds(target))
    for number in range(_MUTATIONS[target]):
        data = mutated(inputs[number % len(inputs)], number)
        try:
            TARGETS[target](data)
        except Exception as error:
            raise AssertionError(f"{target}: bytes.fromhex({data.hex()!r})") from error


def mutated(data: bytes, number: int) -> bytes:
    """Change, take out or put in some bytes; the same ones for the same number."""
    chosen = random.Random(number)  # noqa: S311  nothing secret
    new = bytearray(data)
    for _ in range(chosen.randint(1, 4)):
        at, size = chosen.randrange(len(new) + 1), chosen.randint(0, 3)
        new[at : at + size] = chosen.randbytes(chosen.randint(0, 3))
    return bytes(new)


def test_texts_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with Fuzzing(Plan(scratch=tmp_path)) as fuzzing:
        found = run(fuzzing, [f"garbage/{number}" for number in range(_TEXTS)])["garbage"]
    assert found.problems == []
    assert found.tried == _TEXTS
    assert text(7) == text(7) != text(8)


def test_every_input_belongs_to_a_target() -> None:
    assert {folder.name for folder in INPUTS.iterdir()} <= set(TARGETS)


def test_a_loop_that_differs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = targets.compiled.scan

    def off_by_one(*arguments: Any) -> object:  # noqa: ANN401  as the kernel
        problem, stop, rows = honest(*arguments)
        return problem, stop + 1, rows

    seed = next(iter(seeds("footer")))
    monkeypatch.setattr(targets.compiled, "scan", off_by_one)
    with pytest.raises(Wrong, match="the reference says"):
        targets.footer(seed)
