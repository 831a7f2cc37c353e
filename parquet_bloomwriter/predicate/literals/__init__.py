"""Literals of a predicate: their texts, and comparisons with columns of files and of Arrow."""
