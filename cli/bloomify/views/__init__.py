"""How reports of the library are shown, as text and as JSON: one module for each verb."""
