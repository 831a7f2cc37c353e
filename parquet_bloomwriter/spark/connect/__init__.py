"""Leaves out files by a filter on `_metadata`, without optimizer rules; works on Spark Connect."""
