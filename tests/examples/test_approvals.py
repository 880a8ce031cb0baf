"""The example of approvals does what it says, at once and later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples.approvals import __main__ as program
from examples.approvals.agent import Office, ask_at_once
from examples.approvals.bank import Bank
from tests.requirements import requirement


@requirement("examples.approvals.at-once")
async def test_a_person_agrees_changes_the_arguments_or_refuses_while_the_call_waits() -> None:
    bank = Bank(1000)

    ends = await ask_at_once(bank)

    assert [end.partition(",")[0] for end in ends] == [
        "look: 1000",
        "lunch: sent 20 EUR to Ada",
        "rent: sent 100 EUR to Ben (rent) (other arguments than the model's)",
        "fun: HUMAN_DENIED",
        "house: POLICY_DENIED",
    ]
    assert (bank.sent, bank.balance) == ([("Ada", 20), ("Ben", 100)], 880)


@requirement("examples.approvals.later")
async def test_a_call_that_waits_is_kept_in_a_file_and_resumed_once_by_another_supervisor(tmp_path: Path) -> None:
    bank, waiting = Bank(1000), tmp_path / "waiting.json"
    office = Office(waiting)

    day = await office.day(bank)

    assert bank.sent == []
    assert [end for end in day if end.endswith("waits for a person")] == [
        f"{name}: waits for a person" for name in ("lunch", "rent", "fun")
    ]
    assert [pending["arguments"]["to"] for pending in json.loads(waiting.read_text())] == ["Ada", "Ben", "casino"]

    assert await office.evening(bank) == [
        "lunch: sent 20 EUR to Ada",
        "rent: sent 300 EUR to Ben (rent)",
        "fun: revoked",
        "lunch: already-consumed",
    ]
    assert (bank.sent, bank.balance) == ([("Ada", 20), ("Ben", 300)], 680)


@requirement("examples.approvals.later")
async def test_a_file_that_somebody_changed_sends_nothing(tmp_path: Path) -> None:
    bank, waiting = Bank(1000), tmp_path / "waiting.json"
    office = Office(waiting)
    await office.day(bank)
    waiting.write_text(waiting.read_text().replace('"Ada"', '"Eve"'))

    assert (await office.evening(bank))[0] == "lunch: invalid-signature"
    assert ("Eve", 20) not in bank.sent

    waiting.write_text('[{"arguments": {"to": "Eve"}}]')
    assert set(await office.evening(bank)) == {"a call without an id: invalid-binding"}
    assert ("Eve", 20) not in bank.sent


@requirement("examples.approvals.later")
def test_it_is_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    program.main()

    assert capsys.readouterr().out.endswith("\nLeft: 680 EUR\n")
