"""Tools that come with the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "kits.background.round-trip": Requirement(
        "design section 4",
        "A model starts a call, goes on, and comes back for exactly the result that a direct call would have given.",
    ),
    "kits.background.own-only": Requirement(
        "design section 9", "A model sees and touches background calls of its own owner only, whatever ids it tries."
    ),
    "kits.background.await": Requirement(
        "design section 6", "Waiting for a background call is a declared wait, bounded, and changes nothing about it."
    ),
    "kits.background.await-never-hangs": Requirement(
        "design section 9",
        "A model is told at once when waiting for a background call would never end, because it holds what that needs.",
    ),
    "kits.background.cancel": Requirement(
        "design section 8", "Cancelling a background call answers what it did, and whether it was honoured."
    ),
    "kits.background.which": Requirement(
        "design section 4", "Only the tools that the host allows are started in the background, never those of the kit."
    ),
    "kits.background.refused": Requirement(
        "design section 7",
        "A call that is refused at once is told at once, with the reason, and leaves nothing behind.",
    ),
    "kits.background.bounded": Requirement(
        "design section 9",
        "How many run, how many results are kept and how long is bounded, and what is lost is counted.",
    ),
    "kits.background.text": Requirement(
        "field case 97", "A long result comes in parts that follow each other and lose nothing."
    ),
    "kits.background.notices": Requirement(
        "design section 6",
        "A host is told once of every end of a background call, also when it came late, left, or stalled meanwhile.",
    ),
    "kits.background.options": Requirement("design section 5", "A wrong option of the kit says what would be right."),
    "kits.jail.inside": Requirement(
        "design 4, surroundings 6.2",
        "A relative path that stays inside the root is read, ``.`` and ``..`` within it included.",
    ),
    "kits.jail.inner-links": Requirement(
        "design 4, surroundings 6.2",
        "A link whose target stays inside the root is followed, relative or absolute.",
    ),
    "kits.jail.root-link": Requirement(
        "design 4, surroundings 6.2",
        "The root may be a link; once opened it stays the same directory, whatever its path leads to later.",
    ),
    "kits.jail.escape-refused": Requirement(
        "design 4, surroundings 6.2, surroundings 6.3, surroundings 9, armorer-core 3B",
        "A path that is absolute, or leaves the root by ``..`` or by a link, is refused as a matter of permission, and no message tells where the root is.",
        "Elsewhere the message shows the absolute root to the model.",
    ),
    "kits.jail.malformed-refused": Requirement(
        "design 4, surroundings 6.2",
        "Text that cannot be a path is refused as invalid, in a message of readable length.",
    ),
    "kits.jail.errors-told": Requirement(
        "design 7, surroundings 6.3",
        "Missing files are not found, refused ones a matter of permission, and running out of handles is transient.",
    ),
    "kits.jail.special-files": Requirement(
        "design 4, surroundings 6.3",
        "Directories, pipes, sockets and devices are refused, and opening one never waits.",
    ),
    "kits.jail.dangling-link": Requirement(
        "design 4, surroundings 6.2",
        "A link to nothing is refused; one that leads out is refused before its target is looked at.",
        "Elsewhere a dangling link that leads out passes the check.",
    ),
    "kits.jail.link-loop": Requirement(
        "field case 100",
        "A loop of links ends in an error.",
    ),
    "kits.jail.race": Requirement(
        "design 4, surroundings 6.2",
        "What is swapped, moved or linked while a path is walked never leads out of the root.",
        "Elsewhere the path is checked first and opened later.",
    ),
    "kits.jail.handles-closed": Requirement(
        "design 4",
        "No handle stays open, however a read or a search ends.",
    ),
    "kits.jail.close": Requirement(
        "design 4",
        "A closed root reads no more, operations under way keep theirs, and one that nobody holds closes itself.",
    ),
    "kits.jail.wrong-root": Requirement(
        "design 5, surroundings 6.2",
        "A root that is no directory, or a system that cannot open by handle, is an error when the kit is made.",
    ),
    "kits.names.undecodable": Requirement(
        "design 4",
        "A name that is no UTF-8 is written as plain text in results, and that text leads back to the file.",
    ),
    "kits.read.lines": Requirement(
        "design 4, surroundings 6.3, surroundings 12.6",
        "A read gives the lines asked for, says where they are, and says whether more follows.",
    ),
    "kits.read.exact": Requirement(
        "field case 98, surroundings 6.3",
        "Slices joined with line feeds are the file's text to the byte: line ends and byte order marks are kept.",
        "Elsewhere a last line feed counts as an empty line.",
    ),
    "kits.read.byte-cap": Requirement(
        "field case 97, surroundings 6.3, surroundings 9, surroundings 12.6",
        "A result holds at most the byte cap, cut between lines, or within a line that alone is longer, between two characters; the rest can be read on from there.",
        "Elsewhere nothing beyond the cap can ever be read, and a split character is replaced.",
    ),
    "kits.read.large-file": Requirement(
        "design 4, surroundings 6.3, surroundings 9",
        "Any line of a large file can be read; the total is None when counting it would cost too much.",
    ),
    "kits.read.binary": Requirement(
        "design 4, surroundings 6.3",
        "A binary file is an error that says what it is.",
        "Elsewhere its bytes are returned as if they were text.",
    ),
    "kits.read.invalid-utf8": Requirement(
        "design 4, surroundings 6.3",
        "Bytes that are no UTF-8 are replaced, and counted.",
    ),
    "kits.read.bad-numbers": Requirement(
        "design 5, surroundings 6.3",
        "Offsets and limits out of range are refused.",
    ),
    "kits.search.cancel": Requirement(
        "design 5, surroundings 6.4",
        "A read or a search stops where its caller asks it to: within a large tree, a large directory and a long file.",
    ),
    "kits.search.order": Requirement(
        "design 4, surroundings 6.4, surroundings 6.5, surroundings 9",
        "Results come sorted, name by name, the same every time.",
        "Elsewhere they come in the order of the directory.",
    ),
    "kits.search.skips-counted": Requirement(
        "field case 100, surroundings 6.4",
        "What a search did not look at is counted by reason and said in words.",
        "Elsewhere it is passed over in silence.",
    ),
    "kits.search.links-end": Requirement(
        "field case 100, surroundings 6.4, surroundings 6.5",
        "Links are followed only where the pattern names them, so a loop of links cannot hold a search, and none leads out.",
    ),
    "kits.search.deep-tree": Requirement(
        "design 4",
        "A tree of any depth is walked, with a bounded number of handles.",
    ),
    "kits.search.exhaustion": Requirement(
        "design 7",
        "Running out of handles is an error, never a file skipped.",
    ),
    "kits.grep.matches": Requirement(
        "design 4, surroundings 6.4",
        "A search gives path, line number and text of every line that matches.",
    ),
    "kits.grep.files": Requirement(
        "design 4, surroundings 6.4",
        "A glob selects the files to search; without a slash it means any depth, and a directory means all that is below it.",
    ),
    "kits.grep.flags": Requirement(
        "design 4, surroundings 6.4",
        "The flags i, m and s are known, others are refused.",
    ),
    "kits.grep.linear-time": Requirement(
        "field case 100, surroundings 6.4, surroundings 9",
        "No pattern takes more than linear time; a line too long for a large pattern is passed over and counted.",
    ),
    "kits.grep.bad-pattern": Requirement(
        "field case 100, surroundings 6.4",
        "A wrong pattern is an error that says what is wrong and where, never an empty result.",
    ),
    "kits.grep.truncated": Requirement(
        "design 4, surroundings 6.4, surroundings 9, surroundings 12.6",
        "A search is truncated exactly when there is one more match.",
        "Elsewhere also when there are exactly as many as asked for.",
    ),
    "kits.grep.long-lines": Requirement(
        "field case 97, surroundings 6.4",
        "A long line is cut around its match, between two characters, and says how much was left out.",
    ),
    "kits.grep.line-ends": Requirement(
        "design 4",
        "A line that ends with carriage return and line feed matches like any other.",
    ),
    "kits.grep.stream": Requirement(
        "field case 30",
        "Matches are yielded as they are found; the value is the reducer's result of them and the summary.",
    ),
    "kits.glob.patterns": Requirement(
        "design 4, surroundings 6.5",
        "Patterns know ``*``, ``?``, ``[...]``, ``**``, ``{a,b}`` and a trailing slash; a name that equals the pattern always matches.",
    ),
    "kits.glob.truncated": Requirement(
        "design 4, surroundings 6.5",
        "A listing is truncated exactly when there is one more path.",
    ),
    "kits.glob.refused": Requirement(
        "design 4, surroundings 6.5, surroundings 12.6",
        "A pattern that is absolute, climbs or names a home directory is refused, and so is one that is no pattern.",
    ),
    "kits.tools.declared": Requirement(
        "design 5, surroundings 6.6",
        "The tools only read, their output is untrusted, they run in worker threads, and their names may be chosen.",
    ),
    "kits.tools.extra": Requirement(
        "design 5",
        "A missing package is named with the extra that brings it; nothing is done without it in silence.",
    ),
    "kits.tools.run": Requirement(
        "design 17",
        "Under a supervisor the tools read, stream, report progress, refuse and stop like any others.",
    ),
    "kits.edit.only-the-match": Requirement(
        "field case 98",
        "An edit changes the matched bytes and no other: line ends, byte order marks and invalid bytes stay.",
    ),
    "kits.edit.whole": Requirement(
        "field case 98",
        "An edited file keeps its permission bits, and one whose edit fails is the old file, with nothing left beside it.",
    ),
    "kits.edit.exact": Requirement(
        "field case 98",
        "The text occurs exactly once unless all are meant; else the answer says how often, or why it may not occur.",
    ),
    "kits.edit.refused": Requirement(
        "field case 98",
        "What leads out of the root, is no file, is too large, read-only or changes nothing is refused, and nothing is changed.",
    ),
    "kits.edit.changed-meanwhile": Requirement(
        "field case 98", "A file that somebody else changed after it was read is left as they made it."
    ),
    "kits.edit.one-at-a-time": Requirement(
        "field case 98", "Edits of one file run one after the other, however its path is spelled, and all of them land."
    ),
    "kits.edit.declared": Requirement(
        "field case 98",
        "The tool exists only when asked for, declares the root as its target, and marks the step that changes the file.",
    ),
}
