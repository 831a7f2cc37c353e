"""The log of an index: entries, transactions, and the removal of old versions."""
