"""Telling others what runs: spans, metrics, log lines, a live view. Each module is loaded by those who use it."""
