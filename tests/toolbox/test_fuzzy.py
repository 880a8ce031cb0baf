from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, EffectClass, EffectDeclaration, EffectTarget, Tool, Toolbox, ToolId, tool
from armory_trio.toolbox import Resolution, Resolved, Resolver, Unresolved, resolve
from tests.requirements import requirement


def named(name: str, *, namespace: str = "", version: str = "", effect: EffectClass | None = None) -> Tool[[], str]:
    def body() -> str:
        return name

    if effect is None:
        return tool(body, name=name, namespace=namespace, version=version)
    declared = EffectDeclaration(effect, [EffectTarget("other", "x")])
    return tool(body, name=name, namespace=namespace, version=version, effect=declared)


FILES = Toolbox([named("read-file"), named("write-file"), named("list-dir")])
ALL = Resolution(suffix=True)


def found(toolbox: Toolbox, name: str, resolution: Resolution | None = ALL) -> tuple[str, str] | None:
    """The id and the tier that *name* resolves to, or None."""
    answer = resolve(toolbox, name, resolution)
    return (answer.tool.id.text, answer.tier) if isinstance(answer, Resolved) else None


def missed(toolbox: Toolbox, name: str, resolution: Resolution | None = ALL) -> Unresolved:
    answer = resolve(toolbox, name, resolution)
    assert isinstance(answer, Unresolved)
    return answer


# ── Tiers ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.fuzzy.off")
def test_without_a_resolution_only_the_right_spelling_is_found() -> None:
    assert found(FILES, "read-file", None) == ("default:read-file", "exact")
    assert found(FILES, "default:read-file", None) == ("default:read-file", "exact")
    for name in ("Read-File", "read_file", "x.read-file", "", "missing"):
        assert found(FILES, name, None) is None
    assert missed(FILES, "read-fil", None).near == ("read-file", "write-file")


@requirement("toolbox.fuzzy.tiers")
@pytest.mark.parametrize(
    ("name", "id", "tier"),
    [
        ("read-file", "read-file", "exact"),
        ("default:read-file", "read-file", "exact"),
        ("Read-File", "read-file", "case-insensitive"),
        ("READ-FILE", "read-file", "case-insensitive"),
        ("read.file", "read-file", "normalized"),
        ("read/file", "read-file", "normalized"),
        ("read_file", "read-file", "normalized"),
        ("READ_FILE", "read-file", "normalized"),
        (" read-file ", "read-file", "normalized"),
        ("prefix.list-dir", "list-dir", "suffix"),
        ("functions.read_file", "read-file", "suffix"),
        ("mcp__fs__Read_File", "read-file", "suffix"),
        ("a/b.c__list_dir", "list-dir", "suffix"),
    ],
)
def test_the_first_tier_that_knows_a_name_decides(name: str, id: str, tier: str) -> None:
    assert found(FILES, name) == (f"default:{id}", tier)


@requirement("toolbox.fuzzy.tiers")
@pytest.mark.parametrize("name", ["missing", "", " ", "read--file", "read__file", "readfile", "-read-file", "file"])
def test_what_no_tier_knows_is_not_found(name: str) -> None:
    assert missed(FILES, name).ambiguous == ()


@requirement("toolbox.fuzzy.tiers")
def test_a_better_tier_wins_over_a_later_one() -> None:
    toolbox = Toolbox([named("Read_File"), named("read_file"), named("read-file")])

    assert found(toolbox, "read-file") == ("default:read-file", "exact")
    assert found(toolbox, "READ-FILE") == ("default:read-file", "case-insensitive")
    assert missed(toolbox, "READ_FILE").ambiguous == ("Read_File", "read_file")


@requirement("toolbox.fuzzy.tiers")
@pytest.mark.parametrize(
    ("resolution", "understood"),
    [
        (Resolution(), {"Read-File", "read_file", "Read_File"}),
        (Resolution(case=False), {"read_file"}),
        (Resolution(separators=False), {"Read-File"}),
        (Resolution(case=False, separators=False), set[str]()),
        (Resolution(case=False, separators=False, suffix=True), {"x.read-file"}),
        (Resolution(case=False, suffix=True), {"read_file", "x.read-file", "x.read_file"}),
        (Resolution(separators=False, suffix=True), {"Read-File", "x.read-file", "x.Read-File"}),
        (ALL, {"Read-File", "read_file", "Read_File", "x.read-file", "x.Read-File", "x.read_file", "x.Read_File"}),
    ],
)
def test_each_tier_can_be_turned_off(resolution: Resolution, understood: set[str]) -> None:
    spellings = ("Read-File", "read_file", "Read_File")
    names = [*spellings, *(f"x.{name}" for name in ("read-file", *spellings))]

    assert {name for name in names if found(FILES, name, resolution) is not None} == understood


