"""How well tools are found, and how fast. ``python -m benchmarks.search`` measures it on the Berkeley data."""
