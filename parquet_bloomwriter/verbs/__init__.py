"""The public verbs on files: each module has one verb, composed of the packages below."""
