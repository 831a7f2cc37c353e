"""Where the filters go, what moves, and how the new file takes the place of the old."""
