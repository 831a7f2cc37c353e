"""Measurements of bloomify beside what else can be done with the same file."""
