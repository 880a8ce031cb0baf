"""The Berkeley function-calling data: what is in it, and that every definition and every call ends as it should."""

from __future__ import annotations

import importlib.util
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

import msgspec
import pytest
import trio

from armory_trio import InvalidArguments, Tool
from armory_trio.definitions import thaw_json
from examples.demo import bfcl
from examples.demo.bfcl import CATEGORIES, Case, DataMissing, Definition, ExpectedCall, expected_call, load_cases
from examples.demo.leaderboard import Ended, Outcome, provider_safe, run_all, show
from examples.demo.screen import Screen
from tests.examples.oracles import accepted_by_dialect, fits, validator_of
from tests.requirements import requirement

ALTERED: Final[tuple[object, ...]] = (True, -1, 2.5, 3.0, "", "2020-02-30", [], [[None]], {}, {"type": 1})
"""Put in the place of an argument: most of them are wrong there, some are right."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Every test entry. A missing package is an error that says how to install it, never a skipped test."""
    return [case for category in CATEGORIES for case in load_cases(category)]


@pytest.fixture(scope="module")
def outcome(cases: list[Case]) -> Outcome:
    return trio.run(run_all, cases)


def _definitions(cases: list[Case]) -> Iterator[tuple[Case, Definition]]:
    return ((case, definition) for case in cases for definition in case.definitions)


def _definition(cases: list[Case], ended: Ended) -> Definition:
    found = {(case.id, definition.name): definition for case, definition in _definitions(cases)}
    return found[ended.case, ended.call.name]


# ── What is in it ────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("examples.bfcl.facts")
def test_the_data_has_the_size_that_we_say(cases: list[Case]) -> None:
    kinds: dict[str, set[bytes]] = {}
    for _, definition in _definitions(cases):
        kinds.setdefault(definition.name, set()).add(msgspec.json.encode(definition, order="deterministic"))

    assert Counter(case.category for case in cases) == {
        "simple_python": 400,
        "multiple": 200,
        "parallel": 200,
        "parallel_multiple": 200,
    }
    assert sum(len(case.definitions) for case in cases) == 1_677
    assert len(kinds) == 769
    assert sum(not provider_safe(name) for name in kinds) == 449
    assert sum(len(found) > 1 for found in kinds.values()) == 236
    assert sum(len(case.calls) for case in cases) == 1_747


