"""What a docstring tells a model: what the tool is for, and what each parameter means."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from attrs import frozen

if TYPE_CHECKING:
    from docstring_parser import Docstring

_SECTION: Final = re.compile(r"(?m)^[ \t]*(?:[A-Z][A-Za-z ]+:[ \t]*$|-{3,}[ \t]*$|:[a-z]+[^:\n]*:)")
"""A sign that there is more than prose: a Google heading, the rule under a NumPy heading, a reST field."""


@frozen
class DocText:
    """A docstring, taken apart.

    Args:
        description: The summary and the longer text, without the sections about parameters, results and errors.
        parameters: The text for each parameter that has one.
    """

    description: str = ""
    parameters: Mapping[str, str] = {}


def read_docstring(text: str | None, names: Iterable[str] = ()) -> DocText:
    """Take *text* apart, written in Google, NumPy or reST style. Never raises: what is no section is prose.

    Args:
        text: The docstring, indented as it stands in the source.
        names: The parameters there are. Of the styles that *text* could be in, the one that explains most of them is
            taken; texts about other names are dropped.
    """
    clean = inspect.cleandoc(text or "")
    if not clean:
        return DocText()
    if not _SECTION.search(clean):
        return DocText(description=clean)
    known = frozenset(names)
    parsed = max(_readings(clean), key=lambda reading: _explained(reading, known), default=None)
    if parsed is None:
        return DocText(description=clean)
    return DocText(description=_prose(parsed) or _first_paragraph(clean), parameters=_parameters(parsed, known))


def _readings(text: str) -> list[Docstring]:
    """*text* as each style reads it, the commonest style first. One that can't read it at all is left out."""
    from docstring_parser import DocstringStyle, ParseError, parse  # noqa: PLC0415  # only docstrings with sections pay for it

    readings: list[Docstring] = []
    for style in (DocstringStyle.GOOGLE, DocstringStyle.NUMPYDOC, DocstringStyle.REST):
        try:
            readings.append(parse(text, style))
        except ParseError:
            continue
    return readings


def _explained(reading: Docstring, known: frozenset[str]) -> tuple[int, int]:
    """How well a style fits: the known parameters it explains, then the sections it found."""
    return sum(parameter.arg_name.lstrip("*") in known for parameter in reading.params), len(reading.meta)


def _parameters(reading: Docstring, known: frozenset[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for parameter in reading.params:
        name = parameter.arg_name.lstrip("*")
        text = inspect.cleandoc(parameter.description or "")
        if name in known and text:
            texts[name] = " ".join(text.split()) if "\n\n" not in text else text
    return texts


def _prose(reading: Docstring) -> str:
    parts = [part.strip() for part in (reading.short_description, reading.long_description) if part and part.strip()]
    gap = "\n\n" if reading.blank_after_short_description else "\n"
    return gap.join(parts)


def _first_paragraph(text: str) -> str:
    first = text.partition("\n\n")[0]
    return "" if _SECTION.match(first) else first
