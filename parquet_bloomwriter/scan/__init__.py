"""Scans of pyarrow's that read only the row groups which survive probing."""
