"""An environment with Spark 3.5 and Iceberg's own implementation, below build/sparks.

The jar comes from a package on PyPI that leaves out the copy of Jackson that the jar's classes ask
for, under names of Iceberg's. That copy is made of Spark's Jackson: the names in its classes are
changed.

Source: Java Virtual Machine Specification, "The Constant Pool".
"""

from __future__ import annotations

import struct
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "sparks" / "iceberg"
JACKSON = "jackson-for-iceberg.jar"

_NEEDS = ("pyspark==3.5.9", "snowpark-connect-deps-iceberg==1.0.3")
_OLD, _NEW = b"com/fasterxml/jackson", b"org/apache/iceberg/shaded/com/fasterxml/jackson"

_TEXT, _LONG, _DOUBLE = 1, 5, 6
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 17: 4, 18: 4}
"""Bytes of constants behind their tag, by tag; 2 of all others."""


def python() -> str:
    """Return the Python of the environment, made when it is first asked for."""
    found, stamp = str(FOLDER / "bin" / "python"), FOLDER / ".installed"
    needs = " ".join(_NEEDS)
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != needs:
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
        pip = (found, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
        subprocess.run([*pip, *_NEEDS], check=True)
        _write_jackson(next(FOLDER.glob("lib/python*/site-packages/pyspark/jars")))
        stamp.write_text(needs, encoding="utf-8")
    return found


def jars() -> list[str]:
    """Return the jars that Spark needs for Iceberg."""
    package = FOLDER.glob("lib/python*/site-packages/snowpark_connect_deps_iceberg/jars/*_2.12-*")
    return [*sorted(str(one) for one in package if "iceberg" in one.name), str(FOLDER / JACKSON)]


def _write_jackson(spark: Path) -> None:
    with zipfile.ZipFile(FOLDER / JACKSON, "w", zipfile.ZIP_DEFLATED) as new:
        for part in ("core", "databind", "annotations"):
            with zipfile.ZipFile(next(spark.glob(f"jackson-{part}-2*.jar"))) as old:
                for name in old.namelist():
                    if name.startswith("com/fasterxml/") and name.endswith(".class"):
                        new.writestr(_renamed(name.encode()).decode(), _moved(old.read(name)))


def _moved(data: bytes) -> bytes:
    """Return a class with other names in its pool of constants."""
    (count,) = struct.unpack_from(">H", data, 8)
    pieces, at, number = [data[:10]], 10, 1
    while number < count:
        tag = data[at]
        if tag == _TEXT:
            (size,) = struct.unpack_from(">H", data, at + 1)
            text = _renamed(data[at + 3 : at + 3 + size])
            pieces.append(bytes([tag]) + struct.pack(">H", len(text)) + text)
            at += 3 + size
        else:
            end = at + 1 + _SIZES.get(tag, 2)
            pieces.append(data[at:end])
            at = end
            number += tag in (_LONG, _DOUBLE)  # which take two places
        number += 1
    return b"".join(pieces) + data[at:]


def _renamed(text: bytes) -> bytes:
    dots = _OLD.replace(b"/", b"."), _NEW.replace(b"/", b".")
    return text.replace(_OLD, _NEW).replace(*dots)
