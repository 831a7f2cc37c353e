"""The terminal: streams, messages, tables, pictures, interruption, help pages."""
