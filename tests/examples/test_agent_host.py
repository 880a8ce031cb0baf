"""The example of a host of several agents tells what its page promises."""

from __future__ import annotations

from tests.examples.programs import run_example
from tests.requirements import requirement


@requirement("examples.agent-host")
def test_agents_share_the_host_in_turns_one_leaves_and_the_day_ends_in_order() -> None:
    lines = run_example("agent_host").splitlines()
    at = {line[7:].strip(): float(line[:3]) for line in lines if " s  " in line}

    # Ann has asked for six pages before Ben came; his is read second, not seventh.
    assert at["ben   says: bees it is"] < at["ann   says: six pages, and Ada knows"]
    assert sum("ann     read_page: success" in line for line in lines) == 6
    assert at["cleo  its user left; 0 of its calls still run"] == 12
    assert sum("cleo    read_page: CANCELLED" in line for line in lines) == 1
    assert sum("cleo    read_page: NOT_STARTED" in line for line in lines) == 2
    assert "ann     send_mail: success, effect completed" in at
    assert at["dora    read_page: success"] > 42  # it had begun when the door was closed
    assert at["dora  has to go on tomorrow"] == at["dora    read_page: success"]
    assert lines[-1] == "drain: 12 ended, 0 unfinished"


@requirement("examples.agent-host")
def test_it_tells_the_same_story_each_time() -> None:
    assert sorted(run_example("agent_host").splitlines()) == sorted(run_example("agent_host").splitlines())
