"""The files of an index: manifests, parts that hold the filters, table-level filters."""
