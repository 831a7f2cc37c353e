"""From the files of a table to the work on them: what their footers say, tasks, the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.build.survey import Limits, survey
from parquet_bloomwriter.index.engine import BuildPlan, ColumnPlan, FileTask
from parquet_bloomwriter.index.report import LeftOut
from parquet_bloomwriter.sbbf import initial_num_blocks
from parquet_bloomwriter.text import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_bloomwriter.index.config import Recipe
    from parquet_bloomwriter.index.files import FileId

TOO_MANY = "more values are expected than the largest Bloom filter can tell apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed:
    """Files of a table, and what their footers say."""

    files: tuple[tuple[FileId, int], ...]
    """Those that can be read, with their rows."""

    left_out: tuple[LeftOut, ...]
    """The others. No version knows them, so that the next refresh looks at them again."""

    num_values: Mapping[str, int]
    """Of each column in all these files, nulls included."""

    has_global: Mapping[str, bool]
    """By column, whether a filter of all values could be of any use."""


def surveyed(
    root: str, files: Sequence[FileId], recipe: Recipe, *, strict: bool = True
) -> Surveyed:
    """Look at files, and check that an index of them can be made.

    Args:
        root: What their paths are relative to, absolute.
        files: The files.
        recipe: The columns, and limits.
        strict: Whether there must be a file with each column.

    Raises:
        InvalidArgument: If that is not so, the index would be too large, or a file cannot be read
            though the contract asks for all of them.
    """
    limits = Limits(max_file_bytes=recipe.max_file_bytes, max_total_bytes=recipe.max_total_bytes)
    found = survey(root, files, recipe.columns, limits=limits, origin=recipe.origin, strict=strict)
    rows = zip(files, found.num_rows.tolist(), strict=True)
    left_out = tuple(
        LeftOut(path=file.path, reason=why) for file, why in sorted(found.unreadable.items())
    )
    check_complete(recipe, left_out)
    return Surveyed(
        files=tuple((file, num_rows) for file, num_rows in rows if file not in found.unreadable),
        left_out=left_out,
        num_values={column.name: column.num_values for column in found.columns},
        has_global={column.name: column.global_blocks is not None for column in found.columns},
    )


def check_complete(recipe: Recipe, left_out: Sequence[LeftOut]) -> None:
    """Check that a version knows all files, if lookups take the table for what it knows.

    Raises:
        InvalidArgument: If that is not so.
    """
    if recipe.contract != "immutable" or not left_out:
        return
    first = left_out[0]
    raise InvalidArgument(
        "lookups by an immutable index find only files that it knows, and "
        f"{count(len(left_out), 'file')} cannot be indexed; {first.path}: {first.reason}",
        remedy="Leave such files out of the table, or create the index with the contract checked.",
    )


def tasks_of(found: Surveyed, first_id: int) -> list[FileTask]:
    """Give files their ids, from the first on."""
    return [
        FileTask(file_id=file_id, file=file, num_rows=num_rows)
        for file_id, (file, num_rows) in enumerate(found.files, first_id)
    ]


def plan_of(
    recipe: Recipe, num_distinct: Mapping[str, int], *, root: str, folder: str
) -> BuildPlan:
    """Make the plan of a version.

    Args:
        recipe: How the index is made.
        num_distinct: By column, the distinct values that partial filters of all files are made
            for; columns that are not named get none.
        root: Of the table, absolute.
        folder: The version's, absolute.
    """
    columns = tuple(
        ColumnPlan(
            name=column.name,
            fpp=column.fpp,
            max_bytes=recipe.max_file_bytes,
            global_blocks=(
                initial_num_blocks(num_distinct[column.name], column.fpp)
                if column.name in num_distinct
                else None
            ),
        )
        for column in recipe.columns
    )
    return BuildPlan(root=root, folder=folder, columns=columns, origin=recipe.origin)
