"""The examples of tool loops: a plain list is the history, legal after every step."""

from __future__ import annotations

import json
import subprocess
import sys
from types import ModuleType

import pytest

from armory_trio.providers import HistoryError, check_history
from examples.providers import anthropic_messages, gemini_contents, openai_chat, openai_responses
from examples.providers._office import require_legal
from tests.requirements import requirement

EXAMPLES = {
    "openai-chat": (
        openai_chat,
        ["Moss has no roots.", "there is no rose.txt", "this call may be cut short", "nothing on roses"],
    ),
    "openai-responses": (
        openai_responses,
        ["Moss has no roots.", "not valid JSON", "Ferns are older", "Both are old."],
    ),
    "anthropic": (
        anthropic_messages,
        ["Moss has no roots.", "the stream broke off", "Ferns are older", "Both are old."],
    ),
    "gemini": (
        gemini_contents,
        [
            "It is not known whether it ran",
            "Ferns are older",
            '"output": "4"',
            "`text` is required",
            "Four words on moss.",
        ],
    ),
}


@requirement("history.examples")
@pytest.mark.parametrize(("provider", "example", "told"), [(name, *each) for name, each in EXAMPLES.items()])
async def test_the_loop_ends_with_a_legal_history_that_says_what_happened(
    provider: str, example: ModuleType, told: list[str]
) -> None:
    history = await example.run()

    assert check_history(history) == ()
    text = json.dumps(history)
    places = [text.index(words) for words in told]
    assert places == sorted(places)
    assert len(history) >= 6


@requirement("history.examples")
@pytest.mark.parametrize("example", [example for example, _ in EXAMPLES.values()])
def test_each_is_one_command(example: ModuleType) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", example.__name__], capture_output=True, text=True, timeout=60, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "moss" in ran.stdout.lower()


@requirement("history.examples")
def test_the_scripted_provider_refuses_a_history_that_is_not_legal() -> None:
    with pytest.raises(HistoryError, match="no result"):
        require_legal(gemini_contents.LEFT_BY_A_CRASH, "gemini")
