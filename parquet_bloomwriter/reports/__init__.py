"""The reports of the verbs, as values with a summary each; drawn in notebooks and as a page."""
