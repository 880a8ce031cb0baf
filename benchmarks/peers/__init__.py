"""What a user would pick instead, each in an environment of its own. ``python -m benchmarks.peers`` compares them."""
