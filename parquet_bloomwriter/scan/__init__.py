"""Scans by pyarrow of the row groups that survive probing."""
