"""The command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "cli.run.result-lines": Requirement(
        "design section 13",
        "Each call that was read has one JSON line: outcome, value, error, effect, words for the model.",
    ),
    "cli.run.formats": Requirement(
        "design section 13",
        "Results come as messages ready to send back to any of the providers, whoever made the calls.",
    ),
    "cli.run.any-value": Requirement(
        "field case 101", "What has no JSON form is left out of its line, which says so; the line stays valid."
    ),
    "cli.run.owner": Requirement("design section 6", "All calls of a run belong to the owner that the user names."),
    "cli.run.error-detail": Requirement("design section 7", "Exceptions that no tool declared can be kept back."),
    "cli.run.kit": Requirement("design section 4", "A kit is named with its root, and combines with other tools."),
    "cli.run.other-calls": Requirement(
        "design section 13", "Calls of other types are left alone, and the last line counts them."
    ),
    "cli.input.shapes": Requirement(
        "design section 13",
        "The input is calls, messages of any provider, or a transcript, told by its shape, over one line or many.",
    ),
    "cli.input.plain-calls": Requirement(
        "field cases 54 and 55",
        "Plain calls are numbered where they have no id; broken arguments are a result and nothing runs.",
    ),
    "cli.input.truncated": Requirement(
        "field case 56", "The last call of a message that was cut off is answered as truncated, and never runs."
    ),
    "cli.input.no-calls": Requirement("design section 13", "A message without calls gives no lines and is no error."),
    "cli.input.said": Requirement("design section 13", "The user can say what the input is."),
    "cli.exit.bug": Requirement(
        "design section 6", "A bug of ours or an interrupt never looks like a call that merely failed."
    ),
    "cli.input.bad": Requirement(
        "field cases 48 and 55",
        "Every unusable input gets one line that says where and what would be right, and code 2; nothing of it runs.",
    ),
    "cli.input.size": Requirement(
        "field case 48", "A line or document over the bound is refused before it is read whole."
    ),
    "cli.debug": Requirement("design section 13", "Tracebacks of bad input are shown only when they are asked for."),
    "cli.stderr.plain": Requirement(
        "field case 101", "Nothing from input or tools can steer the terminal through a line on stderr."
    ),
    "cli.stdout.only-results": Requirement(
        "field case 101", "Standard output has nothing but results, whatever modules, tools and their children print."
    ),
    "cli.tools.named": Requirement(
        "design section 13",
        "Tools are named as module:attribute: a Toolbox, a tool, a list, or a function that makes one; several combine.",
    ),
    "cli.tools.bad": Requirement(
        "design section 5", "Tools that cannot be loaded get one line with the reason and place."
    ),
    "cli.tools.listed": Requirement(
        "design section 13", "The tools of a toolbox are listed for people and for programs."
    ),
    "cli.tools.manifest": Requirement(
        "design section 13", "Tools may come from a manifest, whose faults get one line."
    ),
    "cli.search": Requirement(
        "design section 13", "Tools are found by what they are for, best first, for people and for programs."
    ),
    "cli.help": Requirement("design section 13", "The command explains itself: help, examples, exit codes, version."),
    "cli.usage": Requirement("design section 13", "Wrong usage gets one line and code 2."),
    "cli.extra": Requirement("design section 4", "Without its extra the command says which one to install."),
    "cli.signal.drain": Requirement(
        "field case 10",
        "The first SIGINT or SIGTERM drains by default and says so; work that finishes in time succeeds.",
    ),
    "cli.signal.abort": Requirement(
        "design section 8", "The second signal aborts, however quickly it follows the first."
    ),
    "cli.signal.at-once": Requirement(
        "design section 8", "The third signal exits at once with a list, even while a tool blocks the event loop."
    ),
    "cli.signal.nothing-to-stop": Requirement(
        "design section 8",
        "A signal before anything was loaded, or after everything was written, ends the command without a traceback, and "
        "changes no exit code that is known.",
    ),
    "cli.signal.hangup": Requirement("design section 8", "A closed terminal drains like SIGTERM."),
    "cli.exit.interrupted": Requirement(
        "design section 7",
        "When a tool raises KeyboardInterrupt, the results of calls that had ended are written before the run exits.",
    ),
    "cli.signal.ignored": Requirement(
        "design section 8", "A signal that was ignored when the command was started stays ignored."
    ),
    "cli.input.streamed": Requirement(
        "design section 13", "JSON Lines are run as they come, while the pipe that they come through stays open."
    ),
    "cli.run.order": Requirement(
        "design section 16", "Results come in the order of the calls, or as they end when that is asked for."
    ),
    "cli.run.transcript": Requirement(
        "design section 13", "The messages of a transcript run one after the other, the calls of one message together."
    ),
    "cli.run.back-pressure": Requirement(
        "design section 13", "Reading pauses while as many calls wait as may; nothing is refused or held without bound."
    ),
    "cli.run.deadline": Requirement("design section 8", "A deadline ends every call and the reading of the input."),
    "cli.run.timeout": Requirement("design section 8", "A timeout is for each call."),
    "cli.run.fail-fast": Requirement("design section 16", "Failing fast is explicit; it stops the whole run."),
    "cli.stdout.closed-pipe": Requirement(
        "field case 101", "A reader that goes away is quiet: what runs is aborted, the exit code says so."
    ),
    "cli.stdout.unwritable": Requirement(
        "field case 101", "An output that cannot be written, or a closed stream, is one line and no traceback."
    ),
    "cli.stdout.any-locale": Requirement(
        "field case 101", "Standard output is valid JSON Lines, the same bytes in any locale, lone surrogates included."
    ),
    "cli.streams.non-blocking": Requirement(
        "field case 101", "Pipes that somebody made non-blocking are read and written."
    ),
    "cli.live.shows": Requirement(
        "design section 13",
        "The live view shows what runs, waits, streams and is stopped, progress, limits and the queue.",
    ),
    "cli.live.terminal": Requirement(
        "design section 13",
        "On a terminal the view is shown while calls run and wiped away afterwards; NO_COLOR is respected.",
    ),
    "cli.live.quiet": Requirement(
        "design section 13",
        "Where stderr is no terminal nothing is said while all is well, unless a view is asked for.",
    ),
    "cli.live.harmless": Requirement("design section 2", "A view that cannot be drawn ends; the run goes on."),
    "cli.exit.codes": Requirement(
        "design section 8", "The exit code and the last lines on stderr say what ended how, by one table."
    ),
    "cli.approve.ask": Requirement(
        "design 12, armorer-core 6G.60",
        "At a terminal the person sees the tool, what would run, its effect, the reason and who asks; only a yes runs it.",
    ),
    "cli.approve.edit": Requirement(
        "design 12", "The person may write other arguments, and is asked again if something else than these would run."
    ),
    "cli.approve.turns": Requirement(
        "design 12", "Questions come one after the other, and neither the live view nor results are drawn into them."
    ),
    "cli.approve.plain": Requirement(
        "field case 101", "Arguments and reasons are shown whole, and can't steer the terminal that asks."
    ),
    "cli.approve.timeout": Requirement("design 12", "A question that nobody answers in time is a no."),
    "cli.approve.stop": Requirement(
        "design 8",
        "A signal, a deadline or a terminal that is gone withdraws the question; other calls go on meanwhile.",
    ),
    "cli.approve.nobody": Requirement(
        "design 12",
        "Where nobody can be asked nothing waits: the line says what would have run, and stderr what to do.",
    ),
    "cli.approve.all": Requirement(
        "design 12", "Whoever runs the command may approve everything; what is denied stays denied."
    ),
    "cli.rules": Requirement("design 12", "The command line adds gates and an approval mode, and loosens nothing."),
    "cli.rules.combined": Requirement(
        "design 12", "The rules of a toolbox count wherever it is named; two sets of rules are refused."
    ),
    "cli.ledger.list": Requirement(
        "design 12",
        "An operator sees the attempts that have no end and that nobody is at, and in words what is true of each.",
    ),
    "cli.ledger.held": Requirement(
        "design 12", "Where attempts are still held by somebody, a list of what needs somebody says how many."
    ),
    "cli.ledger.filters": Requirement("design 12", "Attempts are chosen by state, tenant, tool and host."),
    "cli.ledger.pages": Requirement("design 12", "A long list comes in pages, and each says how to go on."),
    "cli.ledger.exit": Requirement(
        "design 12", "The exit code of a list says whether something in it waits for a decision."
    ),
    "cli.ledger.private": Requirement(
        "field case 101",
        "Arguments and results are shown to nobody who did not ask for them, and nothing can steer the terminal.",
    ),
    "cli.ledger.show": Requirement(
        "design 12", "All that is known of one attempt is shown, times in UTC and as spans."
    ),
    "cli.ledger.next": Requirement(
        "design 12", "What can be done about an attempt is shown as the command that does it."
    ),
    "cli.ledger.find": Requirement(
        "design 12", "An attempt is named by its id, its execution or its key; of several the candidates are listed."
    ),
    "cli.ledger.resolve": Requirement(
        "design 12",
        "A decision is signed with the keys of the host, kept with who and why, and counts for the host's next call.",
    ),
    "cli.ledger.release": Requirement("design 12", "What nothing came of, and only that, can be released."),
    "cli.ledger.refused": Requirement(
        "design 12, design 15",
        "About an attempt that somebody may be at, that is gone, or that was decided, nothing is decided, and why is said.",
    ),
    "cli.ledger.authorize": Requirement(
        "design 12, armorer-core 7F.36",
        "Somebody may let the result of an attempt be told under other rules than those that it was recorded under, by a "
        "signed receipt that is kept, and shown.",
    ),
    "cli.ledger.confirm": Requirement(
        "design 12",
        "Nothing is decided before somebody at the terminal has agreed, or has said beforehand that he does.",
    ),
    "cli.ledger.print": Requirement(
        "design 12", "A receipt can be signed for a call to bring along, and nothing is changed."
    ),
    "cli.ledger.keys": Requirement(
        "design 12", "Keys come from a file that only its owner can read, and no secret is ever shown."
    ),
    "cli.ledger.forget": Requirement("design 12", "What ended long ago is forgotten, or only counted."),
    "cli.ledger.no-store": Requirement(
        "design 12",
        "A store that is not there is said not to be: no file is made, and no other file or table is changed.",
    ),
    "cli.ledger.beside-host": Requirement(
        "design 12", "All of it works while hosts have the store open, on either kind."
    ),
    "cli.ledger.streams": Requirement(
        "design 13", "Closed outputs, readers that leave and signals end it as they end every other command."
    ),
}
