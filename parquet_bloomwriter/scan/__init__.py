"""Scans by pyarrow of the row groups that survive probing.

`logical_rows`, `logical_types` and `logical_dataset` are for Delta tables, whose files store the
table's columns under other names and types.
"""
