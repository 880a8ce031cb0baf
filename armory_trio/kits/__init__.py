"""Ready-made tools. Each kit is a package of its own, imported by those who want it."""
