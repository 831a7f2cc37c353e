"""Literals of predicates, compared with the columns that they meet."""
