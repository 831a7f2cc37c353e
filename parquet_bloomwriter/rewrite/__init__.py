"""The rewriting of a file: the filters it needs, their places, and the bytes that are copied."""
