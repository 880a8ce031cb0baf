"""The examples of agents: three frameworks at one desk."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from examples.agents import langchain, openai_agents, pydantic_ai
from examples.agents._desk import CITIES, Desk
from tests.integrations.loops import run_on_asyncio
from tests.requirements import requirement

EXAMPLES = pytest.mark.parametrize(
    "example", [openai_agents, pydantic_ai, langchain], ids=["openai-agents", "pydantic-ai", "langchain"]
)


@requirement("examples.agents")
@EXAMPLES
def test_an_agent_searches_within_limits_asks_before_it_books_and_is_told_the_truth(example: ModuleType) -> None:
    desk = Desk()
    told: list[str] = run_on_asyncio(lambda: example.run(desk))

    text = "\n".join(told)
    assert text.count("may it book ") == 1
    assert text.count("9900") == len(CITIES)
    assert "It may have taken effect. Do not simply repeat it" in text
    assert told[-1].startswith("Two seats to Rome are booked.")
    assert (desk.most, desk.booked) == (2, ["AT 101 x 2"])


@requirement("examples.agents")
@EXAMPLES
def test_each_is_one_command(example: ModuleType) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", example.__name__], capture_output=True, text=True, timeout=60, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "at most 2 searches at a time; booked: AT 101 x 2" in ran.stdout
