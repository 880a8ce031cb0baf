"""The example of a service that is known only by its document does what its page says."""

from __future__ import annotations

import pytest

from examples.openapi import __main__ as example
from tests.requirements import requirement


@requirement("openapi.example")
async def test_a_book_is_lent_once_though_an_answer_was_lost(capsys: pytest.CaptureFixture[str]) -> None:
    library = await example.run()
    told = capsys.readouterr().out.splitlines()

    assert library.loans == {"loan-1": {"book": "b1", "weeks": 2}}
    assert library.lost_one
    assert told[:2] == [
        "findBooks {'filter_title': 'query filter[title]'} read-only",
        "borrow {'id': 'path id', 'weeks': 'body weeks'} external-write",
    ]
    assert told[2].startswith("DELETE /books/{id}/loans: not-imported ")
    effects = [line for line in told if line.startswith("[effect")]
    assert effects == [
        *["[effect: none]"] * 4,
        "[effect: unknown, fresh]",
        "[effect: completed, fresh]",
        "[effect: completed, deduped]",
    ]
    assert "The host has no credentials for this tool (card), so nothing was sent." in told
    assert "card-0042" not in "\n".join(told)
