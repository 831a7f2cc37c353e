"""Tables of any format: reading their files and columns, and replacing files by commits.

    files      the interface of all formats: a table at one version, its files and columns
    delta      Delta tables and their files
    iceberg    Iceberg tables and their files
    properties the properties by which tables ask for filters
    find       finds what a caller's paths denote: tables, folders, patterns, files

Another format is a module like `delta`, and a line in `find`.
"""
