"""The model of how reports are shown: tables and remarks, for notebooks and HTML pages."""