def _specs(spec: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield spec
    for inner in cast("Mapping[str, Mapping[str, object]]", spec.get("properties", {})).values():
        yield from _specs(inner)
    if "items" in spec:
        yield from _specs(cast("Mapping[str, object]", spec["items"]))


@requirement("examples.bfcl.facts")
def test_the_dialect_of_the_data_is_the_one_that_we_translate(cases: list[Case]) -> None:
    specs = [spec for _, definition in _definitions(cases) for spec in _specs(definition.parameters)]

    assert Counter(str(spec["type"]) for spec in specs) == {
        "string": 2_527,
        "dict": 1_708,
        "integer": 1_409,
        "float": 502,
        "array": 317,
        "boolean": 171,
        "tuple": 8,
        "any": 4,
    }
    assert Counter(word for spec in specs for word in spec) == {
        "type": 6_646,
        "description": 4_633,
        "properties": 1_697,
        "required": 1_680,
        "items": 325,
        "default": 286,
        "enum": 240,
        "optional": 43,
        "format": 4,
        "maximum": 2,
    }


@requirement("examples.bfcl.facts")
def test_some_defaults_do_not_fit_their_own_type(cases: list[Case]) -> None:
    specs = [spec for _, definition in _definitions(cases) for spec in _specs(definition.parameters)]
    unfit = [spec for spec in specs if "default" in spec and not fits(spec["default"], spec)]

    assert Counter(str(spec["type"]) for spec in unfit) == {"boolean": 17, "array": 6}


@requirement("examples.bfcl.facts")
def test_every_call_takes_the_first_acceptable_values_and_leaves_out_what_may_be_left_out() -> None:
    for category in CATEGORIES:
        calls = {case.id: case.calls for case in load_cases(category)}
        path = bfcl.data_folder() / "possible_answer" / f"BFCL_v4_{category}.json"
        for line in path.read_bytes().splitlines():
            answer = msgspec.json.decode(line, type=bfcl.Answer)
            for call, truth in zip(calls[answer.id], answer.ground_truth, strict=True):
                ((name, acceptable),) = truth.items()
                assert call.name == name
                assert call.arguments.keys() == {key for key, values in acceptable.items() if "" not in values}
                plain = {key: value for key, value in call.arguments.items() if "{" not in repr(acceptable[key][0])}
                assert plain == {key: acceptable[key][0] for key in plain}


# ── Every definition, every call ─────────────────────────────────────────────────────────────────────────────────────


@requirement("examples.bfcl.imports")
def test_every_definition_becomes_a_tool_under_its_own_name(cases: list[Case], outcome: Outcome) -> None:
    assert outcome.unimported == []
    assert [imported.toolbox.names for imported in outcome.imported] == [
        tuple(definition.name for definition in case.definitions) for case in cases
    ]


@requirement("examples.bfcl.runs")
def test_every_call_runs_or_is_refused_and_nothing_else(outcome: Outcome) -> None:
    assert outcome.odd == []
    assert len(outcome.ended) == 1_747
    assert len(outcome.refused) == 7
    assert outcome.as_promised


@requirement("examples.bfcl.runs")
def test_a_call_runs_once_with_exactly_what_was_sent_and_legal_defaults(cases: list[Case], outcome: Outcome) -> None:
    accepted = [ended for ended in outcome.ended if ended.accepted]

    assert sum(len(imported.ran) for imported in outcome.imported) == len(accepted) == 1_740
    for ended in accepted:
        definition = _definition(cases, ended)
        given = ended.ran_with or {}
        added = {name: value for name, value in given.items() if name not in ended.call.arguments}
        properties = cast("Mapping[str, Mapping[str, object]]", definition.parameters["properties"])
        assert repr({name: given[name] for name in ended.call.arguments}) == repr(ended.call.arguments)
        assert added == {name: properties[name]["default"] for name in added}
        assert accepted_by_dialect(definition.parameters, given)


class Judge:
    """Every verdict on the arguments of one definition: ours, another validator's, and the dialect's own."""

    def __init__(self, definition: Definition, tool: Tool[..., object]) -> None:
        self.parameters = definition.parameters
        self.contract = tool.contract
        self.shown = validator_of(cast("Mapping[str, object]", thaw_json(tool.input_schema)))

    def verdicts(self, arguments: Mapping[str, object]) -> tuple[bool, bool, bool]:
        return (
            self._is_valid(arguments),
            self.shown.is_valid(arguments),
            accepted_by_dialect(self.parameters, arguments),
        )

    def _is_valid(self, arguments: Mapping[str, object]) -> bool:
        try:
            self.contract.validate(arguments)
        except InvalidArguments:
            return False
        return True


@pytest.fixture(scope="module")
def judges(outcome: Outcome) -> dict[tuple[str, str], Judge]:
    """By the id of the entry and the name of the function."""
    return {
        (imported.case.id, definition.name): Judge(definition, tool)
        for imported in outcome.imported
        for definition, tool in zip(imported.case.definitions, imported.toolbox, strict=True)
    }


@requirement("examples.bfcl.refusals-real")
def test_other_readers_agree_about_every_call(outcome: Outcome, judges: dict[tuple[str, str], Judge]) -> None:
    disputed: list[str] = []
    for ended in outcome.ended:
        verdicts = judges[ended.case, ended.call.name].verdicts(ended.call.arguments)
        if {ended.accepted} != set(verdicts):
            disputed.append(f"{ended.case} {ended.call.name}: {ended.accepted} {verdicts}")

    assert disputed == []


@requirement("examples.bfcl.refusals-real")
def test_other_readers_agree_about_every_call_with_one_argument_altered_left_out_or_added(
    outcome: Outcome, judges: dict[tuple[str, str], Judge]
) -> None:
    verdicts = Counter[tuple[bool, bool, bool]]()
    disputed: list[str] = []
    for number, ended in enumerate(outcome.ended):
        judge = judges[ended.case, ended.call.name]
        for arguments in _neighbours(ended.call.arguments, number):
            found = judge.verdicts(arguments)
            verdicts[found] += 1
            if len(set(found)) > 1:
                disputed.append(f"{ended.case} {ended.call.name} {arguments}: {found}")

    assert disputed == []
    assert min(verdicts[True, True, True], verdicts[False, False, False]) > 1_000


def _neighbours(arguments: Mapping[str, object], number: int) -> Iterator[dict[str, object]]:
    """Calls that differ from a right one in one place; *number* chooses which values are tried."""
    yield {**arguments, "no such argument": 1}
    for place, name in enumerate(arguments):
        yield {other: value for other, value in arguments.items() if other != name}
        for step in (0, 3):
            yield {**arguments, name: ALTERED[(number + place + step) % len(ALTERED)]}


@requirement("examples.bfcl.refusals-real")
def test_what_is_refused_is_wrong_where_we_say_it_is_and_did_not_run(
    outcome: Outcome, judges: dict[tuple[str, str], Judge]
) -> None:
    for ended in outcome.refused:
        arguments = ended.call.arguments
        wrong = {
            str(error.absolute_path[0]) if error.absolute_path else error.message.split("'")[1]
            for error in judges[ended.case, ended.call.name].shown.iter_errors(arguments)
        }
        assert {words.split("`")[1].partition("[")[0] for _, words in ended.issues} == wrong
        assert (ended.result.attempts, ended.result.effect, ended.ran_with) == (0, "none", None)


@requirement("examples.bfcl.refusals-real")
def test_seven_answers_violate_their_own_schema(outcome: Outcome) -> None:
    assert {(ended.case, ended.call.name): sorted({code for code, _ in ended.issues}) for ended in outcome.refused} == {
        ("simple_python_17", "get_prime_factors"): ["missing"],
        ("simple_python_200", "calculate_emissions"): ["missing"],
        ("parallel_88", "calculate_final_speed"): ["missing"],
        ("parallel_multiple_21", "linear_regression_fit"): ["type"],
        ("parallel_multiple_87", "kinematics.distance"): ["missing"],
        ("parallel_multiple_94", "sort_list"): ["type"],
        ("parallel_multiple_119", "league_stats.get_top_scorer"): ["missing"],
    }


# ── What is said about it ────────────────────────────────────────────────────────────────────────────────────────────


def _shown(outcome: Outcome, *, verbose: bool = False) -> str:
    printed = io.StringIO()
    show(Screen(printed), outcome, verbose=verbose)
    return printed.getvalue()


@requirement("examples.bfcl.explained")
def test_the_table_holds_the_sums_and_every_refused_call_has_its_line(outcome: Outcome) -> None:
    lines = _shown(outcome).splitlines()

    assert [line.split() for line in lines if line.startswith("all ")] == [
        ["all", "1,000", "1,677", "1,747", "1,740", "7"]
    ]
    assert any("769 distinct names; 449 hold characters" in line and "236 have several" in line for line in lines)
    assert "not imported: none" in lines
    assert any("sort_list: `elements[0]`: " in line and line.endswith("; and 3 more") for line in lines)
    for ended in outcome.refused:
        [line] = [line for line in lines if line.startswith(f"  {ended.case} {ended.call.name}: ")]
        assert ended.issues[0][1] in line


@requirement("examples.bfcl.explained")
def test_verbose_shows_what_the_refused_calls_sent(outcome: Outcome) -> None:
    assert 'sent {"number":450}' in _shown(outcome, verbose=True)
    assert "sent" not in _shown(outcome)


def _case(parameters: dict[str, object], arguments: dict[str, object], *, name: str = "f") -> Case:
    return Case("made_1", "simple_python", [Definition("f", "", parameters)], [ExpectedCall(name, arguments)])


NUMBER: Final[dict[str, object]] = {"type": "dict", "properties": {"n": {"type": "float"}}, "required": ["n"]}


@requirement("examples.bfcl.explained")
@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        pytest.param({"type": "map", "properties": {}, "required": []}, "type 'map' is none of", id="dialect"),
        pytest.param(
            {"type": "dict", "properties": {"n": {"type": "string", "enum": "ab"}}, "required": []},
            "input schema",
            id="illegal schema",
        ),
    ],
)
async def test_a_definition_that_cannot_be_imported_is_explained_and_not_hidden(
    parameters: dict[str, object], reason: str
) -> None:
    outcome = await run_all([_case(parameters, {})])

    assert not outcome.as_promised
    assert "0 of 1" in _shown(outcome)
    assert any(line.startswith("  made_1 f: ") and reason in line for line in _shown(outcome).splitlines())


