"""What a docstring tells a model: what the tool is for, and what each parameter means.

Google, NumPy and reST style are read in one go, so nobody has to say which it is. What is no section about parameters,
results or errors is prose, and stays as it was written.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec

_PARAMETERS: Final = frozenset(
    (
        "args",
        "arguments",
        "params",
        "parameters",
        "keyword args",
        "keyword arguments",
        "keyword parameters",
        "other args",
        "other arguments",
        "other parameters",
        "attributes",
    )
)
_RESULTS: Final = frozenset(
    ("return", "returns", "yield", "yields", "receives", "raise", "raises", "except", "exceptions", "warns")
)
"""Sections for programmers: a model sees the result and the error itself."""

_NAMES: Final = r"\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*"
_RULE: Final = re.compile(r"[-=]{3,}\s*")
_GOOGLE_ENTRY: Final = re.compile(rf"(?P<names>{_NAMES})(?:\s*\(.*?\))?\s*:(?:\s+(?P<text>.*)|$)")
_NUMPY_ENTRY: Final = re.compile(rf"(?P<names>{_NAMES})(?:\s*:.*|\s*$)")
_FIELD: Final = re.compile(r":(?P<word>[a-z]+)(?P<rest>(?:\s[^:]*)?):(?:\s+(?P<text>.*)|$)")
_FIELD_PARAMETERS: Final = frozenset(("param", "parameter", "arg", "argument", "key", "keyword", "var", "ivar", "cvar"))
_FIELD_OTHERS: Final = frozenset(
    ("type", "vartype", "return", "returns", "rtype", "raise", "raises", "except", "exception", "yield", "yields")
)
_LIST: Final = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")

Style = Literal["google", "numpy"]
Entry = tuple[Sequence[str], str]
"""The parameters that share a text, and the text."""


class DocText(msgspec.Struct, frozen=True):
    """A docstring, taken apart.

    Args:
        description: All of it that is not about parameters, results or errors.
        parameters: The text for each parameter that has one.
    """

    description: str = ""
    parameters: Mapping[str, str] = {}


def read_docstring(text: str | None, names: Iterable[str] = ()) -> DocText:
    """Take *text* apart. Never raises: what can't be read as a section is prose.

    Args:
        text: The docstring, indented as it stands in the source.
        names: The parameters there are; texts about others are dropped.
    """
    lines = _clean(text) if isinstance(text, str) else []
    known = frozenset(names)
    prose: list[str] = []
    found: dict[str, str] = {}
    at = 0
    while at < len(lines):
        end, entries = _section(lines, at)
        if end == at:
            prose.append(lines[at])
            end += 1
        for entry_names, entry_text in entries:
            found.update({name: entry_text for name in entry_names if name in known and entry_text})
        at = end
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(prose)).strip()
    return DocText(description, found)


def _clean(text: str) -> list[str]:
    """The lines without the indentation of the source.

    Where the first one is a heading, nothing shows how far the others are indented below it: they are its section.
    """
    first, *rest = inspect.cleandoc(text).splitlines() or [""]
    is_heading = first.endswith(":") and first[:-1].lower() in _PARAMETERS
    if is_heading and rest and rest[0] and not rest[0].startswith((" ", "\t")):
        rest = [f"    {line}" for line in rest]
    return [first, *rest]


def _section(lines: Sequence[str], at: int) -> tuple[int, list[Entry]]:
    """Where the section that begins at *at* ends, and its entries about parameters; *at* itself when none begins."""
    style, title = _heading(lines, at)
    if style is None:
        return _field(lines, at)
    end = _end_of_google(lines, at + 1) if style == "google" else _end_of_numpy(lines, at + 2)
    if title in _RESULTS:
        return end, []
    block = lines[at + 1 : end] if style == "google" else lines[at + 2 : end]
    entries = list(_entries(inspect.cleandoc("\n" + "\n".join(block)).splitlines(), style))
    return (end, entries) if entries else (at, [])


def _heading(lines: Sequence[str], at: int) -> tuple[Style | None, str]:
    line, below = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
    title = line.rstrip().removesuffix(":").lower()
    if title not in _PARAMETERS and title not in _RESULTS:
        return None, ""
    if _RULE.fullmatch(below):
        return "numpy", title
    return ("google", title) if line.rstrip().endswith(":") and _end_of_google(lines, at + 1) > at + 1 else (None, "")


def _end_of_google(lines: Sequence[str], start: int) -> int:
    """A section ends before the first line that is not indented; empty lines before that belong to nobody."""
    end = start
    for index in range(start, len(lines)):
        if lines[index].startswith((" ", "\t")):
            end = index + 1
        elif lines[index]:
            break
    return end


def _end_of_numpy(lines: Sequence[str], start: int) -> int:
    """A section ends before the next heading, which is a line with a rule below it."""
    for index in range(start, len(lines) - 1):
        if lines[index] and not lines[index].startswith((" ", "\t")) and _RULE.fullmatch(lines[index + 1]):
            return index
    return len(lines)


def _entries(lines: Sequence[str], style: Style) -> Iterator[Entry]:
    pattern = _GOOGLE_ENTRY if style == "google" else _NUMPY_ENTRY
    names: Sequence[str] = ()
    text: list[str] = []
    for line in lines:
        start = pattern.match(line)
        if start is None:
            text.append(line)
            continue
        if names:
            yield names, _joined(text)
        names = _split(start["names"])
        text = [start["text"] or ""] if style == "google" else [""]
    if names:
        yield names, _joined(text)


def _field(lines: Sequence[str], at: int) -> tuple[int, list[Entry]]:
    """The reST field that begins at *at*."""
    start = _FIELD.match(lines[at])
    if start is None or start["word"] not in _FIELD_PARAMETERS | _FIELD_OTHERS:
        return at, []
    end = _end_of_google(lines, at + 1)
    words = start["rest"].split()
    if start["word"] in _FIELD_OTHERS or not words:
        return end, []
    return end, [(_split(words[-1]), _joined([start["text"] or "", *lines[at + 1 : end]]))]


def _split(names: str) -> Sequence[str]:
    return [name.strip().lstrip("*") for name in names.split(",")]


def _joined(lines: Sequence[str]) -> str:
    """The text of an entry on one line, unless it holds a list or paragraphs."""
    text = inspect.cleandoc("\n".join(lines))
    parts = text.splitlines()
    if "" in parts or any(_LIST.match(part) for part in parts):
        return text
    return " ".join(part.strip() for part in parts)
