"""How reports on indexes are shown, as text and as JSON."""
