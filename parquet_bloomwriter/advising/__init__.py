"""Advice on which columns deserve Bloom filters: a profile by samples, costs, a verdict."""
