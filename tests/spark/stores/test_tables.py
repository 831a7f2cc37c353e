"""`bloomify_table` at `s3a://`, and jobs whose executors have an environment without keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import strip
from parquet_bloomwriter.errors import InvalidArgument, UnsafeTarget
from parquet_bloomwriter.spark import bloomify_table
from tests.spark.stores.conftest import FOLDER, NUM_FILES
from tests.spark.stores.connector import make_jar, settings_for
from tests.support.delta_tables import make_table
from tests.support.spark_children import Child
from tests.support.spark_session import home_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.stores.conftest import Events
    from tests.stores.servers import Store

RUN_CLUSTER = Path(__file__).with_name("run_cluster.py")


def test_a_table_is_rewritten(session: SparkSession, events: Events) -> None:
    before = events.objects(FOLDER)
    output = f"s3a://{events.bucket}/u"
    done = bloomify_table(session, events.url, ["id"], output=output).collect()
    assert [(row.status, row.error) for row in done] == [("rewritten", None)] * NUM_FILES
    assert events.objects(FOLDER) == before
    after = events.objects("u/")
    assert {key.removeprefix("u/"): strip(data).data for key, data in after.items()} == {
        key.removeprefix(f"{FOLDER}/"): data for key, data in before.items()
    }
    with pytest.raises(InvalidArgument, match="objects below"):
        bloomify_table(session, events.url, ["id"], output=output)
    for status in ("rewritten", "unchanged"):
        done = bloomify_table(session, events.url, ["id"]).collect()
        assert [(row.status, row.error) for row in done] == [(status, None)] * NUM_FILES
    assert {key: strip(data).data for key, data in events.objects(FOLDER).items()} == before
    other = events.url.replace("s3a:", "s3:")  # Spark has no connector of this name
    done = bloomify_table(session, other, ["id"]).collect()
    assert [(row.status, row.error) for row in done] == [("unchanged", None)] * NUM_FILES


def test_a_table_with_records_of_its_own_is_refused(session: SparkSession, events: Events) -> None:
    before = events.objects(FOLDER)
    key = f"{FOLDER}/metadata/v1.metadata.json"
    events.client.put_object(Bucket=events.bucket, Key=key, Body=b"{}")
    for output in (None, f"s3a://{events.bucket}/u"):
        with pytest.raises(UnsafeTarget, match="Iceberg table"):
            bloomify_table(session, events.url, ["id"], output=output)
    assert {**before, key: b"{}"} == events.objects(FOLDER)


def test_a_table_of_delta_gets_a_commit(
    session: SparkSession, events: Events, tmp_path: Path
) -> None:
    """Keys and endpoint are in Spark's configuration only."""
    table = make_table(tmp_path / "d")
    for path in table.rglob("*"):
        if path.is_file():
            key = f"d/{path.relative_to(table)}"
            events.client.upload_file(str(path), events.bucket, key)
    before = events.objects("d/")
    url = f"s3a://{events.bucket}/d"
    with pytest.raises(InvalidArgument, match="force says nothing"):
        bloomify_table(session, url, ["id"], force=True)
    assert events.objects("d/") == before
    done = bloomify_table(session, url, ["id"]).collect()
    assert [row.status for row in done] == ["rewritten"] * 3
    after = events.objects("d/")
    assert before.items() <= after.items()
    [entry] = [data for key, data in after.items() if key.endswith(f"{3:020}.json")]
    assert entry.count(b'"add"') == entry.count(b'"remove"') == 3
    assert bloomify_table(session, url, ["id"]).collect() == []


def test_other_places_are_refused(session: SparkSession, events: Events, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="not a local path"):
        bloomify_table(session, "viewfs://cluster/t", ["id"])
    with pytest.raises(InvalidArgument, match="is not"):
        bloomify_table(session, events.url, ["id"], output=tmp_path / "u")
    with pytest.raises(InvalidArgument, match="not apart"):
        bloomify_table(session, events.url, ["id"], output=f"{events.url}/u")


@pytest.mark.shares
def test_executors_need_only_the_configuration_of_spark(
    spark: SparkSession, events: Events, store: Store, tmp_path: Path
) -> None:
    home, logs = tmp_path / "home", tmp_path / "events"
    home.mkdir()
    logs.mkdir()
    settings = json.dumps(settings_for(store))
    jar = make_jar(spark, tmp_path)
    output = f"s3a://{events.bucket}/u"
    child = Child(
        RUN_CLUSTER, events.url, output, str(logs), jar, settings, SPARK_HOME=home_in(home)
    )
    found = child.result()
    assert found["files"] == NUM_FILES
    assert (found["rows"], found["opened"], found["again"]) == ([1003], 1, [1003])
    for rows in found["tables"]:
        assert [row["status"] for row in rows] == ["rewritten"] * NUM_FILES
    secret = store.secret_key.encode()
    texts = [json.dumps(found).encode(), *events.objects().values()]
    written = [*logs.rglob("*"), *(home / "work").rglob("std*")]
    texts += [path.read_bytes() for path in written if path.is_file()]
    assert len(texts) > NUM_FILES
    assert not any(secret in text for text in texts)
