"""Verbs that write to tables: filters for what is already there, in atomic commits.

    add          `bloomify_table`: filters for the files that lack some
    strip        `strip_table`: files without filters
    table        what is asked of a table, whatever its format
    delta        Delta tables
    open         opening a table by its path or name
    wish         which columns, by arguments or by the table's properties
    choice       which files of a version lack what; how they are put into batches
    records      what earlier runs found, so that footers need not be read again
    replacement  the frame: new files, commits, what is left over

Data files are never changed. A new file has a new name; a commit puts it in the place of the old
one.
"""
