"""Behaviours of the catalogues that no part of the house proves alone."""
