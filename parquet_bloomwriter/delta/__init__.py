"""Delta tables: their log read, and new entries put into it.

    place      where a table lies: its log listed, read, and added to; what a file's path means
    actions    what entries of the log say
    log        which entries and checkpoints make up a version
    checkpoint the state of the table as of a version, in Parquet or JSON
    snapshot   the files, schema and properties of a table at one version
    features   which features of the protocol are understood, and for what
    schema     the table's columns, and the columns of files that they are (column mapping)
    statistics a file's statistics as JSON, rebuilt where a checkpoint has them as columns only
    files      the data files of a version, for verbs that read them
    roaring, deletion_vectors    which rows of a file are deleted
    partition_values             values of partition columns, by their types
    commit     a new entry, created exclusively, that replaces files by equal ones

Source: Delta Transaction Log Protocol (PROTOCOL.md of delta-io/delta), by its headings.
"""
