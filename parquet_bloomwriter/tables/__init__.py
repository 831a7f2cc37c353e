"""Verbs that write to tables: add or remove the filters of existing data files, by atomic commits.

    add          `bloomify_table`: adds filters to the files that lack filters
    strip        `strip_table`: removes filters from files
    request      the requested columns, from arguments or from the table's properties
    choice       the files of a version that lack filters, their order, and batches of files
    records      results of earlier runs, so that footers need not be read again
    replacement  a run: writes new files, makes commits, and reports files that are left over
    report       the report of a run

Data files are never changed. A new file has a new name, and a commit replaces the old file by the
new file.
"""
