"""Folders that belong to table formats: the names in them, as their writers have made them.

Recorded from DuckDB 1.5.5 with its extension ducklake, pypaimon 2.1.0, Spark 4.3 and Iceberg 0.9.
"""

from __future__ import annotations

FOREIGN_FOLDERS = (
    ("Delta table log", "t/p=1/a.parquet", ("t/_delta_log/00000000000000000000.json",)),
    ("Iceberg table metadata", "t/data/p=1/a.parquet", ("t/metadata/v2.metadata.json",)),
    ("Iceberg table metadata", "t/data/a.parquet", ("t/metadata/v1.metadata.json.gz",)),
    ("Iceberg table metadata", "t/data/a.parquet", ("t/metadata/00000-1f.gz.metadata.json",)),
    ("Hudi table timeline", "t/p=1/a.parquet", ("t/.hoodie/hoodie.properties",)),
    (
        "Paimon table manifests",
        "db.db/t/s=x/bucket-0/data-2baa02ca-fd83-4e8a-88a5-0486addcd79b-0.parquet",
        (
            "db.db/t/schema/schema-0",
            "db.db/t/manifest/manifest-list-a37ba8ac-fd76-42ba-95bf-e4d958c6dd56-1",
            "db.db/t/snapshot/snapshot-1",
            "db.db/t/snapshot/LATEST",
        ),
    ),
    (
        "log of Spark's streaming sink",
        "t/part-00000-4a4d8a27-9b1a-45c8-a8d6-18d90ed7aab7-c000.snappy.parquet",
        ("t/_spark_metadata/0",),
    ),
    ("log of Spark's streaming sink", "t/a=1/b=2/part-0.parquet", ("t/_spark_metadata/9.compact",)),
    (
        "catalog of DuckLake",
        "data/main/t/ducklake-01a2182c-661d-73dd-a197-8d4d31b608a7.parquet",
        (),
    ),
    (
        "catalog of DuckLake",
        "data/main/p/id=1/ducklake-01a2182c-66e4-7a98-bb7f-d845ea9723ba.parquet",
        (),
    ),
    ("snapshots of Databend", "53/133/_b/ba4a60013e27479e856f739aefeadfaf_v0.parquet", ()),
)
"""What is named, a data file, and the records of its table."""

ORDINARY_FOLDERS = (
    ("t/a.parquet", ("t/schema/schema-0", "t/snapshot/snapshot-1")),
    ("t/a.parquet", ("t/manifest/manifest.json", "t/schema/schema-1.json")),
    ("t/bucket-0/a.parquet", ("t/manifest/x", "schema/schema-0")),
    ("t/a.parquet", ("t/metadata/v1.metadata.json.bak", "t/metadata/notes.gz")),
    ("t/a.parquet", ("t/metadata/other/metadata/v1.metadata.json",)),
    ("t/x/a.parquet", ("t/_spark_metadata/0",)),
    ("t/a.parquet", ("t/x/_spark_metadata/0", "t/spark_metadata/0")),
    ("t/ducklake-1.parquet", ("t/metadata.ducklake",)),
    ("t/my-ducklake-01a2182c-661d-73dd-a197-8d4d31b608a7.parquet", ()),
    ("ducklake-01a2182c-661d-73dd-a197-8d4d31b608a7.parquet/a.parquet", ()),
    ("t/_b/a.parquet", ("t/_b_v0.parquet",)),
    ("t/offsets/a.parquet", ("t/commits/0", "t/sources/0/0")),
)
"""A file, and others around it that mean nothing."""
