"""Compiles the Java sources to a jar, once for each version of Spark; a cache folder keeps the jar.

Spark brings Janino, a compiler written in Java, so no JDK is needed. Janino compiles against the
classes that the driver has loaded, so a jar fits exactly the Spark that compiled it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.spark.adaptor.jar_cache import cache_folders, keep, read_ours

if TYPE_CHECKING:
    from collections.abc import Iterator

_SOURCES = Path(__file__).parent
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every entry of the jar, fixed so that equal sources make equal jars."""


def put_jar(spark: Any, folder: str) -> str:  # noqa: ANN401  a SparkSession; py4j has no types
    """Put the jar of the rules for a Spark session into a folder that only this user can write to.

    Returns:
        The path of the jar.

    Raises:
        OSError: If the jar cannot be written.
        py4j.protocol.Py4JError: If the sources do not compile with this Spark.
    """
    scala = spark.sparkContext._jvm.scala.util.Properties.versionNumberString()  # noqa: SLF001  the way to the JVM
    path = Path(folder, f"bloomwriter-rules-{spark.version}-{scala}-{_digest()}.jar")
    if not path.exists():
        path.write_bytes(_kept(path.name) or _made(spark, path.name))
    return str(path)


def sources() -> list[Path]:
    """Return the Java files."""
    return sorted(_SOURCES.glob("*.java"))


def _digest() -> str:
    content = hashlib.sha256()
    for source in sources():
        content.update(source.name.encode() + b"\0" + source.read_bytes())
    return content.hexdigest()[:16]


def _kept(name: str) -> bytes | None:
    for folder in cache_folders():
        with contextlib.suppress(OSError):
            return read_ours(folder / name)
    return None


def _made(spark: Any, name: str) -> bytes:  # noqa: ANN401  as above
    with tempfile.TemporaryDirectory(prefix="bloomwriter-") as scratch:
        compile_sources(spark.sparkContext._gateway, Path(scratch))  # noqa: SLF001  the way to the JVM
        data = _packed(Path(scratch))
    keep(name, data)
    return data


def compile_sources(gateway: Any, target: Path) -> None:  # noqa: ANN401  as above
    """Compile the Java files in the JVM of a py4j gateway.

    Raises:
        py4j.protocol.Py4JError: If the sources do not compile.
    """
    jvm = gateway.jvm
    janino = jvm.org.codehaus.janino
    compiler = janino.Compiler()
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    compiler.setIClassLoader(janino.ClassLoaderIClassLoader(loader))
    compiler.setDestinationDirectory(jvm.java.io.File(str(target)), False)  # noqa: FBT003  Java's
    files = gateway.new_array(jvm.java.io.File, len(sources()))
    for i, source in enumerate(sources()):
        files[i] = jvm.java.io.File(str(source))
    compiler.compile(files)


def _packed(classes: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as jar:
        for path in _classes(classes):
            entry = zipfile.ZipInfo(path.relative_to(classes).as_posix(), _EPOCH)
            jar.writestr(entry, path.read_bytes())
    return packed.getvalue()


def _classes(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.rglob("*.class"))
