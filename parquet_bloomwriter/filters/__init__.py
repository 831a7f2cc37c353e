"""The Bloom filters of a file: read the filters that it has, build new ones, check them."""
