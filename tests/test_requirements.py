"""Every promise has a test and every test names a promise; read from the sources, so a partial run knows too."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeGuard

from tests.requirements import REQUIREMENTS, SECTIONS

TESTS: Final = Path(__file__).parent
PROMISES: Final = sorted((TESTS / "promises").glob("[!_]*.py"))


class Use:
    """One ``@requirement("...")`` in a test file, or what is wrong with it."""

    def __init__(self, place: str, ids: tuple[str, ...], fault: str | None) -> None:
        self.place = place
        self.ids = ids
        self.fault = fault


def uses_in(source: str, name: str) -> Iterator[Use]:
    """Each call of ``requirement`` in *source*, which must decorate a collected test and hold plain strings."""
    tree = ast.parse(source)
    marking = {id(mark) for mark in _marks_of_collected_tests(tree)}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "requirement"):
            continue
        literals = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        fault = None
        if id(node) not in marking:
            fault = "does not decorate a test that pytest collects"
        elif not literals or len(literals) != len(node.args) or node.keywords:
            fault = "its ids must be string literals"
        yield Use(f"{name}:{node.lineno}", tuple(literals), fault)


def _marks_of_collected_tests(tree: ast.Module) -> Iterator[ast.expr]:
    """What decorates the functions and classes that pytest collects by their names."""
    for node in tree.body:
        if isinstance(node, ast.Assign):  # TestMachine = requirement("...")(Machine.TestCase)
            if isinstance(node.value, ast.Call) and ast.unparse(node.targets[0]).startswith("Test"):
                yield node.value.func
        elif _is_collected(node):
            yield from node.decorator_list
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                if _is_collected(member):
                    yield from member.decorator_list


def _is_collected(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test")
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")


def _all_uses() -> list[Use]:
    return [
        use
        for path in sorted(TESTS.rglob("test_*.py"))
        for use in uses_in(path.read_text(encoding="utf-8"), path.relative_to(TESTS).as_posix())
    ]


def test_every_promise_is_named_by_a_test() -> None:
    named = {name for use in _all_uses() if use.fault is None for name in use.ids}

    assert sorted(REQUIREMENTS.keys() - named) == []


def test_every_promise_that_a_test_names_exists() -> None:
    assert [f"{use.place} {name}" for use in _all_uses() for name in use.ids if name not in REQUIREMENTS] == []


def test_every_mark_decorates_a_test_with_plain_ids() -> None:
    assert [f"{use.place} {use.fault}" for use in _all_uses() if use.fault is not None] == []


def test_no_promise_is_listed_twice_in_a_section() -> None:
    """A dict display takes a second entry of the same name without a word."""
    for path in PROMISES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]

                assert sorted(str(name) for name, times in Counter(keys).items() if times > 1) == [], path.name


def test_every_section_is_part_of_the_manifest_and_no_two_share_a_promise() -> None:
    assert len(SECTIONS) == len(PROMISES)
    assert sum(len(section) for section in SECTIONS) == len(REQUIREMENTS)


def test_every_promise_says_where_it_comes_from_and_what_it_is() -> None:
    for name, promise in REQUIREMENTS.items():
        assert name.count(".") >= 1, f"{name}: an id is room.behaviour"
        assert promise.source.strip(), f"{name}: it has no source"
        assert promise.behaviour.endswith("."), f"{name}: its behaviour is no sentence"


def test_the_reader_sees_marks_and_refuses_those_it_cannot_read() -> None:
    source = """
@requirement("a.one", "a.two")
async def test_good(): ...

class TestGroup:
    @requirement("a.three")
    def test_member(self): ...

@requirement(NAME)
def test_computed(): ...

@requirement("a.four")
def helper(): ...

def test_nested():
    @requirement("a.five")
    def test_inner(): ...

TestMachine = requirement("a.six")(Machine.TestCase)
"""
    readable = [(use.ids, use.fault is None) for use in uses_in(source, "sample.py")]

    assert sorted(readable) == [
        ((), False),
        (("a.five",), False),
        (("a.four",), False),
        (("a.one", "a.two"), True),
        (("a.six",), True),
        (("a.three",), True),
    ]
