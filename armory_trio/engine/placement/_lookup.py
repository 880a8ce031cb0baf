"""Finding a tool again in a worker process: by its module, its name there, and what arguments it takes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from operator import attrgetter

from ...definitions import Tool, canonical_text, is_tool, sha256_hex, tool


class NoSuchTool(Exception):
    """The module is there, and the tool is not in it."""


def digest_of(schema: object) -> str:
    """What tells two input schemas apart."""
    return sha256_hex(canonical_text(schema, mode="exact"))


def find_tool(module: str, qualname: str, schema: str) -> Tool[..., object]:
    """The tool whose function is *qualname* in *module*, and whose input schema has the digest *schema*.

    That is what stands there, or a tool of the module that was made of what stands there; or else one is made of it.

    Raises:
        NoSuchTool: There is none.
        BaseException: What importing the module raised.
    """
    importlib.import_module(module)
    holder = sys.modules[module]
    try:
        found: object = attrgetter(qualname)(holder)
    except AttributeError:
        raise NoSuchTool(f"{module} has no {qualname}") from None
    for candidate in _candidates(holder, found):
        if digest_of(candidate.input_schema) == schema:
            return candidate
    raise NoSuchTool(
        f"{module}:{qualname} takes other arguments than the tool in the host: the file was changed meanwhile, or the "
        f"tool was made with an input of its own outside of that module; then give the tool a name in the module"
    )


def _candidates(holder: object, found: object) -> Iterator[Tool[..., object]]:
    if is_tool(found):
        yield found
    function = found.function if is_tool(found) else found
    for value in list(vars(holder).values()):
        if is_tool(value) and value.function is function:
            yield value
    if callable(function):
        yield tool(function)
