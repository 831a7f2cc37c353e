"""See one try again: `python -m tests.torture.types.again WRITER/LAYOUT/TYPE[/ENGINE]`.

The name is what a problem line begins with. Prints what each engine makes of the file; the engine
is one or, if none is named, all.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.support.spark_session import local_session
from tests.torture.types import matrix
from tests.torture.types.cases import CASES
from tests.torture.types.engines import SPARK_SETTINGS, light_pairs, spark_pair
from tests.torture.types.ours import judge_ours
from tests.torture.types.samples import sample_of
from tests.torture.types.writers import Spark

_OWN = 50


def main(name: str) -> None:
    """Judge one sample by one engine or by all."""
    writer, layout, case, *engines = name.split("/")
    with local_session(SPARK_SETTINGS) as session, tempfile.TemporaryDirectory() as folder:
        kind = matrix.LIGHT_WRITERS.get(writer)
        who = Spark(session) if kind is None else kind()
        sample = sample_of(who, CASES[case], Path(folder), layout)
        sys.stdout.write(f"{sample.stored}; {sample.no_filter or 'has filters'}\n")
        for pair in (*light_pairs(), spark_pair(session)):
            if pair.name in (engines or [pair.name]):
                found = matrix.judge_one(sample, pair, matrix.Plan())
                sys.stdout.write(f"{pair.name}: {found.verdict} {found.remark}\n")
                sys.stdout.writelines(f"  {change}\n" for change in found.changes)
        own = judge_ours(sample, _OWN, _OWN)
        sys.stdout.write(f"probe rules out {own.ruled_out} of {own.num_absent}\n")
        sys.stdout.writelines(f"  {problem}\n" for problem in own.problems)


if __name__ == "__main__":
    main(sys.argv[1])
