"""Messages and exceptions on their way between a host and its worker."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import ExecutionAborted, ExecutionOver, ToolFailure
from armory_trio.definitions import Category
from armory_trio.engine.placement._channel import Channel
from armory_trio.engine.placement._failures import described, made_again
from armory_trio.engine.placement._frames import (
    ROOM,
    Answer,
    BrokenFrame,
    Call,
    Credit,
    FromHost,
    Progressed,
    Raised,
    Splitter,
    TooLarge,
    pack,
    packed_value,
    read_from_host,
    read_from_worker,
)
from armory_trio.engine.placement._remote_context import RemoteContext, Running
from tests.requirements import requirement

MESSAGES = st.one_of(
    st.builds(Credit, st.integers(1, 2**31)),
    st.builds(Answer, st.sampled_from([None, "over", "refused"]), st.text(), st.booleans()),
)


@requirement("processes.sizes")
@given(st.lists(MESSAGES, max_size=6), st.lists(st.integers(0, 400), max_size=12))
def test_messages_come_out_whole_however_their_bytes_were_cut(messages: list[FromHost], cuts: list[int]) -> None:
    sent = b"".join(map(pack, messages))
    bounds = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    splitter = Splitter(2**20)

    received = [read_from_host(frame) for start, end in pairwise(bounds) for frame in splitter.feed(sent[start:end])]

    assert received == messages


@requirement("processes.sizes")
def test_a_message_beyond_the_bound_is_refused_before_it_has_come() -> None:
    splitter = Splitter(10)

    assert [*splitter.feed(b"\0\0\0\x0a" + b"x" * 10)] == [b"x" * 10]
    with pytest.raises(BrokenFrame, match="a message of 11 bytes, and at most 10 were agreed"):
        list(splitter.feed(b"\0\0\0\x0b"))


@requirement("processes.sizes")
def test_a_value_beyond_the_bound_is_refused_with_both_sizes() -> None:
    assert msgspec.msgpack.decode(packed_value("x" * 9, 10)) == "x" * 9
    with pytest.raises(TooLarge, match="it has 11 bytes on its way, and the tool's max_frame is 10"):
        packed_value("x" * 10, 10)


def crossed(exc: BaseException) -> Exception:
    sent = pack(Raised(described(exc), clean=True))
    [frame] = Splitter(ROOM).feed(sent)
    received = read_from_worker(frame)
    assert isinstance(received, Raised)
    return made_again(received.failures)


class Unsayable(Exception):
    def __str__(self) -> str:
        raise SystemExit(1)


@requirement("placement.exceptions")
def test_every_exception_crosses_in_bounded_words() -> None:
    long = crossed(ValueError("x" * 1_000_000 + "\ud800 end"))
    group = crossed(BaseExceptionGroup("g", [KeyError(number) for number in range(1000)]))
    declared = crossed(ToolFailure("m\ud800", code="C", details={"lock": threading.Lock()}))

    assert type(long).__name__ == "ValueError"
    assert len(str(long)) < 30_000
    assert str(long).endswith("\\ud800 end")
    assert any("Traceback" in note or "ValueError" in note for note in long.__notes__)
    assert isinstance(group, ExceptionGroup) and len(cast("ExceptionGroup[Exception]", group).exceptions) == 16
    assert isinstance(declared, ToolFailure)
    assert declared.details is not None and "undelivered" in declared.details
    assert (type(crossed(Unsayable())).__name__, str(crossed(Unsayable()))) == ("Unsayable", "")


class Nameless(type):
    """A metaclass whose classes will not say their names."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]  # as said
        raise SystemExit(2)


class Unnamed(Exception, metaclass=Nameless):
    pass


class Unclassed(Exception):
    @property  # type: ignore[misc]  # a class of its own, which it will not say
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]  # as said
        raise SystemExit(3)


class Unasked(ToolFailure):
    @property
    def retryable(self) -> bool | None:
        raise SystemExit(4)

    @retryable.setter
    def retryable(self, value: bool | None) -> None:
        pass