# ── Ambiguity ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.fuzzy.ambiguous")
@pytest.mark.parametrize(
    ("tools", "name", "between"),
    [
        (["Tool", "TOOL", "other"], "tool", ("Tool", "TOOL")),
        (["foo-bar", "foo_bar"], "foo.bar", ("foo-bar", "foo_bar")),
        (["foo-bar", "foo_bar"], "x.foo.bar", ("default:foo-bar", "default:foo_bar")),
        (["foo-bar", "foo_bar", "bar"], "foo.bar", ("foo-bar", "foo_bar")),
    ],
)
def test_between_several_names_nothing_is_guessed(tools: list[str], name: str, between: tuple[str, ...]) -> None:
    assert missed(Toolbox([named(tool_name) for tool_name in tools]), name) == Unresolved((), between)


@requirement("toolbox.fuzzy.ambiguous")
def test_several_versions_of_one_name_are_one_name() -> None:
    toolbox = Toolbox([named("Sum", version="1.0.0"), named("Sum", version="2.0.0")])

    assert found(toolbox, "sum") == ("default:Sum@2.0.0", "case-insensitive")


# ── Namespaces ───────────────────────────────────────────────────────────────────────────────────────────────────────

SPACES = Toolbox([named("search"), named("search", namespace="web"), named("look-up", namespace="web", version="1.0")])


@requirement("toolbox.fuzzy.same-tool", "toolbox.fuzzy.namespaces")
def test_a_misspelt_name_means_what_the_right_spelling_means() -> None:
    assert found(SPACES, "Search") == ("default:search", "case-insensitive")
    assert found(SPACES, "look_up") == ("web:look-up@1.0", "normalized")


@requirement("toolbox.fuzzy.namespaces")
def test_a_name_with_a_namespace_stays_in_it() -> None:
    assert found(SPACES, "web:Search") == ("web:search", "case-insensitive")
    assert found(SPACES, "web:Look_Up@1.0") == ("web:look-up@1.0", "normalized")
    assert found(SPACES, "default:look_up") is None
    assert found(SPACES, "web:look_up@2.0") is None
    assert found(SPACES, "Web:search") is None
    assert found(SPACES, "slack:search") is None
    assert found(SPACES, "slack:x.search") is None


@requirement("toolbox.fuzzy.namespaces")
def test_a_colon_behind_what_is_no_namespace_is_part_of_the_name() -> None:
    assert found(Toolbox([named("a:b")]), "A:B") == ("default:a%3Ab", "case-insensitive")


@requirement("toolbox.fuzzy.namespaces", "toolbox.fuzzy.suffix")
def test_a_prefix_that_is_a_namespace_means_its_tools_and_any_other_one_the_default_namespace() -> None:
    assert found(SPACES, "web.search") == ("web:search", "suffix")
    assert found(SPACES, "Web__Search") == ("web:search", "suffix")
    assert found(SPACES, "mcp__web__look_up") == ("web:look-up@1.0", "suffix")
    assert found(SPACES, "functions.search") == ("default:search", "suffix")
    assert found(SPACES, "slack.look_up") is None
    assert found(Toolbox([named("search", namespace="web")]), "slack.search") is None


@requirement("toolbox.fuzzy.namespaces")
def test_a_namespace_with_separators_of_its_own_is_known_as_a_prefix() -> None:
    toolbox = Toolbox([named("search"), named("search", namespace="github.com")])

    assert found(toolbox, "github.com.search") == ("github.com:search", "suffix")


@requirement("toolbox.fuzzy.namespaces")
def test_a_prefix_that_could_be_two_namespaces_means_neither() -> None:
    toolbox = Toolbox([named("search"), named("search", namespace="web"), named("search", namespace="WEB")])

    assert found(toolbox, "web.search") is None


# ── The last tier ────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.fuzzy.suffix")
@pytest.mark.parametrize(
    ("tools", "name"),
    [
        (["read-file"], "delete-file"),
        (["file"], "delete-file"),
        (["file"], "delete_file"),
        (["a-tool", "b-tool"], "ns.tool"),
        (["other"], "ns.tool."),
        (["tool"], "ns.tool."),
        (["tool"], "ns."),
        (["send-message"], "e"),
        (["send-message"], "x.message"),
    ],
)
def test_part_of_a_name_means_nothing(tools: list[str], name: str) -> None:
    assert found(Toolbox([named(tool_name) for tool_name in tools]), name) is None


@requirement("toolbox.fuzzy.suffix")
def test_the_longest_name_behind_a_prefix_wins() -> None:
    toolbox = Toolbox([named("list"), named("files.list")])

    assert found(toolbox, "api.files.list") == ("default:files.list", "suffix")


# ── Risk ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

CLASSES: list[EffectClass] = ["read-only", "reversible", "external-write", "destructive", "privileged"]


