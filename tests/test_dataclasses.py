"""What crosses a boundary cannot be changed behind the back of who made it."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from importlib import import_module
from pkgutil import walk_packages

import parquet_bloomwriter

PACKAGES = (
    *("sbbf", "hashing", "compact", "metadata", "source", "values", "filters", "rewrite"),
    *("replace", "predicate", "probing", "index"),
)
MUTABLE = {
    "filters.lookups.Lookups",
    "replace.temporary.Temporary",
    "probing.bloom._Probe",
    "rewrite.new_filters.Candidates",
    "rewrite.new_filters.ChunkWork",
    "probing.evaluation.Finding",
    "predicate.bind.Domains",
    "probing.batch_reader.BatchReader",
    "probing.bindings.Bindings",
    "probing.files._Opened",
    "probing.footer_cache.BitsetPlaces",
    "probing.bindings.LogicalBindings",
    "probing.footer_cache.CachedFooter",
}
"""Dataclasses that hold the state of work under way."""


def test_dataclasses_are_frozen_but_those_of_work_under_way() -> None:
    prefix = f"{parquet_bloomwriter.__name__}."
    names = [module.name for module in walk_packages(parquet_bloomwriter.__path__, prefix)]
    modules = [name for name in names if name.removeprefix(prefix).split(".")[0] in PACKAGES]
    classes = {
        f"{name}.{one.__name__}".removeprefix(prefix): one
        for name in modules
        for _, one in inspect.getmembers(import_module(name), inspect.isclass)
        if is_dataclass(one) and one.__module__ == name
    }
    assert len(classes) > 50
    unfrozen = {
        name
        for name, one in classes.items()
        if not one.__dataclass_params__.frozen  # type: ignore[attr-defined]  # unknown to mypy
    }
    assert unfrozen <= MUTABLE
