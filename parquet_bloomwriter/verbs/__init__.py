"""What can be done with files: each module has one verb, composed of what lies below."""