@requirement("toolbox.fuzzy.risk")
@pytest.mark.parametrize("allowed", CLASSES)
@pytest.mark.parametrize("effect", CLASSES)
@pytest.mark.parametrize("name", ["Drop-Table", "drop_table", "x.drop-table"])
def test_a_guess_is_never_riskier_than_allowed(effect: EffectClass, allowed: EffectClass, name: str) -> None:
    toolbox = Toolbox([named("drop-table", effect=effect)])
    answer = resolve(toolbox, name, Resolution(suffix=True, riskiest=allowed))

    assert isinstance(answer, Resolved) is (CLASSES.index(effect) <= CLASSES.index(allowed))
    if isinstance(answer, Unresolved):
        assert answer.near[0].endswith("drop-table")
    assert found(toolbox, "drop-table") == ("default:drop-table", "exact")


@requirement("toolbox.fuzzy.risk")
def test_by_default_an_unclassified_tool_may_be_guessed_and_a_destructive_one_may_not() -> None:
    assert found(Toolbox([named("send")]), "Send") is not None
    assert missed(Toolbox([named("drop", effect="destructive")]), "Drop") == Unresolved(("drop",))


@requirement("toolbox.fuzzy.risk")
def test_a_tool_that_may_not_be_guessed_does_not_hand_the_guess_to_a_later_tier() -> None:
    toolbox = Toolbox([named("drop-all", effect="destructive"), named("drop_all")])

    assert found(toolbox, "DROP-ALL") is None


# ── Any name, any tools ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("toolbox.fuzzy.bounded")
@pytest.mark.parametrize("name", ["a." * 500_000, "__" * 100_000, "\ud800.x", "x" * 1_001, "%ff:x", "@", ":", "::"])
def test_a_hostile_name_is_no_tool(name: str) -> None:
    assert found(FILES, name) is None


@requirement("toolbox.fuzzy.bounded")
def test_who_spells_right_pays_for_no_tables() -> None:
    resolver = Resolver(FILES, ALL)
    for name in ("read-file", "default:read-file"):
        resolver.resolve(name)
    assert "_tables" not in vars(resolver)

    tables = [(resolver.resolve("Read-File"), vars(resolver)["_tables"])[1] for _ in range(2)]
    assert tables[0] is tables[1]


WORDS = st.sampled_from(
    ["a", "A", "b", "a-b", "a_b", "A.b", "x__a", "web.a", "web:a", "web:A", "y.a-b", " a", "web:a@1"]
)
IDS = st.tuples(WORDS, st.sampled_from(["", "web", "y"]), st.sampled_from(["", "1", "2"]))
RESOLUTIONS = st.builds(Resolution, case=st.booleans(), separators=st.booleans(), suffix=st.booleans())


@requirement("toolbox.fuzzy.same-tool", "toolbox.fuzzy.ambiguous", "toolbox.fuzzy.tiers")
@given(st.lists(IDS, unique_by=lambda parts: (parts[0].strip(), *parts[1:]), max_size=6), WORDS, RESOLUTIONS)
def test_whatever_is_guessed_is_what_some_right_spelling_means(
    ids: list[tuple[str, str, str]], name: str, resolution: Resolution
) -> None:
    toolbox = Toolbox([named(word, namespace=namespace, version=version) for word, namespace, version in ids])
    resolver = Resolver(toolbox, resolution)
    answer = resolver.resolve(name)
    assert resolver.resolve(name) == answer or isinstance(answer, Resolved)

    exact = toolbox.get(name)
    if exact is not None:
        assert isinstance(answer, Resolved)
        assert (answer.tool, answer.tier) == (exact, "exact")
    elif isinstance(answer, Resolved):
        chosen = answer.tool
        right = [chosen.id.text] if "@" in name else [chosen.name, ToolId(chosen.name, chosen.id.namespace).text]
        assert chosen in [toolbox.get(spelling) for spelling in right]
        assert answer.tier != "exact"
    else:
        assert all(toolbox.get(spelling) is not None for spelling in answer.ambiguous)
        assert len(answer.ambiguous) != 1


@requirement("toolbox.fuzzy.ambiguous")
def test_the_order_of_the_tools_decides_nothing() -> None:
    tools = [named("Foo-bar"), named("foo_bar", namespace="web"), named("other")]
    for order in itertools.permutations(tools):
        toolbox = Toolbox(order)
        assert set(missed(toolbox, "FOO.BAR").ambiguous) == {"Foo-bar", "foo_bar"}
        assert found(toolbox, "FOO-BAR") == ("default:Foo-bar", "case-insensitive")


@requirement("toolbox.fuzzy.off")
@pytest.mark.parametrize(
    ("settings", "field", "words"),
    [
        ({"case": 1}, "case", "True or False"),
        ({"suffix": "yes"}, "suffix", "True or False"),
        ({"riskiest": "mutating"}, "riskiest", "is not one of"),
    ],
)
def test_wrong_settings_are_refused_with_their_place(settings: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Resolution(**settings)  # type: ignore[arg-type]  # the mistake under test
    assert (caught.value.subject, caught.value.field) == ("Resolution", field)
    assert words in caught.value.reason
