"""Java sources -> a jar, made once for each version of Spark and kept in a folder for caches.

Spark brings Janino, a compiler in Java; no JDK is needed. It compiles against the classes that the
driver has loaded, so a jar fits the very Spark it was made by.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.native import cache_folders, is_ours

if TYPE_CHECKING:
    from collections.abc import Iterator

_SOURCES = Path(__file__).parent
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: equal sources make equal jars."""


def jar_of(spark: Any) -> Path:  # noqa: ANN401  a SparkSession; py4j has no types
    """Return the jar of the rules for a Spark session, compiling it if it is not there yet.

    Raises:
        OSError: If no folder for caches can be written to.
        py4j.protocol.Py4JError: If the sources do not compile with this Spark.
    """
    name = f"bloomwriter-rules-{spark.version}-{_digest()}.jar"
    folders = cache_folders()
    for folder in folders:
        if (folder / name).is_file() and is_ours(folder / name):
            return folder / name
    with tempfile.TemporaryDirectory(prefix="bloomwriter-") as scratch:
        _compile(spark.sparkContext._gateway, Path(scratch))  # noqa: SLF001  the way to the JVM
        return _packed(Path(scratch), folders, name)


def sources() -> list[Path]:
    """The Java files."""
    return sorted(_SOURCES.glob("*.java"))


def _digest() -> str:
    content = hashlib.sha256()
    for source in sources():
        content.update(source.name.encode() + b"\0" + source.read_bytes())
    return content.hexdigest()[:16]


def _compile(gateway: Any, target: Path) -> None:  # noqa: ANN401  as above
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


def _packed(classes: Path, folders: tuple[Path, ...], name: str) -> Path:
    """Pack the classes into the first folder that takes the jar; complete or not at all."""
    problem: OSError | None = None
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=folder, suffix=".jar")
        except OSError as error:
            problem = error
            continue
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as jar:
            for path in _classes(classes):
                entry = zipfile.ZipInfo(path.relative_to(classes).as_posix(), _EPOCH)
                jar.writestr(entry, path.read_bytes())
        Path(temporary).replace(folder / name)
        return folder / name
    raise problem or FileNotFoundError(name)


def _classes(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.rglob("*.class"))
