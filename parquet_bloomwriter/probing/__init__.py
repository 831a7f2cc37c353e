"""Verdicts on row groups that may hold matching rows: footers, filters and dictionaries."""
