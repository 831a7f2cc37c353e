"""The terminal: streams, messages, tables, bars, interruption, help pages."""
