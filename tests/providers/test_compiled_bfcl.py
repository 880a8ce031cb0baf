"""Every definition of the Berkeley function-calling data in every dialect, and every argument set there and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Final, cast

import jsonschema_rs
import pytest

from armory_trio.definitions import canonical_text, thaw_json
from armory_trio.providers._forms import FORMS
from armory_trio.providers._manifest import Compiled, compile_definition
from armory_trio.toolbox import ProviderName, Strictness
from tests.requirements import requirement

from ._bfcl import Json, argument_sets, definitions
from ._legality import CHECKS, as_json_schema, plain

CASES: Final[tuple[tuple[ProviderName, Strictness], ...]] = (
    *(("openai-chat", strict) for strict in (True, False, "auto")),
    *(("anthropic", strict) for strict in (True, False)),
    ("gemini", False),
    ("gemini-openapi", False),
    ("common", False),
)
every_dialect = pytest.mark.parametrize(
    ("provider", "strict"), CASES, ids=[f"{provider}-{strict}" for provider, strict in CASES]
)


@cache
def fitting() -> Mapping[str, tuple[Json, ...]]:
    """By the id of each definition, the argument sets of its name that it takes."""
    sets: dict[str, list[Json]] = {}
    for name, arguments in argument_sets():
        sets.setdefault(name, []).append(arguments)
    found: dict[str, tuple[Json, ...]] = {}
    for definition in definitions():
        validator = jsonschema_rs.validator_for(cast("Json", thaw_json(definition.input_schema)))
        legal = (each for each in sets.get(definition.name, []) if validator.is_valid(each))
        found[definition.id.text] = tuple(legal)
    return found


@requirement("compiling.bfcl")
def test_the_data_has_the_size_that_we_say() -> None:
    assert len({definition.name for definition in definitions()}) == 1_853
    assert len(definitions()) == 3_205
    assert len(argument_sets()) == 3_299


@requirement("compiling.bfcl", "compiling.way-back")
@every_dialect
def test_every_definition_is_legal_and_every_argument_set_makes_the_round_trip_unchanged(
    provider: ProviderName, strict: Strictness
) -> None:
    form = FORMS[provider]
    made = 0
    for definition in definitions():
        found = compile_definition(definition, provider, strict=strict)
        assert isinstance(found, Compiled)
        rules = form.strict if found.strict and form.strict is not None else form.plain
        schema = plain(found.schema)
        CHECKS[rules.name](schema)
        legal = fitting()[definition.id.text]
        if not legal:
            continue
        # Some answers have members that their definition does not name, in objects that say nothing about others.
        closes = any(loss.action == "narrowed" and loss.keyword == "additionalProperties" for loss in found.losses)
        wire = jsonschema_rs.validator_for(cast("Json", as_json_schema(schema) if rules.upper else schema))
        for arguments in legal:
            sent = found.coding.encode(arguments) if found.coding else arguments
            assert closes or wire.is_valid(sent), (definition.id.text, sent)
            meant = found.coding.decode(sent) if found.coding else sent
            assert canonical_text(meant, mode="exact") == canonical_text(arguments, mode="exact")
            made += 1
    assert made == sum(map(len, fitting().values())) > 15_000


@requirement("compiling.bfcl", "compiling.strict")
def test_most_definitions_can_be_strict_and_the_others_say_why_not() -> None:
    found = [compile_definition(definition, "openai-chat") for definition in definitions()]
    reasons = Counter(
        str(each.why_not).partition(": ")[2] for each in found if isinstance(each, Compiled) and each.why_not
    )

    assert sum(isinstance(each, Compiled) and each.strict for each in found) + sum(reasons.values()) == 3_205
    assert set(reasons) == {"an object with members of any name", "any value will do"}
    assert sum(reasons.values()) == 141
