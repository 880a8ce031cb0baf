"""Attempts of keyed calls, kept by a ledger: claimed, decided, followed, written down, told again."""
