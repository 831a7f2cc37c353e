"""The actions that change an index, one module each."""
