"""Which columns deserve Bloom filters: a profile from footer and samples, costs, a verdict."""
