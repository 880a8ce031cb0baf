from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DuplicateToolError, Lifecycle, Tool, Toolbox, ToolId, tool
from armory_trio.toolbox._resolution import version_rank
from tests.requirements import requirement

ASCENDING = [
    None,
    "beta",
    "latest",
    "v",
    "0.9.0",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-11",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "1.2",
    "1.10.0",
    "v2.0.0-rc.1+build.7",
    "2.0.0",
    "18446744073709551616.0.0",
    "9" * 6_000,
]
"""Versions from the lowest to the highest."""


def named(name: str, *, namespace: str = "", version: str = "", deprecated: bool | str = False) -> Tool[[], str]:
    def body() -> str:
        return f"{namespace}:{name}@{version}"

    return tool(body, name=name, namespace=namespace, version=version, lifecycle=Lifecycle(deprecated=deprecated))


# ── Versions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.versions")
@pytest.mark.parametrize(("lower", "higher"), list(itertools.pairwise(ASCENDING)))
def test_versions_are_ordered_as_semantic_versioning_says(lower: str | None, higher: str) -> None:
    assert version_rank(lower) < version_rank(higher)


@requirement("toolbox.versions")
@pytest.mark.parametrize(
    ("one", "other"), [("1", "1.0.0"), ("v1.2.0", "1.2"), ("1.0.0+a", "1.0.0+b"), ("01.2", "1.2"), ("0", "0.0.0")]
)
def test_versions_that_differ_only_in_spelling_or_build_are_equal(one: str, other: str) -> None:
    assert version_rank(one) == version_rank(other)


VERSIONS = st.one_of(
    st.none(),
    st.text("v0129.-+ab", max_size=8),
    st.from_regex(r"\A(0|[1-9][0-9]?)\.[0-9]\.[0-9](-[0-9a-z]{1,2}(\.[0-9a-z]{1,2})?)?\Z"),
)


@given(st.lists(VERSIONS, min_size=3, max_size=3))
def test_any_versions_can_be_compared_and_the_order_is_total(versions: list[str | None]) -> None:
    low, middle, high = sorted(version_rank(version) for version in versions)
    assert low <= middle <= high
    assert low <= high


@requirement("toolbox.versions")
def test_a_name_means_the_highest_version_and_an_id_means_itself() -> None:
    versions = ["1.0.0", "2.0.0-rc.1", "1.10.0", "1.9.0"]
    for order in itertools.permutations(versions):
        toolbox = Toolbox([named("sum", version=version) for version in order])
        assert toolbox.get("sum") is toolbox.get("default:sum@2.0.0-rc.1")
        assert toolbox.get("default:sum") is toolbox.get("sum")
        for version in versions:
            found = toolbox.get(f"default:sum@{version}")
            assert found is not None
            assert found.id == ToolId("sum", version=version)


@requirement("toolbox.versions")
@pytest.mark.parametrize(("deprecated", "meant"), [(True, "1.0.0"), ("old", "1.0.0"), (False, "2.0.0"), ("", "2.0.0")])
def test_a_deprecated_version_comes_after_all_others(deprecated: bool | str, meant: str) -> None:
    toolbox = Toolbox([named("sum", version="2.0.0", deprecated=deprecated), named("sum", version="1.0.0")])
    found = toolbox.get("sum")
    assert found is not None
    assert found.id.version == meant


@requirement("toolbox.versions")
def test_a_deprecated_tool_is_still_found_when_there_is_no_other() -> None:
    toolbox = Toolbox([named("sum", version="1.0.0", deprecated=True), named("sum", version="2.0.0", deprecated=True)])
    assert toolbox.get("sum") is toolbox.get("default:sum@2.0.0")


# ── Namespaces ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.namespaces")
def test_the_default_namespace_comes_before_others() -> None:
    own, other = named("search"), named("search", namespace="web", version="9.0.0")
    for toolbox in (Toolbox([own, other]), Toolbox([other, own])):
        assert toolbox.get("search") is own
        assert toolbox.get("web:search") is other
        assert toolbox.get("web:search@9.0.0") is other


@requirement("toolbox.namespaces")
def test_a_deprecated_tool_does_not_hand_its_name_to_another_namespace() -> None:
    own, other = named("search", deprecated=True), named("search", namespace="web")
    assert Toolbox([own, other]).get("search") is own