@requirement("examples.bfcl.explained")
async def test_a_call_that_ends_in_another_way_is_no_refusal_and_not_hidden() -> None:
    outcome = await run_all([_case(NUMBER, {"n": 1}, name="g")])

    assert outcome.refused == []
    assert not outcome.as_promised
    assert "unexpected: made_1 g: NOT_FOUND" in _shown(outcome)


@requirement("examples.bfcl.runs")
async def test_a_tool_that_runs_with_other_arguments_than_were_sent_does_not_count_as_accepted() -> None:
    [ended] = (await run_all([_case(NUMBER, {"n": 1})])).ended

    assert ended.accepted
    assert not msgspec.structs.replace(ended, ran_with={"n": 2}).accepted
    assert not msgspec.structs.replace(ended, ran_with=None).accepted


# ── Reading the files ────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("examples.bfcl.missing")
def test_data_that_is_not_installed_is_said_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def finds_nothing(name: str) -> None:
        assert name == "bfcl_eval"

    monkeypatch.setattr(importlib.util, "find_spec", finds_nothing)

    with pytest.raises(DataMissing, match=r"bfcl-eval is not installed.*pip install --no-deps"):
        load_cases("simple_python")


@requirement("examples.bfcl.missing")
@pytest.mark.parametrize(
    ("questions", "answers", "reason"),
    [
        (None, None, "No such file"),
        ("{", "", "truncated"),
        ('{"id": "a", "function": 1}', "", r"Expected `array`, got `int` - at `\$\[0\].function`"),
        ('{"id": "a", "function": []}', "", "do not belong together"),
        ('{"id": "a", "function": []}', '{"id": "a", "ground_truth": [{}]}', "names 0 functions"),
        ('{"id": "a", "function": []}', '{"id": "a", "ground_truth": [{"f": {"n": []}}]}', "no value at all for 'n'"),
    ],
)
def test_data_that_is_not_as_expected_is_said_with_the_place(
    questions: str | None, answers: str | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bfcl, "data_folder", lambda: tmp_path)
    (tmp_path / "possible_answer").mkdir()
    for folder, text in ((tmp_path, questions), (tmp_path / "possible_answer", answers)):
        if text is not None:
            (folder / "BFCL_v4_multiple.json").write_text(f"{text}\n" if text else "")

    with pytest.raises(DataMissing, match=reason):
        load_cases("multiple")


CHOICES: Final[Sequence[tuple[dict[str, Sequence[object]], dict[str, object]]]] = (
    ({"a": [1, 2], "b": ["", 3], "c": [4, ""]}, {"a": 1}),
    ({"d": [{"x": ["one", "two"], "y": ["", 1]}]}, {"d": {"x": "one"}}),
    ({"l": [[{"x": ["one"]}, {"x": ["two", "three"]}]]}, {"l": [{"x": "one"}, {"x": "two"}]}),
    ({"l": [[[1, 2], [3]], [[4]]]}, {"l": [[1, 2], [3]]}),
    ({"d": [{"hand": [["a", "b"], ["b", "a"]]}]}, {"d": {"hand": ["a", "b"]}}),
    ({"n": [None, 1], "e": [[]]}, {"n": None, "e": []}),
)


@requirement("examples.bfcl.facts")
@pytest.mark.parametrize(("acceptable", "arguments"), CHOICES)
def test_acceptable_values_are_chosen_at_every_level(
    acceptable: dict[str, Sequence[object]], arguments: dict[str, object]
) -> None:
    assert expected_call({"f": acceptable}) == ExpectedCall("f", arguments)
