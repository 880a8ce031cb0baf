"""How much of what a server says is kept: words are cut with a mark, addresses are whole or left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from armory_trio import LogWritten, ProgressReported
from armory_trio.content import encode_json
from armory_trio.definitions import (
    AudioContent,
    ElicitAccepted,
    ElicitAnswer,
    ElicitRequest,
    LinkContent,
    TextContent,
    TextResourceContent,
)
from armory_trio.integrations.mcp.client import ConnectionFailed, SetAside, open_mcp
from armory_trio.integrations.mcp.client._content import blocks_of, value_of
from armory_trio.integrations.mcp.client._faults import error_answer
from tests.integrations.mcp.client.rough import open_rough, server
from tests.requirements import requirement

LONG: Final = "http://example.com/" + "ü" * 5_000
LONGEST: Final = "x:" + "a" * 8_190
MUCH: Final = 3_000_000


def block_of(entry: Mapping[str, object]) -> object:
    [block] = blocks_of({"content": [entry]})
    return block


def words_of(entry: Mapping[str, object]) -> str:
    block = block_of(entry)
    assert isinstance(block, TextContent)
    return block.text


@requirement("mcp-client.bounds", "mcp-client.content")
def test_an_address_is_kept_whole_or_left_out_with_what_is_said_about_it() -> None:
    assert block_of({"type": "resource_link", "uri": LONGEST}) == LinkContent(LONGEST)
    link = words_of({"type": "resource_link", "uri": LONGEST + "a", "name": "a.txt"})
    assert link.startswith("[link 'a.txt', whose address has 8,193 bytes and is left out; it begins <x:aaa")
    assert len(words_of({"type": "resource_link", "uri": LONG, "name": "n" * MUCH})) < 1_500

    kept = block_of({"type": "resource", "resource": {"uri": LONGEST, "text": "inside"}})
    assert kept == TextResourceContent(LONGEST, "inside")
    text = words_of({"type": "resource", "resource": {"uri": LONG, "text": "inside"}})
    assert "10,019 bytes and is left out" in text
    assert text.endswith("]\ninside")

    data = words_of({"type": "resource", "resource": {"uri": LONG, "blob": "AAAA"}})
    assert data.startswith("[resource of 3 bytes, which are left out with it, whose address has 10,019 bytes")


@requirement("mcp-client.bounds", "mcp-client.content")
def test_what_is_said_of_a_resource_beside_its_address_is_bounded_as_well() -> None:
    link = block_of({"type": "resource_link", "uri": "x:1", "name": "n" * MUCH, "description": "d" * MUCH})
    assert isinstance(link, LinkContent)
    assert len(link.name) <= 1_024
    assert link.name.endswith("n... (bytes left out: 2999005)")
    assert len(link.description) <= 10_000
    assert "bytes left out: 2990" in link.description

    typed = "text/" + "x" * MUCH
    assert block_of({"type": "resource_link", "uri": "x:1", "mimeType": typed}) == LinkContent("x:1")
    named = {
        "type": "resource",
        "resource": {"uri": "x:1", "mimeType": typed, "text": "in"},
        "annotations": {"lastModified": "2" * MUCH},
    }
    assert block_of(named) == TextResourceContent("x:1", "in")
    assert "of a kind that is not known" in words_of({"type": "audio", "data": "AAAA", "mimeType": f"audio/{typed}"})
    assert block_of({"type": "audio", "data": "AAAA", "mimeType": "audio/x"}) == AudioContent(b"\0\0\0", "audio/x")


@requirement("mcp-client.bounds")
def test_the_text_of_a_result_is_not_what_is_bounded_here() -> None:
    assert value_of({"content": [{"type": "text", "text": "x" * MUCH}]}) == "x" * MUCH


@requirement("mcp-client.bounds", "mcp-client.errors")
def test_an_error_of_the_protocol_is_told_up_to_a_bound_in_all() -> None:
    told = error_answer("mill", -32000, "m" * MUCH, {"why": "w" * MUCH, "n": 5}).failure()
    assert len(told.message.encode()) + len(encode_json(told.details)) <= 65_536
    assert "bytes left out: " in told.message
    assert told.message.startswith("'mill' answered with an error: mmm")
    assert told.message.endswith("(-32000)")
    assert told.details is not None
    assert told.details["code"] == -32000
    data = told.details["data"]
    assert isinstance(data, dict)
    assert "bytes left out: " in data["why"]
    assert data["n"] == 5

    short = error_answer("mill", -32042, "sign here", {"url": "https://example.com/" + "x" * 8_000}).failure()
    assert short.details == {"code": -32042, "data": {"url": "https://example.com/" + "x" * 8_000}}


@requirement("mcp-client.bounds", "mcp-client.errors")
async def test_an_error_of_a_tool_is_told_up_to_a_bound() -> None:
    async with open_rough() as rough:
        result = await rough.call("moan", {"size": MUCH})
        assert result.error is not None
        assert (result.error.code, result.effect) == ("TOOL_REPORTED_ERROR", "unknown")
        assert len(result.error.message) + len(encode_json(result.error.details)) <= 65_536
        assert "bytes left out: " in result.error.message
        assert "bytes left out: " in encode_json(result.error.details)


@requirement("mcp-client.bounds", "mcp-client.progress")
async def test_progress_and_logs_are_told_up_to_a_bound() -> None:
    async with (
        open_rough() as rough,
        rough.supervisor.events(ProgressReported, LogWritten, include_payloads=True) as events,
    ):
        await rough.value("drone", size=MUCH)
        [progress, log] = [await anext(events), await anext(events)]
    assert isinstance(progress, ProgressReported)
    assert isinstance(log, LogWritten)
    assert log.data is not None
    said = [(progress.message or "", 10_000), (log.message, 10_000), (str(log.data["logger"]), 1_024)]
    assert [len(words) <= most for words, most in said] == [True] * 3
    assert all("bytes left out: " in words for words, _ in said)


@requirement("mcp-client.bounds", "mcp-client.opening")
async def test_why_a_server_cannot_be_opened_is_told_up_to_a_bound() -> None:
    with pytest.raises(ConnectionFailed) as caught:
        async with open_mcp(server("raves"), name="mill"):
            pytest.fail("it was entered")
    assert len(str(caught.value)) < 11_000
    assert "bytes left out: " in caught.value.reason


@requirement("mcp-client.bounds", "mcp-client.set-aside")
def test_a_tool_that_is_set_aside_is_named_up_to_a_bound() -> None:
    aside = SetAside("n" * MUCH, "because " * MUCH)
    assert (len(aside.name) <= 1_024, len(aside.reason) <= 10_000) == (True, True)
    assert "bytes left out: " in aside.name
    assert "bytes left out: " in aside.reason


@requirement("mcp-client.bounds", "mcp-client.elicit")
@pytest.mark.parametrize("way", ["words", "address"])
async def test_a_question_that_nobody_reads_to_its_end_is_not_put(way: str) -> None:
    asked: list[ElicitRequest] = []

    async def answer(request: ElicitRequest) -> ElicitAnswer:
        asked.append(request)
        return ElicitAccepted({"n": 1})

    async with open_rough() as rough:
        result = await rough.call("drivel", {way: 70_000}, elicit=answer)
        assert result.value == '{"action": "cancel"}'
        assert asked == []
        await rough.call("drivel", {way: 8_000}, elicit=answer)
        assert len(asked) == 1
