"""What the tests of searching share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from armory_trio import Tool, define_tool
from armory_trio.toolbox.search import Match


def made(
    name: str,
    description: str = "",
    *,
    tags: Sequence[str] = (),
    properties: Mapping[str, object] | None = None,
    examples: Sequence[object] = (),
    version: str = "",
) -> Tool[..., object]:
    """A tool that does nothing."""
    return define_tool(
        name=name,
        description=description,
        input={"type": "object", "properties": dict(properties or {})},
        execute=_nothing,
        tags=tags,
        examples=examples,
        version=version,
    )


def _nothing(**arguments: object) -> None:
    pass


def names(matches: Iterable[Match]) -> list[str]:
    return [match.tool.name for match in matches]


SHOP = (
    made("issue_refund", "Give a customer the money back for an order.", tags=["billing"]),
    made(
        "trackShipment",
        "Say where a parcel is.",
        properties={"trackingId": {"type": "string", "description": "The number on the label of the parcel."}},
    ),
    made("send_email", "Write a letter to somebody.", tags=["messages"], properties={"to": {"type": "string"}}),
    made("send_sms", "Write a short text to a phone.", tags=["messages"]),
    made(
        "translate_message",
        "Say the same in another language.",
        properties={"target": {"type": "object", "properties": {"locale": {"enum": ["german", "icelandic"]}}}},
    ),
    made("flag_fraud", "Mark an order as suspicious.", tags=["risk", "billing"], examples=["stop a swindler"]),
    made("get_weather", "The forecast for a city.", properties={"city": {"type": "string"}}),
)
