"""The table of an index: what a caller names, its files, and the metadata that may name them.

ref          the table that a caller names, parsed once: folder, prefix, name in a catalog
data_files   the files of a folder or prefix: lists, checks and opens them
objects      files on stores
metadata     Delta and Iceberg tables, whose metadata name their files
records      signs that a folder belongs to a table of another format
"""
