"""The shell and Python blocks of all pages of the site work, and print what the pages show."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.docs.page_blocks import NOT_RUN, ROOT, Block, blocks, pages, without_blocks
from tests.docs.warm import CLIENT
from tests.support.spark_children import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.stores.servers import Store

SESSION = Path(__file__).with_name("session.py")
SHOWN_LANGUAGES = {"sh", "python", "text", "json", "ini", "yaml", ""}

CODE = {page: [block for block in blocks(page) if block.is_run] for page in pages()}
WITH_CODE = sorted(page for page, found in CODE.items() if found)
ON_SPARK = {page for page, found in CODE.items() if any("pyspark" in block.text for block in found)}
ON_STORES = {page for page, found in CODE.items() if any("s3://" in block.text for block in found)}
SPARK_PAGES = [
    "tutorials/index-and-spark.md",
    "reference/table-index.md",
    "how-to/after-writing.md",
]
"""The pages of `ON_SPARK` in the order in which they are read."""

BUCKET = "s3://lake"
"""The name that pages have for a bucket."""

NOT_RUN_PAGES = {
    "how-to/engines.md": 3,
    "how-to/schedule.md": 1,
    "reference/foreign-folders.md": 1,
    "reference/stores.md": 1,
}
"""Pages with blocks that are not run, and how many."""

PROGRAMS = {
    "python": '#!/bin/sh\nexec {python} "$@"\n',
    "pip": '#!/bin/sh\n[ "$1" = install ] || exit 2\n',
    "make": '#!/bin/sh\ngrep -q "^$1:" {root}/Makefile\n',
}
"""What the names mean while a page is run: nothing is installed; a target of make must exist."""

WARM = {"bloomify": CLIENT, "session": CLIENT}
COLD = {"bloomify": '#!/bin/sh\nexec {python} -m bloomify "$@"\n'}
"""Where there is no warm process, as on Spark."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a reader who has a file, and a folder of files."""
    home = tmp_path / "reader"
    home.mkdir()
    monkeypatch.chdir(home)
    rows = range(2_000)
    table = pa.table(
        {
            "id": [i * 7_919 % 1_000_003 for i in rows],
            "email": [f"user{i}@mail.example" for i in rows],
            "address": [{"city": f"city {i}"} for i in rows],
        }
    )
    pq.write_table(table, "events.parquet", row_group_size=500)
    for month in (10, 11):
        path = Path(f"warehouse/month={month}/part-0.parquet")
        path.parent.mkdir(parents=True)
        pq.write_table(table.slice(1_000 * (month - 10), 1_000), path)
    return home


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Begin a process for the programs of pages; return its socket."""
    path = tmp_path_factory.mktemp("warm") / "socket"
    command = [sys.executable, "-W", "ignore", "-m", "tests.docs.warm", str(path)]
    own = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | own) as process:
        while not path.exists():
            assert process.poll() is None
            time.sleep(0.02)
        yield path
        process.terminate()


def programs(folder: Path, own: dict[str, str], socket: Path | None = None) -> str:
    """Return a PATH in which the commands of pages are this project's."""
    bin_folder = folder.parent / "bin"
    bin_folder.mkdir()
    for name, text in (PROGRAMS | own).items():
        python, root = shlex.quote(sys.executable), shlex.quote(str(ROOT))
        path = bin_folder / name
        path.write_text(text.format(python=python, root=root, socket=str(socket)))
        path.chmod(0o755)
    return f"{bin_folder}:/usr/bin:/bin"


@pytest.mark.parametrize("page", [page for page in WITH_CODE if page not in ON_SPARK])
def test_the_blocks_of_a_page_work(
    page: str, folder: Path, warm: Path, request: pytest.FixtureRequest
) -> None:
    store: Store | None = None
    bucket = ""
    if page in ON_STORES:
        store = request.getfixturevalue("store")
        bucket = request.getfixturevalue("bucket")
    more = dict(store.environment) if store else {}
    environment = variables(folder, programs(folder, WARM, warm)) | more
    session = folder.parent / "bin/session"

    def run(given: Path) -> list[str]:
        done = subprocess.run(
            [session, given],
            env={name: one for name, one in os.environ.items() if "SPARK" not in name}
            | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        shown: list[str] = json.loads(done.stdout.splitlines()[-1])
        return shown

    _check([page], folder, run, bucket)


@pytest.mark.shares
def test_the_blocks_of_pages_on_spark_work(folder: Path) -> None:
    """In one session: a JVM takes seconds to start, and pages go on with tables of others."""
    assert set(SPARK_PAGES) == ON_SPARK
    environment = variables(folder, programs(folder, COLD))
    _check(SPARK_PAGES, folder, lambda given: Child(SESSION, str(given), **environment).result())


def variables(folder: Path, path: str) -> dict[str, str]:
    """Return the environment of a reader."""
    return {
        "PATH": path,
        "HOME": str(folder.parent),
        "XDG_CACHE_HOME": str(folder.parent / "cache"),
        "XDG_STATE_HOME": str(folder.parent / "state"),
        "SESSION_LEFT": str(folder.parent / "left"),
        "COLUMNS": "100",
    }


def _check(
    names: list[str], folder: Path, execute: Callable[[Path], list[str]], bucket: str = ""
) -> None:
    given = folder.parent / "blocks.json"
    run = [block for page in names for block in CODE[page]]
    code = [
        {
            "page": block.page,
            "line": block.line,
            "language": block.language,
            "text": block.text.replace(BUCKET, f"s3://{bucket}"),
        }
        for block in run
    ]
    given.write_text(json.dumps(code))
    said = dict(zip(run, execute(given), strict=True))
    for block, output in (pair for page in names for pair in _outputs(page)):
        printed = said[block].replace(f"s3://{bucket}", BUCKET)
        assert _fits(output.text, printed), (
            f"{output.page}:{output.line} shows otherwise:\n{printed}"
        )


def _outputs(page: str) -> list[tuple[Block, Block]]:
    """Return the blocks that are run and the blocks of text right after them."""
    all_blocks = blocks(page)
    return [
        (one, next_)
        for one, next_ in pairwise(all_blocks)
        if one.is_run and next_.language == "text"
    ]


def _fits(shown: str, printed: str) -> bool:
    """Whether a page shows what is printed, but for figures, spaces, and lines left out ("...")."""
    pattern = re.escape(_plain(shown)).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, _plain(printed), re.DOTALL) is not None


def _plain(text: str) -> str:
    figures = re.sub(r"\d[\d,.]*(e-\d+)?( [KMG]i?B)?", "#", text)
    return re.sub(r"[\s-]+", " ", figures).strip()


def test_few_blocks_are_not_run() -> None:
    found = {
        page: [block for block in blocks(page) if block.is_code and not block.is_run]
        for page in pages()
    }
    assert {page: len(left) for page, left in found.items() if left} == NOT_RUN_PAGES
    for block in (one for left in found.values() for one in left):
        assert len(block.text.splitlines()[0]) > len(NOT_RUN)


def test_no_code_hides_from_the_tests() -> None:
    """Commands and programs stand in blocks that say so."""
    found = []
    for page in pages():
        assert {block.language for block in blocks(page)} <= SHOWN_LANGUAGES, page
        plain = [block.text for block in blocks(page) if not block.is_code]
        plain += re.findall(r"^    .*", without_blocks(page), re.MULTILINE)
        code = re.compile(r"^\s*(bloomify |import |from \w+ import)", re.MULTILINE)
        found += [(page, text) for text in plain if code.search(text)]
    assert found == []
