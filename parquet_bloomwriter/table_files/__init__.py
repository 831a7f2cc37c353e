"""The files of tables, for verbs that read: the list of files, and the names of their columns.

    files      a table at one version and its files, whatever its format; names of columns
    delta      those of Delta tables
    iceberg    those of Iceberg tables
    find       from what a caller names to files: tables, folders, patterns, files

Another format is a module like `delta`, and a line in `find`.
"""
