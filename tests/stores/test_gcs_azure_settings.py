"""Settings of GCS and Azure: what becomes of a service account that must be in a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import os, sys
from parquet_bloomwriter.stores.gcs_azure_settings import GoogleConnection
os.environ["GOOGLE_SERVICE_ACCOUNT"] = "/other.json"
made = GoogleConnection(endpoint="http://x", service_account="{}").arguments()
path = made["config"]["service_account"]
if os.fork() == 0:
    sys.exit()  # as a worker that ends, with all that Python does at its end
os.wait()
assert open(path).read() == "{}" and os.stat(path).st_mode & 0o777 == 0o600
print(path)
"""


def test_a_child_that_ends_leaves_the_account_to_its_parent() -> None:
    result = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, env=os.environ
    )
    assert not Path(result.stdout.strip()).exists()
