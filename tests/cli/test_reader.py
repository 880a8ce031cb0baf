"""Bytes to values: however the bytes come in pieces, the lines and the places are the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import trio
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.cli._reader import Entries, Source
from tests.requirements import requirement


class Pieces(Source):
    """An input that comes in these pieces."""

    def __init__(self, pieces: Sequence[bytes], *, told: bool) -> None:
        super().__init__(-1, "calls.jsonl", 1_000)
        self._pieces = [piece for piece in pieces if piece]
        self._told = told

    async def _read(self) -> tuple[bytes, bool]:
        await trio.lowlevel.checkpoint()
        if not self._pieces:
            return b"", True
        piece = self._pieces.pop(0)
        return piece, self._told and not self._pieces


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """*data* in pieces."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


LINES = st.lists(st.one_of(st.sampled_from(["", "  ", "\r"]), st.integers(0, 99).map(lambda n: json.dumps({"n": n}))))


@requirement("cli.input.streamed")
@given(lines=LINES, ended=st.booleans(), places=st.lists(st.integers(0, 2_000)), told=st.booleans())
async def test_values_and_places_do_not_depend_on_how_the_bytes_come(
    lines: list[str], places: list[int], *, ended: bool, told: bool
) -> None:
    data = "\n".join(["{}", *lines]).encode() + (b"\n" if ended else b"")
    entries = Entries(Pieces(cut(data, places), told=told))
    found: list[tuple[object, str]] = []
    while (entry := await entries.next()) is not None:
        found.append((entry.value, entry.origin))

    numbered = enumerate(["{}", *lines], start=1)
    assert found == [(json.loads(line), f"calls.jsonl:{number}") for number, line in numbered if line.strip()]
    assert entries.at_end


@requirement("cli.input.shapes")
@given(value=st.lists(st.integers(), min_size=1), places=st.lists(st.integers(0, 2_000)), told=st.booleans())
async def test_a_document_over_many_lines_is_one_value_however_it_comes(
    value: list[int], places: list[int], *, told: bool
) -> None:
    data = json.dumps(value, indent=0).encode()
    entries = Entries(Pieces(cut(data, places), told=told))
    entry = await entries.next()

    assert entry is not None
    assert (entry.value, entry.origin) == (value, "calls.jsonl")
    assert await entries.next() is None


@requirement("cli.signal.drain")
async def test_a_file_that_is_read_whole_is_known_to_be_at_its_end_with_its_last_value() -> None:
    entries = Entries(Pieces([b"{}\n{}\n\n"], told=True))
    ends: list[bool] = []
    while await entries.next() is not None:
        ends.append(entries.at_end)

    assert ends == [False, True]
