"""Scans by pyarrow of the row groups that survive probing.

`logical_rows` and `logical_types` are for Delta tables, whose files store the
table's columns under other names and types.
"""
