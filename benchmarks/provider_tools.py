"""How many tools a second are compiled for each provider: ``python -m benchmarks.provider_tools [tools]``.

Seconds are of the processor, so that other programs do not count. The definitions are those of the public
function-calling data, each made as often as it takes; none is compiled twice in the column ``fresh``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final

from armory_trio import ToolDefinition, ToolId
from armory_trio.providers._forms import FORMS
from armory_trio.providers._manifest import compile_definition
from armory_trio.toolbox import ProviderName, Strictness
from examples.demo.bfcl import CATEGORIES, load_cases
from examples.demo.dialect import translate

CASES: Final[tuple[tuple[ProviderName, Strictness], ...]] = (
    *(("openai-chat", strict) for strict in (False, True)),
    *(("anthropic", strict) for strict in (False, True)),
    *((name, False) for name in ("gemini", "gemini-openapi", "common")),
)


def _definitions(count: int) -> list[ToolDefinition]:
    known = [each for category in CATEGORIES for case in load_cases(category) for each in case.definitions]
    return [
        ToolDefinition(
            ToolId(f"t{index}"), each.description, {**translate(each.parameters), "additionalProperties": False}
        )
        for index in range(count)
        for each in (known[index % len(known)],)
    ]


def _rate(work: Callable[[], object], count: int) -> float:
    began = time.process_time()
    work()
    return count / (time.process_time() - began)


def main() -> None:
    """Print a line for each dialect."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    definitions = _definitions(count)
    print(f"digests          {_rate(lambda: [each.digest for each in definitions], count):>9,.0f} tools/s")
    for provider, strict in CASES:
        assert provider in FORMS

        def compile_all(provider: ProviderName = provider, strict: Strictness = strict) -> None:
            for each in definitions:
                compile_definition(each, provider, strict=strict)

        fresh, kept = _rate(compile_all, count), _rate(compile_all, count)
        print(f"{provider:<15} {'strict' if strict else '':<7} {fresh:>9,.0f} fresh, {kept:>9,.0f} kept tools/s")


if __name__ == "__main__":
    main()
