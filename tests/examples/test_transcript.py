"""The transcript: a model's messages, run against a small tree and answered."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final, cast

import msgspec
import pytest
import trio

from armory_trio import ToolCall, open_supervisor
from armory_trio.kits.coding import GrepMatch, GrepResult, coding_toolbox
from examples.demo.agent import CHECKOUT, Agent, Answered, Conversation
from examples.demo.screen import Screen
from examples.demo.transcript import Message, Round, Transcript, load_transcript, spoken
from examples.demo.waiting import wait_for_change
from examples.demo.watching import LiveView
from tests.requirements import requirement

FILES: Final = {
    "README.md": "# A small tree\n" * 20,
    "pyproject.toml": '[project]\nname = "small"\nversion = "1"\n',
    "armory_trio/__init__.py": '"""A package."""\n\nimport trio\n',
    "armory_trio/work.py": "".join(f"async def step_{number}(): ...\n" for number in range(100)),
    "tests/test_work.py": "def test_nothing(): ...\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="module")
def told(tree: Path) -> tuple[Conversation, str]:
    """The shipped transcript, run once; and what was printed meanwhile."""
    printed = io.StringIO()
    conversation = trio.run(Agent(Screen(printed), verbose=True).run, load_transcript(), tree)
    return conversation, printed.getvalue()


@pytest.fixture(scope="module")
def conversation(told: tuple[Conversation, str]) -> Conversation:
    return told[0]


def _ends(answered: Answered) -> list[str]:
    return [result.outcome if result.error is None else result.error.code for result in answered.results]


def _calls_of(message: Message) -> list[str]:
    return [str(block["id"]) for block in cast("list[Message]", message["content"]) if block["type"] == "tool_use"]


def test_the_transcript_uses_only_files_that_every_checkout_has() -> None:
    assert [
        name for name in ("README.md", "pyproject.toml", "armory_trio/__init__.py") if not (CHECKOUT / name).is_file()
    ] == []


@requirement("examples.transcript.answered")
def test_each_call_has_one_answer_in_call_order_right_after_its_message(conversation: Conversation) -> None:
    messages = conversation.history

    assert [message["role"] for message in messages] == ["user"] + ["assistant", "user"] * 5
    for asked, replied in zip(messages[1::2], messages[2::2], strict=True):
        answers = cast("list[Message]", replied["content"])
        assert [block["type"] for block in answers] == ["tool_result"] * len(answers)
        assert [block["tool_use_id"] for block in answers] == _calls_of(asked)
    assert msgspec.json.decode(msgspec.json.encode(messages)) == list(messages)


@requirement("examples.transcript.answered")
def test_the_calls_of_one_message_run_side_by_side_three_at_a_time(conversation: Conversation) -> None:
    first = conversation.answered[0]
    ours = {result.call_id for result in first.results}
    spans = [
        (snapshot.started_at or 0.0, snapshot.ended_at or 0.0)
        for snapshot in conversation.report.terminal
        if snapshot.call_id in ours
    ]

    assert _ends(first) == ["success"] * 5
    assert len(spans) == 5
    assert max(sum(begin <= moment < end for begin, end in spans) for moment, _ in spans) == 3


@requirement("examples.transcript.stream")
def test_chunks_are_shown_one_by_one_and_the_result_is_their_whole(told: tuple[Conversation, str]) -> None:
    conversation, printed = told
    [result] = conversation.answered[1].results
    value = result.value

    assert isinstance(value, GrepResult)
    assert value.matches[0] == GrepMatch("armory_trio/work.py", 1, "async def step_0(): ...")
    assert (len(value.matches), value.truncated) == (60, True)
    chunks = [line.split(" s  ")[1] for line in printed.splitlines() if line.startswith("  chunk ")]
    assert chunks[:12] == [f"armory_trio/work.py:{at + 1}: async def step_{at}(): ..." for at in range(12)]
    assert chunks[12:] == ["summary: 2 files searched, there is more"]


@requirement("examples.transcript.refused")
def test_what_must_not_run_is_refused_and_its_neighbour_runs(conversation: Conversation) -> None:
    third = conversation.answered[2]

    assert _ends(third) == ["PATH_ESCAPE", "NOT_FOUND", "INVALID_ARGUMENTS", "success"]
    assert [result.effect for result in third.results] == ["none"] * 4
    assert [block.get("is_error", False) for block in cast("list[Message]", third.reply[0]["content"])] == [
        True,
        True,
        True,
        False,
    ]
    assert b"root:" not in msgspec.json.encode(third.reply)


@requirement("examples.transcript.deadline")
def test_the_deadline_ends_what_still_runs_and_the_model_is_told(conversation: Conversation) -> None:
    fourth = conversation.answered[3]
    waited = fourth.results[0]

    assert waited.error is not None
    assert (waited.error.category, waited.error.code, waited.effect) == ("timeout", "DEADLINE_EXCEEDED", "none")
    assert "was still running at its deadline" in waited.text


@requirement("examples.transcript.drain")
def test_a_drain_lets_what_runs_end_and_refuses_what_comes_later(told: tuple[Conversation, str]) -> None:
    conversation, printed = told
    report = conversation.report

    assert _ends(conversation.answered[4]) == ["success", "success"]
    assert conversation.answered[4].results[0].value == "README.md has not changed within 0.5 s."
    assert "another message asks for read_file: AdmissionClosed" in printed
    assert not conversation.late_admitted
    assert (report.mode, report.unfinished, report.unknown_effects, report.exit_code) == ("drain", (), (), 0)
    assert conversation.as_promised


@requirement("examples.transcript.drain")
def test_nothing_in_the_tree_is_changed(tree: Path, conversation: Conversation) -> None:
    assert conversation.as_promised
    left = {path.relative_to(tree).as_posix(): path.read_text() for path in tree.rglob("*") if path.is_file()}
    assert left == FILES


@requirement("examples.transcript.live")
def test_the_states_of_each_call_are_shown_with_how_it_ended(told: tuple[Conversation, str]) -> None:
    _, printed = told
    lines = printed.splitlines()
    escape = next(at for at, line in enumerate(lines) if "PATH_ESCAPE" in line)
    waiting = [line for line in lines if "waiting for a change of README.md" in line]

    assert lines[escape].startswith("  #1 error permission PATH_ESCAPE, effect none, ")
    assert lines[escape + 1].startswith("     seen: ")
    assert lines[escape + 1].endswith("terminal")
    assert all(line.startswith("  live ") for line in waiting)
    assert waiting


@requirement("examples.transcript.live")
async def test_a_view_ends_with_the_last_of_its_calls_and_knows_every_state(tree: Path) -> None:
    printed = io.StringIO()
    call = ToolCall("wait_for_change", {"path": "README.md", "seconds": 0.3})
    view = LiveView(Screen(printed), [call])
    async with open_supervisor(coding_toolbox(tree).extend(wait_for_change)) as supervisor:
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                await nursery.start(view.follow, supervisor)
                await supervisor.execute(ToolCall("glob", {"pattern": "*"}))
                await supervisor.execute(call)

    states = [state.partition(" ")[0] for state in view.trail(call.id).split(", ")]
    assert {"active", "waiting"} < set(states)
    assert states[-1] == "terminal"


@requirement("examples.transcript.drain")
def test_a_message_that_is_let_in_during_the_drain_is_not_as_promised(conversation: Conversation) -> None:
    assert not msgspec.structs.replace(conversation, late_admitted=True).as_promised


@requirement("examples.transcript.drain")
async def test_a_drain_needs_no_late_message(tree: Path) -> None:
    transcript = load_transcript()
    last = msgspec.structs.replace(transcript.rounds[-1], late=None)

    conversation = await Agent(Screen(io.StringIO())).run(msgspec.structs.replace(transcript, rounds=[last]), tree)

    assert conversation.as_promised


async def test_the_waiting_tool_says_when_the_file_has_changed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("before")
    async with open_supervisor(coding_toolbox(tmp_path).extend(wait_for_change)) as supervisor:
        with trio.fail_after(30):
            async with supervisor.executions.subscribe(tool_name="wait_for_change") as updates:
                execution = supervisor.start(ToolCall("wait_for_change", {"path": "notes.txt"}))
                async for snapshot in updates:
                    if snapshot.state == "waiting":
                        break
            (tmp_path / "notes.txt").write_text("after")
            result = await execution.result()

    assert result.value == "notes.txt has changed."


@requirement("examples.transcript.refused")
async def test_the_waiting_tool_cannot_look_outside_of_the_root(tree: Path) -> None:
    async with open_supervisor(coding_toolbox(tree).extend(wait_for_change)) as supervisor:
        result = await supervisor.execute(ToolCall("wait_for_change", {"path": "../../etc/passwd"}))

    assert result.error is not None
    assert "leads out of the root" in result.error.message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "truncated"),
        ('{"prompt": "x"}', "missing required field `rounds`"),
        ('{"prompt": "x", "rounds": [{"title": "t", "host": "later", "message": {}}]}', r"\$.rounds\[0\].host"),
        ('{"prompt": "x", "rounds": [], "extra": 1}', "unknown field `extra`"),
    ],
)
def test_a_file_that_is_no_transcript_is_refused_with_the_place(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text)

    with pytest.raises(msgspec.DecodeError, match=reason):
        load_transcript(tmp_path / "t.json")


def test_the_words_of_a_message_are_its_texts() -> None:
    blocks = [{"type": "text", "text": "First."}, {"type": "tool_use", "id": "1"}, {"type": "text", "text": "Then."}]

    assert spoken({"content": blocks}) == "First. Then."
    assert spoken({}) == ""


def test_every_round_of_the_shipped_transcript_asks_for_something() -> None:
    transcript: Transcript = load_transcript()
    rounds: list[Round] = transcript.rounds

    assert [one.host for one in rounds] == ["together", "stream", "together", "deadline", "drain"]
    assert all(one.turn.calls and one.turn.stop_reason == "tool_use" for one in rounds)
    assert all(call.defect is None for one in rounds for call in one.turn.calls)
