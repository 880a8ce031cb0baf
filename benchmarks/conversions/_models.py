"""The tool's arguments as pydantic models, which the other packages take."""

# pydantic is only there in the environments that are made for others.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import datetime as dt
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Traveller(BaseModel):
    """Who travels."""

    model_config = ConfigDict(extra="forbid", strict=False)
    name: str
    age: int
    email: str | None


class Leg(BaseModel):
    """One train."""

    model_config = ConfigDict(extra="forbid")
    origin: str
    target: str
    day: dt.date
    seat: Literal["window", "aisle"]


class Trip(BaseModel):
    """All arguments."""

    model_config = ConfigDict(extra="forbid")
    traveller: Traveller
    legs: list[Leg]
    budget: float
    tags: dict[str, str]


def book_trip(traveller: Traveller, legs: list[Leg], budget: float, tags: dict[str, str]) -> str:
    """Book a trip."""
    return f"{traveller.name} {len(legs)} {budget} {len(tags)}"
