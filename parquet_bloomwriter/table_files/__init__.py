"""The files of tables, for verbs that read: the list of files, and the names of their columns.

    files      the interface of all formats: a table at one version, its files and columns
    delta      Delta tables and their files
    iceberg    Iceberg tables and their files
    find       finds the files of a caller's paths: tables, folders, patterns, files

Another format is a module like `delta`, and a line in `find`.
"""
