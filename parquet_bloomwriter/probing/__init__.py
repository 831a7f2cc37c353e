"""Which row groups can hold the rows asked for, by footers, Bloom filters and dictionaries."""
