"""Iceberg tables, by pyiceberg: files, columns, deletes, and commits that replace files.

    names       names of tables: iceberg://CATALOG/NAMESPACE.TABLE
    catalog     the table that a catalog has under a name
    snapshot    the data files of a table at one snapshot
    schema      the table's columns, and the columns of its files that they are
    stored_types      what stored values mean to a column of the table
    partition_values  values of columns that the table is partitioned by unchanged (identity)
    row_filter        predicates as pyiceberg's, to plan a scan by
    scan              pyiceberg's plan, and the rows of planned files
    deletes     which data files position deletes and deletion vectors name
    properties  the columns for which the table asks for Bloom filters
    new_snapshot      a snapshot that puts new files in the place of old ones
    commit      the catalog makes it the head of a branch: once, or never
    store       pyiceberg's file systems, and its settings for our own stores

pyiceberg reads metadata and manifests and speaks to catalogs; nothing here opens a catalog's
database or writes its metadata files. Extra `[iceberg]` installs it. Only one minor version is
allowed, because a snapshot that replaces files needs modules of pyiceberg that are no promise.

Source: Iceberg's table specification (iceberg.apache.org/spec), "Snapshots", "Manifests",
"Sequence Numbers", "Delete Formats", "Column Projection".
"""
