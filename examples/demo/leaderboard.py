"""The second part: every definition of the Berkeley function-calling data as a tool, every expected call run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, cast

import msgspec

from armory_trio import (
    DefinitionError,
    Tool,
    Toolbox,
    ToolCall,
    ToolResult,
    define_tool,
    open_supervisor,
)

from .bfcl import CATEGORIES, Case, Definition, ExpectedCall, load_cases
from .dialect import DialectError, translate
from .screen import Screen, shortened

Arguments = dict[str, object]
Ran = list[tuple[str, Arguments]]
"""Which function ran with which arguments, in the order in which they ran."""

_PROVIDER_SAFE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_PROVIDER_LONGEST: Final = 64

_ISSUES_SHOWN: Final = 2

_WORDS: Final[Mapping[str, str]] = {
    "missing": "a required argument is left out",
    "type": "a value of another type",
    "choice": "none of the allowed values",
    "constraint": "outside of a limit",
    "format": "not of the format",
    "unknown": "no such argument",
}
"""What the codes of argument issues mean, for the table."""


class Unimported(msgspec.Struct, frozen=True):
    """A definition that could not be made a tool."""

    case: str
    name: str
    reason: str


class Imported(msgspec.Struct, frozen=True):
    """A test entry as a toolbox of its own: other entries have other functions of the same name.

    Args:
        ran: Filled by the tools, which do nothing else.
    """

    case: Case
    toolbox: Toolbox
    unimported: tuple[Unimported, ...]
    ran: Ran


class Ended(msgspec.Struct, frozen=True):
    """One expected call, and how it ended.

    Args:
        ran_with: The arguments that the function was really given; None when it did not run.
    """

    case: str
    category: str
    call: ExpectedCall
    result: ToolResult[object]
    ran_with: Arguments | None

    @property
    def accepted(self) -> bool:
        """It ran, and with what was sent; only defaults may have come on top."""
        sent, given = self.call.arguments, self.ran_with
        return (
            self.result.outcome == "success"
            and given is not None
            and all(name in given and given[name] == value for name, value in sent.items())
        )

    @property
    def refused(self) -> bool:
        """Its arguments were found wrong, and it did not run."""
        error = self.result.error
        return error is not None and error.code == "INVALID_ARGUMENTS" and self.ran_with is None

    @property
    def issues(self) -> tuple[tuple[str, str], ...]:
        """Code and words of each thing that was wrong with the arguments."""
        error = self.result.error
        details = (error.details if error is not None else None) or {}
        issues = cast("Sequence[Mapping[str, str]]", details.get("issues", ()))
        return tuple((issue["code"], issue["message"]) for issue in issues)


class Outcome(msgspec.Struct, frozen=True):
    """All that happened. Seconds are of the wall clock, for the table only."""

    imported: tuple[Imported, ...]
    ended: tuple[Ended, ...]
    import_seconds: float
    run_seconds: float

    @property
    def unimported(self) -> list[Unimported]:
        """The definitions that are no tools."""
        return [failure for imported in self.imported for failure in imported.unimported]

    @property
    def refused(self) -> list[Ended]:
        """The calls whose arguments were found wrong."""
        return [ended for ended in self.ended if ended.refused]

    @property
    def odd(self) -> list[Ended]:
        """The calls that neither ran as they were sent nor were refused for their arguments. There should be none."""
        return [ended for ended in self.ended if not ended.accepted and not ended.refused]

    @property
    def as_promised(self) -> bool:
        """Whether every definition is a tool and every call either ran as it was sent or was refused."""
        return not self.unimported and not self.odd


async def run_leaderboard(screen: Screen, *, verbose: bool = False) -> bool:
    """Import everything, run everything, print the table. True when it went as promised.

    Raises:
        DataMissing: The data is not installed.
    """
    screen.heading("The Berkeley function-calling data: import every function, run every expected call")
    outcome = await run_all([case for category in CATEGORIES for case in load_cases(category)])
    show(screen, outcome, verbose=verbose)
    return outcome.as_promised


async def run_all(cases: Iterable[Case]) -> Outcome:
    """Make a toolbox of each case, then run its expected calls through a supervisor of its own."""
    began = time.perf_counter()
    imported = tuple(import_case(case) for case in cases)
    between = time.perf_counter()
    ended: list[Ended] = []
    for one in imported:
        ended += await run_case(one)
    return Outcome(imported, tuple(ended), between - began, time.perf_counter() - between)


def import_case(case: Case) -> Imported:
    """The functions of *case* as tools that write down what they were called with, and give it back."""
    tools: list[Tool[..., object]] = []
    unimported: list[Unimported] = []
    ran: Ran = []
    for definition in case.definitions:
        try:
            tools.append(import_definition(definition, ran))
        except (DialectError, DefinitionError) as error:
            unimported.append(Unimported(case.id, definition.name, str(error)))
    return Imported(case, Toolbox(tools), tuple(unimported), ran)


def import_definition(definition: Definition, ran: Ran) -> Tool[..., object]:
    """One function as a tool.

    Raises:
        DialectError: Its parameters say something unknown.
        DefinitionError: Its parameters make no legal schema.
    """
    return define_tool(
        name=definition.name,
        description=definition.description,
        input=translate(definition.parameters),
        execute=_echo(definition.name, ran),
        effect="read-only",
    )


def _echo(name: str, ran: Ran) -> Callable[[Arguments], Awaitable[object]]:
    async def echo(arguments: Arguments) -> Arguments:
        ran.append((name, arguments))
        return arguments

    return echo


async def run_case(imported: Imported) -> list[Ended]:
    """The expected calls of one entry, as one batch."""
    case = imported.case
    calls = [ToolCall(call.name, call.arguments) for call in case.calls]
    async with open_supervisor(imported.toolbox) as supervisor:
        results = await supervisor.execute_batch(calls)
    return [
        Ended(case.id, case.category, call, result, _ran_with(imported.ran, call.name, result))
        for call, result in zip(case.calls, results, strict=True)
    ]


def _ran_with(ran: Ran, name: str, result: ToolResult[object]) -> Arguments | None:
    """What the function *name* wrote down when it made this very result, if it did."""
    return next((given for function, given in ran if function == name and given is result.value), None)


# ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def show(screen: Screen, outcome: Outcome, *, verbose: bool) -> None:
    """The table, and a line for everything that did not run."""
    screen.table(
        ("category", "entries", "tools imported", "expected calls", "accepted", "refused"),
        [*(_row(category, category, outcome) for category in CATEGORIES), _row("all", None, outcome)],
        total=True,
    )
    screen.say()
    _show_names(screen, outcome)
    calls = len(outcome.ended)
    screen.say(
        f"imported in {outcome.import_seconds:.2f} s; {calls:,} calls in {outcome.run_seconds:.2f} s: "
        f"{calls / outcome.run_seconds:,.0f} calls per second, each entry under a supervisor of its own"
    )
    _show_unimported(screen, outcome.unimported)
    _show_refused(screen, outcome.refused, verbose=verbose)
    _show_odd(screen, outcome.odd)


def _row(title: str, category: str | None, outcome: Outcome) -> tuple[str, ...]:
    imported = [one for one in outcome.imported if category in (None, one.case.category)]
    ended = [one for one in outcome.ended if category in (None, one.category)]
    definitions = sum(len(one.case.definitions) for one in imported)
    tools = sum(len(one.toolbox) for one in imported)
    return (
        title,
        f"{len(imported):,}",
        f"{tools:,}" if tools == definitions else f"{tools:,} of {definitions:,}",
        f"{len(ended):,}",
        f"{sum(one.accepted for one in ended):,}",
        f"{sum(one.refused for one in ended):,}",
    )


def _show_names(screen: Screen, outcome: Outcome) -> None:
    kinds: dict[str, set[bytes]] = {}
    for imported in outcome.imported:
        for definition in imported.case.definitions:
            kinds.setdefault(definition.name, set()).add(msgspec.json.encode(definition, order="deterministic"))
    unsafe = sum(not provider_safe(name) for name in kinds)
    several = sum(len(found) > 1 for found in kinds.values())
    screen.say(
        f"{len(kinds):,} distinct names; {unsafe:,} hold characters that providers refuse; "
        f"{several:,} have several different definitions"
    )


def provider_safe(name: str) -> bool:
    """Whether the model providers take *name* as it is."""
    return len(name) <= _PROVIDER_LONGEST and _PROVIDER_SAFE.issuperset(name)


def _show_unimported(screen: Screen, failures: Sequence[Unimported]) -> None:
    if not failures:
        screen.say("not imported: none", style="good")
        return
    screen.say(f"not imported: {len(failures):,}", style="bad")
    for failure in failures:
        screen.say(f"  {failure.case} {failure.name}: {failure.reason}")


def _show_refused(screen: Screen, refused: Sequence[Ended], *, verbose: bool) -> None:
    screen.say(f"refused, because the expected call violates its own schema: {len(refused):,}")
    reasons = Counter(code for ended in refused for code in dict(ended.issues))
    for code, count in reasons.most_common():
        screen.say(f"  {count:,} x {_WORDS.get(code, code)}")
    for ended in refused:
        screen.say(f"  {ended.case} {ended.call.name}: {_explained(ended)}")
        if verbose:
            screen.say(f"    sent {shortened(msgspec.json.encode(ended.call.arguments).decode(), 200)}", style="dim")


def _explained(ended: Ended) -> str:
    words = [words for _, words in ended.issues]
    more = [f"and {len(words) - _ISSUES_SHOWN} more"] if len(words) > _ISSUES_SHOWN else []
    return "; ".join(words[:_ISSUES_SHOWN] + more)


def _show_odd(screen: Screen, odd: Sequence[Ended]) -> None:
    for ended in odd:
        error = ended.result.error
        reason = f"{error.code}: {error.message}" if error is not None else f"it ran with {ended.ran_with}"
        screen.say(f"  unexpected: {ended.case} {ended.call.name}: {shortened(reason, 200)}", style="bad")
