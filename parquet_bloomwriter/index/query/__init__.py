"""Ask an index which files can hold a value."""
