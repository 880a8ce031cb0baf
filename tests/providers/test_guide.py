"""docs/providers.md runs as it stands, and prints what it says that it prints."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from armory_trio import providers
from tests.requirements import requirement

GUIDE = Path(__file__).parents[2] / "docs" / "providers.md"
BLOCKS = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples() -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCKS.finditer(GUIDE.read_text())]


@requirement("providers.guide-runs")
def test_the_guide_runs_and_prints_what_it_says() -> None:
    namespace: dict[str, object] = {"__name__": "guide"}

    for source, expected in examples():
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(source, str(GUIDE), "exec"), namespace)  # noqa: S102  # running the guide is the test
        assert printed.getvalue() == expected


@requirement("providers.guide-runs")
def test_every_python_block_of_the_guide_has_its_output() -> None:
    assert len(examples()) == GUIDE.read_text().count("```python") == 5


@requirement("providers.guide-runs")
def test_every_parser_that_the_guide_names_exists() -> None:
    named = set(re.findall(r"\b(openai|anthropic|gemini)\.(parse_\w+)", GUIDE.read_text()))

    assert len(named) == 4
    for module, parser in named:
        assert callable(getattr(getattr(providers, module), parser))
