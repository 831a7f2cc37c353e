"""The C extension of the package, and the page of a package index; all else is in pyproject.toml.

Without a C compiler the package is installed all the same, and works with the kernels in Python:
the extension is optional. A wheel without it is for any platform; one with it is for all Pythons
from 3.11 on, by the limited API.

The page is README.md. Its links to files lead nowhere on a package index, so they lead to the
repository, if `project.urls` in pyproject.toml has its address as `Source`, and else become text.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ABI = "cp311"
SOURCES = Path("parquet_bloomwriter/kernels/c")
FILE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)\s]+)\)")
"""A link to a file, its text and its target; texts go over the end of a line."""

FLAGS = [] if sys.platform == "win32" else ["-std=c11", "-O3", "-fvisibility=hidden", "-g0"]

KERNELS = Extension(
    "parquet_bloomwriter.kernels._compiled",
    sources=[str(path) for path in sorted(SOURCES.glob("*.c"))],
    depends=[str(path) for path in sorted(SOURCES.glob("*.h"))],
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    extra_compile_args=FLAGS,
    py_limited_api=True,
    optional=True,
)


class Compile(build_ext):
    """Leaves no extension of older sources where compiling fails: its answers might be wrong."""

    def run(self) -> None:
        """Compile; what lies among the sources for an editable installation is made anew."""
        for extension in self.extensions if self.inplace else ():
            name = self.get_ext_filename(self.get_ext_fullname(extension.name))
            Path(name).unlink(missing_ok=True)
        super().run()

    def build_extension(self, ext: Extension) -> None:
        """Compile one extension unless it is newer than its sources."""
        try:
            super().build_extension(ext)
        except BaseException:
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)
            raise


class Wheel(bdist_wheel):
    """Tags a wheel by whether the extension is in it."""

    def run(self) -> None:
        """Compile first: the name of the wheel, and where its files go, depend on the outcome."""
        compiler = self.get_finalized_command("build_ext")
        compiler.run()
        if not all(Path(made).exists() for made in compiler.get_outputs()):
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()

    def get_tag(self) -> tuple[str, str, str]:
        """Return Python, ABI and platform."""
        if self.root_is_pure:
            return "py3", "none", "any"
        return ABI, "abi3", super().get_tag()[2]


def page() -> str:
    """Return README.md as a package index can show it."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    source = project.get("urls", {}).get("Source", "").rstrip("/")
    link = rf"[\1]({source}/blob/main/\2)" if source else r"\1"
    return FILE_LINK.sub(link, Path("README.md").read_text("utf-8"))


setup(
    ext_modules=[KERNELS],
    cmdclass={"bdist_wheel": Wheel, "build_ext": Compile},
    long_description=page(),
    long_description_content_type="text/markdown",
)
