"""What is shown of reports: the model of tables and remarks, drawn in notebooks and as a page."""
