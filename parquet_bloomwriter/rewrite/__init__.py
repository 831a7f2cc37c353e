"""Which filters a file needs, where they go, and which bytes are copied there."""
