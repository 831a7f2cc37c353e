"""Views of the library's reports, as text and as JSON: one module for each verb."""
