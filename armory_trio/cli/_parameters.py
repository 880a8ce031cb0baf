"""Values of options that click does not know by itself."""

from __future__ import annotations

import math

import click


class Seconds(click.ParamType[float]):
    """A number of seconds."""

    name = "seconds"

    def __init__(self, *, zero: bool = False) -> None:
        self._zero = zero

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """*value* as a number."""
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = math.nan
        if not (seconds >= 0 if self._zero else seconds > 0):
            self.fail(f"{value!r} is no {'' if self._zero else 'positive '}number of seconds, such as 2.5", param, ctx)
        return seconds


class Count(click.ParamType[int]):
    """A whole number, of *least* or more."""

    name = "count"

    def __init__(self, least: int) -> None:
        self._least = least

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """*value* as a number."""
        try:
            count = int(str(value))
        except ValueError:
            count = -1
        if count < self._least:
            self.fail(f"{str(value)[:40]!r} is no whole number of {self._least} or more, such as 8", param, ctx)
        return count
