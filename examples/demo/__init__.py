"""The main job on real input: ``python -m examples.demo``, or ``make demo``."""
