"""One thin module per verb."""
