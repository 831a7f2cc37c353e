"""Old and new releases of engines, asked about the same files without and with filters."""
