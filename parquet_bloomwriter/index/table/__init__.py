"""The table of an index: what a caller names, its files, and the metadata that may name them.

ref          what a caller names, parsed once: a folder, a prefix of a store, a name of a catalog
data_files   the files of a folder or prefix: listed, looked at, opened
objects      files on stores
metadata     Delta and Iceberg tables, whose metadata name their files
records      signs that a folder belongs to a table of another format
"""
