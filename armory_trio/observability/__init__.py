"""Telling others what runs: spans, metrics and log lines. Each module is loaded by those who use it."""
