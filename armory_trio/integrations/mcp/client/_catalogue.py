"""What tools a server lists: read leniently, page by page, each with the digest of what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

import msgspec
from mcp.client.session import ClientSession
from mcp_types import PaginatedRequestParams
from mcp_types import Tool as McpTool
from pydantic import ValidationError

from ....definitions._canonical import canonical_text, sha256_hex
from ....errors import JsonError
from ._bounds import shortened, shortened_name

_MOST_PAGES: Final = 2_000
"""Pages of one listing. A server that needs more than this has no end."""

_SAID: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""What the digest of a tool is about: all that a model reads or a rule looks at."""


class Listed(msgspec.Struct, frozen=True):
    """A tool as its server lists it.

    Args:
        name: Its name there.
        title: Its name for people, or None.
        description: What it does, in the server's words.
        input_schema: JSON Schema of its arguments.
        output_schema: JSON Schema of its structured result, or None.
        annotations: What the server says about its effects: hints, which it need not keep.
        digest: SHA-256 over all of these.
    """

    name: str
    title: str | None
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object] | None
    annotations: Mapping[str, object]
    digest: str
    said: Mapping[str, object]

    def differs_in(self, other: Listed) -> list[str]:
        """The parts in which two definitions of a tool differ."""
        return [part for part in _SAID if _text(self.said.get(part)) != _text(other.said.get(part))]


class SetAside(msgspec.Struct, frozen=True):
    """A tool that is listed, but cannot be imported.

    Args:
        name: Its name, as far as it has one; cut where it is longer than any that can be imported.
        reason: What is wrong with it.
    """

    name: str
    reason: str

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "name", shortened_name(self.name))
        msgspec.structs.force_setattr(self, "reason", shortened(self.reason))


class Page(msgspec.Struct, frozen=True):
    """One page of a listing: what can be used of it, and what cannot."""

    tools: tuple[Listed, ...] = ()
    set_aside: tuple[SetAside, ...] = ()


class Catalogue(msgspec.Struct, frozen=True):
    """Everything that a server lists, by name."""

    tools: Mapping[str, Listed] = {}
    set_aside: tuple[SetAside, ...] = ()


class ListingFailed(Exception):
    """The server's list of tools cannot be read to its end. The text says why."""


def sift(answer: Mapping[str, object]) -> tuple[Page, list[object]]:
    """What is in a page, and its entries without those that are no tools, which would spoil the others."""
    entries = answer.get("tools")
    if not isinstance(entries, list):
        return Page(), []
    good: list[object] = []
    tools: list[Listed] = []
    aside: list[SetAside] = []
    for at, entry in enumerate(cast("list[object]", entries)):
        try:
            tools.append(_listed(entry))
            good.append(entry)
        except (ValueError, TypeError, JsonError) as error:
            name = cast("dict[str, object]", entry).get("name") if isinstance(entry, dict) else None
            reason = f"cannot be called: {_told(error)}"
            aside.append(SetAside(name if isinstance(name, str) else f"tools[{at}]", reason))
    return Page(tuple(tools), tuple(aside)), good


def _told(error: Exception) -> str:
    """What is wrong with an entry, in one line: of a model that does not fit, where and why first."""
    if not isinstance(error, ValidationError):
        return str(error).partition("\n")[0]
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _listed(entry: object) -> Listed:
    if not isinstance(entry, dict):
        raise TypeError("it is no object")
    given = cast("dict[str, object]", entry)
    McpTool.model_validate(given, by_name=False)
    said = {part: given[part] for part in _SAID if given.get(part) is not None}
    title, description = given.get("title"), given.get("description")
    name = cast("str", given["name"])
    if not name.strip():
        raise ValueError("its name is blank")
    execution = given.get("execution")
    if isinstance(execution, dict) and cast("dict[str, object]", execution).get("taskSupport") == "required":
        raise ValueError("it runs only as a task in the background of its server")
    annotations = cast("Mapping[str, object]", given.get("annotations") or {})
    spoken = title or annotations.get("title")
    return Listed(
        name,
        spoken if isinstance(spoken, str) else None,
        description if isinstance(description, str) else "",
        cast("Mapping[str, object]", given["inputSchema"]),
        cast("Mapping[str, object] | None", given.get("outputSchema")),
        annotations,
        sha256_hex(_text(said)),
        said,
    )


def _text(value: object) -> str:
    return canonical_text(value, mode="exact")


async def fetch(session: ClientSession, page_read: Callable[[], Page], most: int, *, modern: bool) -> Catalogue:
    """Read the whole list. Cancelled: nothing is kept.

    Args:
        session: The session to ask.
        page_read: Answers what was made of the page that came last; see `sift`.
        most: How many tools there may be.
        modern: Whether the session has an opinion of its own about which tools can be called.

    Raises:
        ListingFailed: It has no end, or is longer than that.
        MCPError: The server answered with an error, or the connection broke.
        ValueError: What it answered is no list of tools.
    """
    tools: dict[str, Listed] = {}
    aside: list[SetAside] = []
    seen: set[str] = set()
    params: PaginatedRequestParams | None = None
    while True:
        result = await session.list_tools(params=params)
        page = page_read()
        kept = {tool.name for tool in result.tools}
        aside += page.set_aside
        for listed in page.tools:
            if listed.name in tools:
                aside.append(SetAside(listed.name, "is listed twice; the first one stands"))
            elif modern and listed.name not in kept:
                aside.append(SetAside(listed.name, "asks for headers that are not legal"))
            else:
                tools[listed.name] = listed
        cursor = result.next_cursor
        if cursor is None:
            return Catalogue(tools, tuple(aside))
        if cursor in seen or len(seen) >= _MOST_PAGES:
            what = f"came to the page {cursor[:100]!r} again" if cursor in seen else f"has over {_MOST_PAGES} pages"
            raise ListingFailed(f"its list of tools {what}")
        if len(tools) > most:
            raise ListingFailed(f"it lists more than {most:,} tools; give open_mcp a larger max_tools if that is meant")
        seen.add(cursor)
        params = PaginatedRequestParams(cursor=cursor)
