"""Agents of other frameworks that use our tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "agents.shown": Requirement(
        "design 13, surroundings 1.6",
        "An agent is shown the tools of a host by legal names, with their contracts in its framework's form, but none "
        "that gates or the approval policy would refuse in any case.",
    ),
    "agents.available": Requirement(
        "design 13, surroundings 1.6",
        "A tool that is not available is not shown where the framework asks again, and never runs.",
        "availability follows a live toolbox, where armorer filters when the tools are made",
    ),
    "agents.supervised": Requirement(
        "design 13, surroundings 1.6",
        "A call of an agent is an execution with the framework's call id, under the options that the program answers "
        "for the run's context; the limits of the host hold for however many calls at once.",
        "armorer passes neither call id nor authority",
    ),
    "agents.malformed": Requirement(
        "design 13", "Arguments that are no whole JSON object never run, and the model is told why."
    ),
    "agents.words": Requirement(
        "design 7, surroundings 1.6",
        "The model reads in our words that a call was refused and did not run, was cancelled, failed, or may have taken "
        "effect, and only calls that it wrote wrongly are asked to be written again.",
    ),
    "agents.media": Requirement(
        "design 13", "Pictures reach the model where the framework takes them; the chunks of a stream are collected."
    ),
    "agents.facts": Requirement(
        "design 13",
        "The program finds the execution, its effect and the descriptor of a call that waits beside the framework's "
        "record of the call, in a form that the framework can store.",
    ),
    "agents.cancel": Requirement(
        "design 8, surroundings 1.6", "A run that is cancelled aborts its executions, source `caller`, and they settle."
    ),
    "agents.cancel-everywhere": Requirement(
        "design 15", "Cancelled at any round of the loop, a call of an agent leaves nothing running, pending or lost."
    ),
    "agents.shutdown": Requirement(
        "design 8",
        "A host that is shut down under a run answers each call in words and leaves no future pending; a call of a "
        "closed host raises `AdmissionClosed`, or is answered in words where the program would not see an exception.",
    ),
    "agents.asked-in-place": Requirement(
        "design 12", "The approval handler of the host is asked about calls of an agent, and the call waits for it."
    ),
    "agents.paused": Requirement(
        "design 12, surroundings 1.6",
        "A call that waits for a person is put to them in the framework's own way, also across processes, and goes on "
        "when they agreed; it runs once.",
        "armorer answers it as an empty success",
    ),
    "agents.agreed-to-what-runs": Requirement(
        "design 12",
        "A yes that a framework brings counts for just what the person saw: not for arguments that a hook made, not for "
        "another call, and not for one that is out of date.",
    ),
    "agents.gate": Requirement(
        "design 13, surroundings 1.7",
        "Tools of a framework that are not ours run only if the rules of the host's toolbox let them, the strictest verdict "
        "winning; what is refused never begins.",
        "an unknown tool counts as one that changes something, and is not refused as such",
    ),
    "agents.wrong": Requirement(
        "design 1, surroundings 1.7",
        "What is wrong about the tools of an agent is said when they are made, with what would be right.",
    ),
    "agents.threads": Requirement(
        "design 13",
        "LangChain tools are called from threads as well, through either host, and say so where they can't.",
    ),
    "examples.agents": Requirement(
        "design 13",
        "For each framework that is installed with the tests an example shows an agent that works within limits, asks "
        "before it books, and is told that something may have happened.",
    ),
}
