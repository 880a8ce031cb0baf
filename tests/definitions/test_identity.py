from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, ToolId
from tests.requirements import requirement

PARTS = st.text(min_size=1).filter(lambda text: text.strip() != "")


@requirement("definitions.identity.text")
@pytest.mark.parametrize(
    ("identity", "text"),
    [
        (ToolId("sum", version="1.0.0"), "default:sum@1.0.0"),
        (ToolId("needs space", "team/tools", "v1.0.0+exp"), "team%2Ftools:needs%20space@v1.0.0%2Bexp"),
        (ToolId("search"), "default:search"),
        (ToolId("a:b@c"), "default:a%3Ab%40c"),
        (ToolId("git.status~!*'()_-"), "default:git.status~!*'()_-"),
        (ToolId("zażółć"), "default:za%C5%BC%C3%B3%C5%82%C4%87"),
    ],
)
def test_an_id_is_written_percent_encoded_and_read_back(identity: ToolId, text: str) -> None:
    assert identity.text == text
    assert str(identity) == text
    assert ToolId.parse(text) == identity


@requirement("definitions.identity.text")
def test_text_without_a_colon_is_a_name_in_the_default_namespace() -> None:
    assert ToolId.parse("search") == ToolId("search", "default", None)
    assert ToolId.parse("search@2") == ToolId("search", "default", "2")


@requirement("definitions.identity.text", "definitions.identity.any-name")
@given(PARTS, PARTS, st.none() | PARTS)
def test_any_text_that_is_not_blank_makes_an_id_that_reads_back(name: str, namespace: str, version: str | None) -> None:
    identity = ToolId(name, namespace, version)
    assert ToolId.parse(identity.text) == identity
    assert identity.name == name.strip()
    assert identity.namespace == namespace.strip()


@requirement("definitions.identity.any-name")
def test_surrounding_space_is_trimmed_and_blank_parts_are_defaults() -> None:
    assert ToolId("  add ", "  ", " ") == ToolId("add", "default", None)


@requirement("definitions.identity.any-name")
@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_name_is_refused(blank: str) -> None:
    with pytest.raises(DefinitionError, match="name: is blank"):
        ToolId(blank)
    with pytest.raises(DefinitionError, match="is blank"):
        ToolId.parse(blank)


@requirement("definitions.identity.any-name")
def test_what_is_no_text_is_no_id() -> None:
    with pytest.raises(DefinitionError, match="tool: id: must be text, not 5"):
        ToolId.parse(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # the point of the test


@requirement("definitions.identity.text")
@pytest.mark.parametrize("text", ["team:%ff", "%c3:search", "team:search@%e2%82"])
def test_an_id_that_encodes_no_text_is_refused_instead_of_being_changed(text: str) -> None:
    with pytest.raises(DefinitionError, match=r"tool: id: .* is percent-encoded, but not UTF-8"):
        ToolId.parse(text)


def test_an_id_without_a_name_is_refused() -> None:
    with pytest.raises(DefinitionError, match="name: is blank"):
        ToolId.parse("team:@1.0.0")


def test_equal_ids_are_one_key() -> None:
    assert len({ToolId("a"), ToolId(" a "), ToolId("a", version="1")}) == 2