@requirement("placement.exceptions")
@pytest.mark.parametrize("kind", [Unnamed, Unclassed, Unasked], ids=["name", "class", "member"])
def test_an_exception_whose_own_code_raises_crosses_as_far_as_it_can(kind: type[Exception]) -> None:
    again = crossed(kind("text"))

    assert str(again) == "text"


@requirement("placement.exceptions")
def test_a_failure_that_was_changed_after_it_was_made_crosses_in_words() -> None:
    failure = ToolFailure("text")
    failure.category = cast("Category", "no such category")

    assert (type(crossed(failure)).__name__, str(crossed(failure))) == ("ToolFailure", "text")
    assert not isinstance(crossed(failure), ToolFailure)


@requirement("placement.exceptions", "processes.sizes")
def test_a_group_crosses_as_far_as_a_message_has_room() -> None:
    members = [ToolFailure("x", details={"d": f"{number:0>250000}"}) for number in range(10)]
    again = crossed(BaseExceptionGroup("g", members))

    assert isinstance(again, ExceptionGroup)
    assert [type(member) for member in cast("ExceptionGroup[Exception]", again).exceptions] == [ToolFailure] * 4


@requirement("placement.exceptions")
@pytest.mark.parametrize(
    ("exc", "kind"),
    [
        (ExecutionAborted("a"), ExecutionAborted),
        (ExecutionOver("o"), ExecutionOver),
        (BrokenPipeError("b"), ConnectionError),
        (TimeoutError("t"), TimeoutError),
        (ToolFailure("f", retryable=True, effect="completed"), ToolFailure),
    ],
)
def test_an_exception_stays_what_the_engine_knows_it_as(exc: Exception, kind: type[Exception]) -> None:
    again = crossed(exc)

    assert isinstance(again, kind)
    assert str(again) == str(exc)
    if isinstance(again, ToolFailure) and isinstance(exc, ToolFailure):
        assert (again.retryable, again.effect, again.details) == (True, "completed", None)


# -- the worker's end


@pytest.fixture
def channel() -> Iterator[Channel]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours.fileno())


CALL = Call("m", "q", "s", b"{}", "e-1", "c-1", "t", None, None, None, packed_value({}, 10), 1, 100)


@requirement("processes.telling")
def test_after_the_end_the_context_of_a_worker_only_knows_who_it_is(channel: Channel) -> None:
    running = Running(CALL, channel)
    context = RemoteContext(running)
    running.over = True
    actions: list[Callable[[], object]] = [
        lambda: context.abort_requested,
        lambda: context.draining,
        lambda: context.effect("charge card"),
        lambda: context.waiting("for nothing"),
        context.check,
        context.progress,
        context.wait_abort_requested,
        lambda: context.log("info", "!"),
        lambda: context.emit("!"),
        lambda: context.report_cleanup("completed"),
    ]

    for action in actions:
        with pytest.raises(ExecutionOver, match=r"e-1 \(t\) is over"):
            action()
    assert (context.execution_id, context.call_id, context.tool_name) == ("e-1", "c-1", "t")


@requirement("processes.lost")
def test_a_worker_whose_channel_has_become_something_else_reads_nothing_from_it() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours.fileno())
        theirs.sendall(pack(Credit(1)))
        assert channel.receive() == Credit(1)
        other, writer = os.pipe()
        os.write(writer, pack(Credit(2)))
        os.dup2(other, ours.fileno())

        assert channel.receive() is None

        os.close(other)
        os.close(writer)


@requirement("processes.telling")
def test_a_message_of_a_body_is_read_as_it_was_said() -> None:
    message = Progressed(50.0, "half", packed_value({"at": 1}, 100))
    [frame] = Splitter(2**20).feed(pack(message))
    received = read_from_worker(frame)

    assert isinstance(received, Progressed)
    assert (received.percent, received.text) == (50.0, "half")
    assert msgspec.msgpack.decode(received.checkpoint) == {"at": 1}
