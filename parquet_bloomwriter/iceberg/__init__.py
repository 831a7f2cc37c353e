"""Iceberg tables, by pyiceberg: files, columns, deletes, and commits that replace files.

    names       names of tables: iceberg://CATALOG/NAMESPACE.TABLE
    catalog     the table that a catalog has under a name
    snapshot    the data files of a table at one snapshot
    schema      the table's columns, and the leaf columns of its files that store them
    stored_types      whether stored values equal the values of a column of the table
    partition_values  values of columns that the table is partitioned by unchanged (identity)
    row_filter        predicates as pyiceberg's expressions, for planning a scan
    scan              pyiceberg's plan, and the rows of planned files
    deletes     the data files that position deletes and deletion vectors name
    properties  the columns for which the table asks for Bloom filters
    new_snapshot      a snapshot that replaces old files by new files
    commit      lets the catalog make the snapshot the head of a branch: once, or never
    store       pyiceberg's file systems, and its settings for our own stores

pyiceberg reads metadata and manifests and makes the requests to catalogs; this package neither
opens a catalog's database nor writes its metadata files. Extra `[iceberg]` installs pyiceberg. Only
one minor version is allowed, because a snapshot that replaces files needs private modules of
pyiceberg.

Source: Iceberg's table specification (iceberg.apache.org/spec), "Snapshots", "Manifests",
"Sequence Numbers", "Delete Formats", "Column Projection".
"""
