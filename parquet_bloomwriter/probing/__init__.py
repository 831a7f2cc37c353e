"""Which row groups can hold what is asked for: by footers, Bloom filters and dictionaries."""