@requirement("toolbox.namespaces")
def test_of_other_namespaces_the_higher_version_and_then_the_later_one_is_meant() -> None:
    one, two = named("search", namespace="a"), named("search", namespace="b")
    assert Toolbox([one, two]).get("search") is two
    assert Toolbox([two, one]).get("search") is one
    higher = named("search", namespace="c", version="1.0.0")
    assert Toolbox([one, higher, two]).get("search") is higher


# ── Looking up ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.lookup")
def test_a_full_id_wins_over_a_name_and_a_name_over_a_name_with_its_namespace() -> None:
    plain, colon, versioned = named("x"), named("default:x"), named("y", namespace="n", version="1")
    toolbox = Toolbox([plain, colon, versioned])
    assert toolbox.get("default:x") is plain
    assert toolbox.get("default:default%3Ax") is colon

    odd = named("n:y")
    assert Toolbox([versioned]).get("n:y") is versioned
    assert Toolbox([versioned, odd]).get("n:y") is odd


@requirement("toolbox.lookup")
def test_names_of_any_text_are_found() -> None:
    names = ["get weather", "ü", "a@b", "a:b", "%41", "fs.write"]
    toolbox = Toolbox([named(name) for name in names])
    for name in names:
        found = toolbox.get(name)
        assert found is not None
        assert found.name == name
        assert toolbox.get(found.id.text) is found
    assert toolbox.get("A") is None


@requirement("toolbox.lookup")
def test_looking_up_a_name_asks_one_dict_once() -> None:
    class Counting(dict[str, object]):
        asked = 0

        def get(self, key: str, default: object = None) -> object:
            Counting.asked += 1
            return super().get(key, default)

    toolbox = Toolbox([named(f"tool{n}", version=str(n)) for n in range(200)])
    counting = Counting(toolbox._lookup)  # pyright: ignore[reportPrivateUsage]  # it is what is tested
    object.__setattr__(toolbox, "_lookup", counting)
    for wanted in ("tool7", "default:tool7", "default:tool7@7", "missing"):
        Counting.asked = 0
        assert (toolbox.get(wanted) is None) is (wanted == "missing")
        assert Counting.asked == 1


# ── Duplicates ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.duplicate-id")
def test_two_tools_of_one_id_are_an_error_that_names_both_origins() -> None:
    def first() -> int:
        return 1

    class Second:
        def __call__(self) -> int:
            return 2

    with pytest.raises(DuplicateToolError) as caught:
        Toolbox([tool(first, name="x", version="1"), named("y"), tool(Second(), name=" x ", version="1")])
    error = caught.value
    assert error.subject == "tool 'x'"
    assert error.field == "id"
    for words in ("default:x@1", "first", "Second", __name__, "replace=True"):
        assert words in error.reason


@requirement("toolbox.duplicate-id", "toolbox.same-tool-twice")
@pytest.mark.parametrize("name", ["x", "ü ", "a:b"])
def test_the_same_tool_met_twice_is_one_tool(name: str) -> None:
    one = named(name)
    assert Toolbox([one, one]).tools == (one,)
    with pytest.raises(DuplicateToolError):
        Toolbox([one, named(name)])


IDS = st.tuples(st.sampled_from("xyz"), st.sampled_from(["", "n"]), st.sampled_from(["", "1", "2.0", "2.0.0-a"]))


@requirement("toolbox.lookup", "toolbox.versions", "toolbox.namespaces")
@given(st.lists(st.tuples(IDS, st.booleans()), unique_by=lambda entry: entry[0], max_size=12))
def test_a_name_means_what_a_search_through_all_tools_would_choose(
    entries: list[tuple[tuple[str, str, str], bool]],
) -> None:
    toolbox = Toolbox(
        [
            named(name, namespace=namespace, version=version, deprecated=old)
            for (name, namespace, version), old in entries
        ]
    )
    for name in "xyz":
        same = [item for item in toolbox if item.name == name]
        best = None
        for item in same:
            if best is None or _preferred(item, best):
                best = item
        assert toolbox.get(name) is best
    for item in toolbox:
        assert toolbox.get(item.id.text) is item


def _preferred(item: Tool[..., object], best: Tool[..., object]) -> bool:
    """Whether *item*, which comes later, is meant rather than *best*."""
    for mine, theirs in (
        (item.id.namespace == "default", best.id.namespace == "default"),
        (not item.definition.deprecated, not best.definition.deprecated),
        (version_rank(item.id.version), version_rank(best.id.version)),
    ):
        if mine != theirs:
            return mine > theirs  # type: ignore[operator]  # both are flags, or both are ranks
    return True
