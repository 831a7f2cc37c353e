"""Bloom filters for the files of a table, by a Spark job."""
