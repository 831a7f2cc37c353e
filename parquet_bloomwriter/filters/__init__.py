"""The Bloom filters of a file: read those that it has, build new ones, check them."""
