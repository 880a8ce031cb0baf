"""Tools from anywhere: any JSON is a toolbox or an error of ours, and what was offered can be read back."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import Tool, Toolbox, define_tool
from armory_trio.errors import DefinitionError
from armory_trio.providers import compile_tools
from armory_trio.toolbox import ProviderName
from tests.providers._bfcl import definitions
from tests.providers.test_compiled_bfcl import fitting
from tests.requirements import requirement

Json = dict[str, object]
From = Callable[[object], Toolbox]

FORMS: Final[dict[str, From]] = {
    "openai": Toolbox.from_openai,
    "anthropic": Toolbox.from_anthropic,
    "gemini": Toolbox.from_gemini,
}
READS: Final[Mapping[ProviderName, From]] = {
    "openai-chat": Toolbox.from_openai,
    "openai-responses": Toolbox.from_openai,
    "common": Toolbox.from_openai,
    "anthropic": Toolbox.from_anthropic,
    "gemini": Toolbox.from_gemini,
    "gemini-openapi": Toolbox.from_gemini,
}

words = st.sampled_from(
    [
        *(
            "type",
            "function",
            "name",
            "description",
            "parameters",
            "input_schema",
            "functionDeclarations",
            "properties",
        ),
        *("parametersJsonSchema", "parameters_json_schema", "function_declarations", "required", "items", "enum"),
        *(
            "anyOf",
            "any_of",
            "nullable",
            "minItems",
            "min_items",
            "additionalProperties",
            "$ref",
            "ref",
            "$defs",
            "defs",
        ),
        *("prefixItems", "format", "default", "pattern", "const", "oneOf", "allOf", "not", "strict", "$schema", "$id"),
    ]
)
leaves = st.sampled_from(
    [
        *(
            "object",
            "OBJECT",
            "string",
            "STRING",
            "array",
            "function",
            "custom",
            "f",
            "a b",
            "",
            "#",
            "#/$defs/a",
            "(",
            "3",
        ),
        *(None, True, False, 0, -1, 1.5, 2**70, "TYPE_UNSPECIFIED", "\ud800", "x" * 200),
    ]
)
junk = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4), max_leaves=14
)
schema = st.dictionaries(words, junk, max_size=4)
declared = st.fixed_dictionaries(
    {"name": st.sampled_from(["f", "g", ""])},
    optional={
        "description": leaves,
        "parameters": schema,
        "input_schema": schema,
        "parametersJsonSchema": schema,
        "type": leaves,
    },
)
shaped = st.one_of(
    declared,
    st.fixed_dictionaries({"type": st.just("function"), "function": declared}),
    st.fixed_dictionaries({"functionDeclarations": st.lists(declared, max_size=2)}),
)


@requirement("imported-tools.forms")
@pytest.mark.parametrize("read", FORMS.values(), ids=FORMS)
@given(tools=st.one_of(junk, shaped, st.lists(st.one_of(shaped, shaped, junk), max_size=3)))
def test_any_json_is_a_toolbox_or_an_error_of_ours(read: From, tools: object) -> None:
    before = copy.deepcopy(tools)

    try:
        found = read(tools)
    except DefinitionError as error:
        str(error).encode()
        assert tools == before
        return

    assert tools == before
    for each in found:
        compile_tools([each], "gemini-openapi")


def execute(arguments: Json) -> Json:
    return arguments


@cache
def public_tools() -> dict[str, tuple[Tool[..., object], tuple[Json, ...]]]:
    """Some tools of the public data, with arguments that they take."""
    return {
        f"t{at}": (
            define_tool(
                name=f"t{at}",
                description=each.description,
                execute=execute,
                input={"schema": each.input_schema, "parse": dict},
            ),
            fitting()[each.id.text],
        )
        for at, each in enumerate(definitions()[::40])
    }


@requirement("imported-tools.from-provider", "compiling.way-back")
@pytest.mark.parametrize("provider", READS)
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_what_one_host_offers_another_one_can_read(provider: ProviderName, strict: bool) -> None:
    known = public_tools()
    manifest = compile_tools([made for made, _ in known.values()], provider, strict=strict)
    found = READS[provider](manifest.tools)
    taken = 0
    for offered in manifest.offered:
        imported = found.get(offered.wire)
        assert imported is not None
        assert imported.description == known[offered.name][0].description
        if not any(loss.action == "narrowed" for loss in offered.losses):
            for arguments in known[offered.name][1]:
                imported.contract.validate(cast("Json", manifest.write(offered.name, arguments)))
                taken += 1
    assert len(found) == len(manifest) >= 20
    assert taken > 100 or manifest.set_aside
