"""Delta tables: reading their log, and adding entries to it.

    place      the folder or prefix of a table: lists, reads and extends the log; paths of files
    actions    the actions in entries of the log
    log        the entries and checkpoints that make up a version
    checkpoint the state of the table at a version, in Parquet or JSON
    snapshot   the files, schema and properties of a table at one version
    features   the features of the protocol that are understood, for reading and for replacing files
    schema     the table's columns, and the leaf columns of files that store them (column mapping)
    statistics a file's statistics as JSON, rebuilt where a checkpoint has them as columns only
    roaring, deletion_vectors    the deleted rows of a file
    partition_values             values of partition columns, by their types
    commit     a new entry, created exclusively, that replaces files by equal ones

Source: Delta Transaction Log Protocol (PROTOCOL.md of delta-io/delta), by its headings.
"""
