"""Modules on their way to other packages."""
