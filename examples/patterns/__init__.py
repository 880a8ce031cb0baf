"""Patterns, each as a small program: ``python -m examples.patterns.circuit_breaker``."""
