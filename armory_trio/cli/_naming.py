"""How the tools of a command are named: by words and options that all verbs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from ..toolbox import Toolbox
from ._loading import KITS, REFERENCE, load_toolbox
from ._settings import ToolOptions


def with_tool_options(function: Callable[..., int]) -> Callable[..., int]:
    """The options that name tools."""
    for option in reversed(
        (
            click.option("--toolbox", multiple=True, metavar="MODULE:ATTRIBUTE", help="Another way to name tools."),
            click.option("--manifest", multiple=True, metavar="FILE", help="Tools that a TOML or JSON file describes."),
            click.option("--kit", type=click.Choice(KITS), help="A ready-made set of tools; needs --root."),
            click.option("--root", metavar="DIR", help="The directory that the tools of the kit may read."),
            click.option("--debug", is_flag=True, help="Show the traceback of an error too."),
        )
    ):
        function = option(function)
    return function


def sorted_words(options: ToolOptions) -> tuple[list[str], list[str]]:
    """The references to tools, and what else was given.

    Raises:
        click.UsageError: A word is empty, as that of a variable that is not set.
    """
    if "" in options["words"]:
        raise click.UsageError("one of the words is empty, which names neither tools nor a file; is a variable unset?")
    references = [word for word in options["words"] if REFERENCE.fullmatch(word)]
    return [*references, *options["toolbox"]], [word for word in options["words"] if word not in references]


def load(references: Sequence[str], options: ToolOptions) -> Toolbox:
    """The tools that are named.

    Raises:
        Unusable: There are none, or one cannot be loaded.
    """
    return load_toolbox(references, options["manifest"], options["kit"], options["root"])
