"""Compiles the Java sources for `make lint`: by javac with all warnings, or by Janino.

A Java runtime that has the module `jdk.compiler` (a JDK) runs javac, and every warning is an error.
Without the module, Janino compiles, as it does in Spark's driver; it does not check type arguments.
Both compile against the jars of the installed PySpark.

Janino ignores type arguments, so the sources have casts that javac calls redundant.
"""

# ruff: noqa: T201  the output of a command

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from parquet_bloomwriter.spark.adaptor import compiler

_TESTS = Path(__file__).parent
_JAVAC = ("-m", "jdk.compiler/com.sun.tools.javac.Main")
_OPTIONS = ("-Xlint:all,-cast,-path", "-Werror", "-proc:none")
"""Without `path`: manifests of Spark's jars name others that are not there."""


def main() -> int:
    """Compile, print what was done, and return an exit code."""
    java, jars = _java(), _jars()
    if java is None or jars is None:
        missing = "java" if java is None else "pyspark"
        print(f"java: not compiled, there is no {missing}")
        return 0
    with tempfile.TemporaryDirectory(prefix="bloomwriter-lint-") as target:
        if _has_javac(java):
            return _by_javac(java, jars, target)
        return _by_janino(java, jars, target)


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which(str(Path(home, "bin", "java")) if home else "java")


def _jars() -> Path | None:
    found = find_spec("pyspark")
    return None if found is None or found.origin is None else Path(found.origin).parent / "jars"


def _has_javac(java: str) -> bool:
    listed = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=True)
    return any(line.startswith("jdk.compiler") for line in listed.stdout.splitlines())


def _by_javac(java: str, jars: Path, target: str) -> int:
    sources = [*compiler.sources(), *sorted(_TESTS.rglob("*.java"))]
    path = os.pathsep.join(map(str, sorted(jars.glob("*.jar"))))
    options = [*_OPTIONS, "-classpath", path, "-d", target]
    done = subprocess.run([java, *_JAVAC, *options, *map(str, sources)], check=False)
    if done.returncode == 0:
        print(f"java: {len(sources)} files compiled by javac, no warnings")
    return done.returncode


def _by_janino(java: str, jars: Path, target: str) -> int:
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
    from py4j.protocol import Py4JJavaError

    (py4j,) = jars.glob("py4j-*.jar")
    port = launch_gateway(
        jarpath=str(py4j), classpath=f"{jars}/*", java_path=java, die_on_exit=True
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        compiler.compile_sources(gateway, Path(target))
    except Py4JJavaError as error:
        print(error.java_exception.toString(), file=sys.stderr)
        return 1
    finally:
        gateway.shutdown()
    print(f"java: {len(compiler.sources())} files compiled by Janino; without a JDK, no warnings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
