"""Ratios of armory_trio to what one writes by hand on trio. ``python -m benchmarks`` prints them."""
