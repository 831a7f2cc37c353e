"""What every command writes to: streams, tables, pictures, progress, help pages."""
