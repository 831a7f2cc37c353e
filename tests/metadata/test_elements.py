"""The parts of lists and maps, by the names of all writers."""

from __future__ import annotations

from parquet_bloomwriter.metadata import Leaf, PhysicalType, Repetition
from parquet_bloomwriter.metadata.elements import holds_parts, leaves_by_part

_REPETITIONS = {"": Repetition.OPTIONAL, "!": Repetition.REQUIRED, "*": Repetition.REPEATED}


def leaves_of(*paths: str) -> list[Leaf]:
    """Make leaves of dotted paths, in which a repeated field has a star, a required one a !."""
    found = []
    for ordinal, path in enumerate(paths):
        names = path.split(".")
        found.append(
            Leaf(
                ordinal=ordinal,
                path=tuple(name.rstrip("!*") for name in names),
                repetitions=tuple(
                    _REPETITIONS[name.lstrip("abcdefghijklmnopqrstuvwxyz_")] for name in names
                ),
                physical_type=PhysicalType.INT32,
                type_length=None,
                converted_type=None,
                scale=None,
                precision=None,
                logical_type=b"",
            )
        )
    return found


def parts(*paths: str) -> dict[str, list[str]]:
    """Return the parts in a schema: `list_or_map part` -> the leaves."""
    leaves = leaves_of(*paths)
    found = leaves_by_part(leaves)
    assert {leaf for several in found.values() for leaf in several} <= set(
        filter(holds_parts, leaves)
    )
    return {
        f"{name} {part}": [one.name for one in several] for (name, part), several in found.items()
    }


def test_lists_by_all_writers() -> None:
    for path in (
        "list*.element",
        "list*.item",
        "bag*.array_element",
        "array*",
        "l_tuple*",
        "list*.key",
    ):
        assert parts("n", f"l.{path}")["l element"] == [f"l.{path.replace('*', '')}"]
    assert parts("numbers*") == {"numbers element": ["numbers"]}
    assert parts("s.t!.list*.element!")["s.t element"] == ["s.t.list.element"]


def test_maps_by_all_writers() -> None:
    for group in ("key_value", "map", "entries"):
        found = parts(f"m.{group}*.key!", f"m.{group}*.value", "n")
        assert found == {"m key": [f"m.{group}.key"], "m value": [f"m.{group}.value"]}
    assert parts("m.map*.key!")["m key"] == ["m.map.key"]  # values of no columns
    assert parts("m.map*.key!", "m.map*.value.list*.element") == {"m key": ["m.map.key"]}
    assert parts("m.map*.key.a", "m.map*.key.b", "m.map*.value") == {"m value": ["m.map.value"]}


def test_what_is_no_part() -> None:
    assert parts("l.list*.element.list*.element") == {}  # elements are lists
    assert parts("l.list*.element.a", "l.list*.element.b") == {}  # elements are structs
    assert parts("l.array*.a", "l.array*.b") == {}
    assert parts("l.list*.element.a") == {}
    assert parts("n", "s.x!") == {}
    # Readers that go by position and readers that go by name would disagree.
    assert parts("m.map*.value", "m.map*.key") == {}
    assert parts("m.map*.k", "m.map*.v") == {}
    # Two columns of one name: nothing is concluded of either.
    assert len(parts("a*", "a*")["a element"]) == 2
