"""From a table's files to the filters of an index."""
