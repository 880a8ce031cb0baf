"""A stream is read by the manifest that the model was offered, as a whole message is."""

from __future__ import annotations

from typing import Final

import pytest

from armory_trio import Toolbox, tool
from armory_trio.providers import anthropic, gemini, openai
from armory_trio.providers._assembly import Assembler
from armory_trio.toolbox import Manifest
from tests.requirements import requirement

from ._streams import anthropic_events, assembled, chat_events, gemini_events, response_events, said


@tool(effect="read-only", namespace="hotel")
async def look_up(query: str, limit: int = 10) -> str:
    """Find a guest."""
    return query


TOOLBOX: Final = Toolbox([look_up])
WAYS: Final = {
    "chat": (TOOLBOX.to_openai, openai.ChatAssembler, chat_events),
    "responses": (TOOLBOX.to_openai_responses, openai.ResponseAssembler, response_events),
    "anthropic": (TOOLBOX.to_anthropic, anthropic.MessageAssembler, anthropic_events),
    "gemini": (TOOLBOX.to_gemini, gemini.ContentAssembler, gemini_events),
}


@requirement("assembly.manifest")
@pytest.mark.parametrize("way", WAYS)
def test_names_and_arguments_of_a_stream_are_mapped_back_by_the_manifest(way: str) -> None:
    offer, make, events = WAYS[way]
    manifest: Manifest = offer()
    [offered] = manifest.offered
    written = manifest.write("look_up", {"query": "Ann"})
    assembler: Assembler = make(manifest=manifest)

    [call] = assembled(assembler, events([said("1", offered.wire, written)])).calls

    assert (call.name, call.arguments, call.defect) == (offered.name, {"query": "Ann"}, None)
