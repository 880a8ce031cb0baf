"""Texts on standard output: help, the version, tables. Where they cannot be written, that is said."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

import click

from ._exit import READER_GONE, SUCCEEDED, Unusable
from ._streams import Streams, write_all


def _print(text: str) -> None:
    """Write *text* to standard output, all of it.

    Raises:
        BrokenPipeError: Nobody reads.
        Unusable: It cannot be written.
    """
    there: object = sys.stdout  # None when it was closed at the start, whatever its declared type
    if there is None:
        raise Unusable("standard output cannot be written: it is closed")
    try:
        click.echo(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable(error) from error


def _show_help(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:  # noqa: FBT001  # as click calls it
    if wanted and not ctx.resilient_parsing:
        _print(ctx.get_help())
        ctx.exit()


def show_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:  # noqa: FBT001  # the same
    """Print the version, when it is asked for."""
    if wanted and not ctx.resilient_parsing:
        _print(f"armory-trio, version {_version()}")
        ctx.exit()


class Command(click.Command):
    """A command whose help says so when it cannot be written."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The option, which prints in our way."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _show_help
        return option


class Group(Command, click.Group):
    """The same for a group of commands."""

    command_class = Command


def _version() -> str:
    try:
        return version("armory-trio")
    except PackageNotFoundError:
        return "of a checkout that is not installed"


def show(streams: Streams, lines: Sequence[str], *, code: int = SUCCEEDED, encoding: str = "utf-8") -> int:
    """Write *lines* to standard output. Answers *code*, or that nobody reads. What *encoding* has not becomes escapes.

    Raises:
        Unusable: It cannot be written.
    """
    try:
        write_all(streams.stdout, "".join(f"{line}\n" for line in lines).encode(encoding, "backslashreplace"))
    except BrokenPipeError:
        return READER_GONE
    except OSError as error:
        raise _unwritable(error) from error
    return code


def _unwritable(error: OSError) -> Unusable:
    return Unusable(f"standard output cannot be written: {error.strerror or error}")
