"""Telemetry and logs: what is told to others, and what never is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "telemetry.supervisor": Requirement(
        "design 13",
        "What watches, serves or records a supervisor refuses anything else, such as a host, and says what to give.",
    ),
    "telemetry.conventions": Requirement(
        "design 13, surroundings 5, armorer-core 4D",
        "Each execution has one span, called and described as the conventions for generative AI publish it.",
    ),
    "telemetry.identity": Requirement(
        "design 12, design 13", "Owner, agent and conversation are told only when the host asks for that."
    ),
    "telemetry.names": Requirement(
        "design 13, surroundings 5",
        "What a model or a tool made up is no name of a span and no label: neither a name nor a code.",
    ),
    "telemetry.parents": Requirement(
        "design 13, field case 90, surroundings 5, armorer-core 1K, armorer-core 2G, armorer-core 2H",
        "A span hangs below what is current where the call is made, and what hooks, middleware and the body open and call "
        "hangs below it; the caller's own context is never touched.",
    ),
    "telemetry.threads": Requirement(
        "design 13, field case 93", "Threads see the span and the context of their call, and change nobody else's."
    ),
    "telemetry.links": Requirement(
        "design 13, surroundings 5, armorer-core 2G",
        "What a tool starts has a trace of its own that points to the tool; a call that goes on after a person agreed "
        "points to where it waited.",
    ),
    "telemetry.status": Requirement(
        "design 13, field case 94, surroundings 5",
        "Only what went wrong shows as an error: no pause, no denial, no cancellation.",
        "armorer marks denials as errors; here they are told apart by `error.type` and category, and raise no alarm.",
    ),
    "telemetry.once": Requirement(
        "design 8, design 13, field case 90, surroundings 5, surroundings 9",
        "Each span is ended once, when the state is final, however the execution or its supervisor ends.",
    ),
    "telemetry.stop": Requirement(
        "design 13, surroundings 5, surroundings 9",
        "Telemetry can begin and stop while calls run: what is open then is ended, what ran before is left alone.",
    ),
    "telemetry.events": Requirement(
        "design 13, surroundings 5",
        "Queueing, questions, retries, effect windows, aborts and the ledger's answer stand on the span.",
    ),
    "telemetry.off": Requirement("design 14", "Telemetry that is off, not sampled or broken harms no call."),
    "telemetry.metrics": Requirement(
        "design 13, surroundings 5",
        "Calls, times, live executions, limits, lost events and ledger answers are measured, with few labels.",
    ),
    "telemetry.remote": Requirement(
        "design 13, field case 96",
        "A parent that comes with a call is used, and the current one linked; rubbish is ignored, and no tool sees it as an "
        "argument.",
    ),
    "telemetry.discreet": Requirement(
        "design 12, design 13, surroundings 5, surroundings 9, armorer-core 4D",
        "A secret in arguments, results, exceptions, their causes, metadata, headers or the request context shows in no span, "
        "metric, log line, snapshot, event or summary of the ledger.",
    ),
    "telemetry.otlp": Requirement("design 13", "What is exported arrives at a real receiver over OTLP/HTTP."),
    "telemetry.pages": Requirement("design 13", "The page of telemetry lists exactly what is exported."),
    "examples.telemetry": Requirement(
        "design 13, design 15",
        "The example shows a turn of an agent as one trace, and its log, without the secret in it.",
    ),
    "logs.lines": Requirement("design 13", "Each step of an execution is one log line with its ids."),
    "logs.bound": Requirement(
        "design 13", "Lines that a tool writes itself carry the ids of its execution, in threads as well."
    ),
    "logs.redaction": Requirement(
        "design 13", "Logging that we configure masks privileged keys and what looks like a secret, unless told not to."
    ),
    "logs.withheld": Requirement(
        "design 12, design 13",
        "Our lines about hooks, handlers and stores that raised name the exception and its place, and quote it only when "
        "that is asked for.",
    ),
    "logs.quiet": Requirement("design 13", "Importing configures nothing, and a logger that fails harms no call."),
    "probes.attached": Requirement(
        "design 14", "A probe is told at once, in the task in which it happens, and what it raises harms nobody."
    ),
    "statistics.numbers": Requirement(
        "design 13", "A supervisor tells what is live, which limits are in use and what was lost, to any thread."
    ),
}
