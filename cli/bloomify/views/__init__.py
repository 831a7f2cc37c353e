"""Reports of the library as text and as JSON, one module for each kind of report."""
