"""Where the files of an index are: on a disk, or on an object store."""
