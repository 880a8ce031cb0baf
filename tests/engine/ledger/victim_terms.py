"""What a victim and whoever kills it agree about."""

from __future__ import annotations

from typing import Final

LEASE: Final = 0.6
"""Seconds for which an attempt is held after its process was killed."""
