"""Names on the wire: legal everywhere, one to one, and the same in every process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from armory_trio.providers._dialects import TOOL_NAMES
from armory_trio.providers._names import Alphabet, legal_name, legal_names
from tests.requirements import requirement

LEGAL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
HOSTILE = ["", " ", "é", "a" * 10_000, "-", "1", "fs.write", "pipe(a, b)", "\ud800", "😀" * 70, "a\nb", "default:x@1"]
hostile = st.sampled_from(HOSTILE) | st.text(max_size=80)


@requirement("offering.names")
@given(st.lists(hostile, unique=True))
@example(HOSTILE)
def test_names_are_legal_and_one_to_one(names: list[str]) -> None:
    wires = legal_names(names, TOOL_NAMES)

    assert list(wires) == names
    assert len(set(wires.values())) == len(names)
    assert all(LEGAL.fullmatch(wire) for wire in wires.values())


@requirement("offering.names")
@given(st.lists(hostile, unique=True), hostile)
def test_a_name_does_not_depend_on_those_beside_it(others: list[str], name: str) -> None:
    assert legal_names([*(other for other in others if other != name), name], TOOL_NAMES)[name] == legal_name(
        name, TOOL_NAMES
    )


@requirement("offering.names")
@given(st.text("ab_-1", min_size=1, max_size=64).filter(LEGAL.fullmatch))
def test_a_legal_name_stays_as_it_is(name: str) -> None:
    assert legal_name(name, TOOL_NAMES) == name


@requirement("offering.names")
def test_names_that_differ_far_behind_stay_apart() -> None:
    one, other = "x" * 64 + "a", "x" * 64 + "b"

    assert legal_name(one, TOOL_NAMES) != legal_name(other, TOOL_NAMES)
    assert legal_name(one, TOOL_NAMES).startswith("x" * 55 + "_")


@requirement("offering.names")
def test_a_name_that_is_taken_by_a_legal_one_gets_more_digits() -> None:
    squatter = legal_name("fs.write", TOOL_NAMES)

    wires = legal_names(["fs.write", squatter], TOOL_NAMES)

    assert wires[squatter] == squatter
    assert wires["fs.write"] != squatter
    assert LEGAL.fullmatch(wires["fs.write"])


@requirement("offering.names")
@pytest.mark.parametrize("first", ["a-z", "A-Za-z_"])
@given(names=st.lists(hostile, unique=True))
def test_members_that_are_known_together_keep_their_likeness(first: str, names: list[str]) -> None:
    alphabet = Alphabet(first, "A-Za-z0-9_", 64)

    wires = legal_names(names, alphabet, bare=True)

    assert len(set(wires.values())) == len(names)
    assert all(alphabet.allows(wire) for wire in wires.values())
    assert legal_names(["user-name"], alphabet, bare=True) == {"user-name": "user_name"}


@requirement("offering.names")
def test_every_process_makes_the_same_names() -> None:
    code = "from armory_trio.providers._names import *; from armory_trio.providers._dialects import TOOL_NAMES as t; print(legal_name('pipe(a, b)', t))"
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }

    assert told == {legal_name("pipe(a, b)", TOOL_NAMES)} == {"pipe_a_b_a6ed823a"}
