"""The kit's functions as tools: each runs in a worker thread, can be stopped in the middle, and only reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Annotated, Final, cast

import attrs
from msgspec import Meta

from ...definitions._context import BlockingContext
from ...definitions._effects import Risk
from ...definitions._making import ToolDecorator, tool
from ...definitions._tool import Tool
from ...toolbox import Toolbox
from ._glob import DEFAULT_RESULTS, GlobQuery, GlobResult, glob
from ._grep import DEFAULT_MATCHES, GrepLimits, GrepMatch, GrepQuery, GrepResult, GrepSummary, collect_matches, grep
from ._ignore import ignore_package
from ._jail import Jail
from ._limits import instance_of
from ._read import DEFAULT_LINES, FileSlice, ReadLimits, read_file
from ._regex import regex_engine

_Hidden = Annotated[bool, "Also look at files and directories whose names begin with a dot."]
_Ignored = Annotated[bool, "Also look at what a .gitignore excludes."]


@attrs.frozen(kw_only=True)
class CodingOptions:
    """What may be set about the coding tools.

    Args:
        read_file: The name of the tool that reads.
        grep: The name of the tool that searches.
        glob: The name of the tool that lists.
        namespace: The namespace of all three.
        read_limits: What one read may give and cost.
        grep_limits: What one search may read and show.
        timeout: Seconds that one call may work; None for ever.
    """

    read_file: str = "read_file"
    grep: str = "grep"
    glob: str = "glob"
    namespace: str = "default"
    read_limits: ReadLimits = attrs.field(factory=ReadLimits, validator=instance_of(ReadLimits))
    grep_limits: GrepLimits = attrs.field(factory=GrepLimits, validator=instance_of(GrepLimits))
    timeout: float | None = None


_DEFAULTS: Final = CodingOptions()

CodingTools = tuple[Tool[..., FileSlice], Tool[..., GrepResult], Tool[..., GlobResult]]
"""``read_file``, ``grep`` and ``glob``, in this order."""


def coding_tools(root: str | os.PathLike[str] | Jail, *, options: CodingOptions = _DEFAULTS) -> CodingTools:
    """Tools that read the files below *root* and nothing else: ``read_file``, ``grep`` and ``glob``, in this order.

    Give a `Jail` to say when the root is let go of; else that happens when the tools are collected.

    Raises:
        DefinitionError: *root* is no directory, an option is wrong, a package of the extra ``coding`` is missing, or
            this system has no directory handles.
    """
    jail = root if isinstance(root, Jail) else Jail(root)
    return read_tool(jail, options=options), grep_tool(jail, options=options), glob_tool(jail, options=options)


def coding_toolbox(root: str | os.PathLike[str] | Jail, *, options: CodingOptions = _DEFAULTS) -> Toolbox:
    """A toolbox of the `coding_tools`. Raises like them."""
    return Toolbox(coding_tools(root, options=options))


def read_tool(jail: Jail, *, options: CodingOptions = _DEFAULTS) -> Tool[..., FileSlice]:
    """The tool that reads a part of a text file. It needs no package of the extra."""

    @_reader(options.read_file, options, search=False)
    def read(
        ctx: BlockingContext,
        path: Annotated[str, "The file, relative to the root, such as src/main.py."],
        offset: Annotated[int, Meta(ge=0, description="The first line to read, counted from 0.")] = 0,
        limit: Annotated[int, Meta(ge=1, description="How many lines to read at most.")] = DEFAULT_LINES,
        column: Annotated[
            int, Meta(ge=0, description="Bytes of the first line to pass over: the next_column of a cut line.")
        ] = 0,
    ) -> FileSlice:
        """Read a text file, or some of its lines.

        The result says whether more follows, and with which offset and column to go on. Line ends are kept as they
        are.
        """
        return read_file(ctx.check, jail, path, offset=offset, limit=limit, column=column, limits=options.read_limits)

    return read


def grep_tool(jail: Jail, *, options: CodingOptions = _DEFAULTS) -> Tool[..., GrepResult]:
    """The tool that searches. Its chunks are the matches as they are found, its value is the `GrepResult`.

    Raises:
        DefinitionError: A package of the extra ``coding`` is missing.
    """
    regex_engine()
    ignore_package()

    @_reader(options.grep, options, search=True)(reducer=collect_matches)
    def search(
        ctx: BlockingContext,
        pattern: Annotated[str, "A regular expression in RE2 syntax; no look-around, no back-references."],
        *,
        flags: Annotated[
            str, "Any of: i (ignore case), m (a match may cross lines), s (the same, and . matches line ends)."
        ] = "",
        glob: Annotated[
            str, "Which files: src/**/*.py, *.{ts,tsx} at any depth, or a directory for everything below it."
        ] = "**/*",
        max_matches: Annotated[int, Meta(ge=1, description="Stop after this many matching lines.")] = DEFAULT_MATCHES,
        hidden: _Hidden = False,
        ignored: _Ignored = False,
    ) -> Iterator[GrepMatch | GrepSummary]:
        """Search the files for lines that match a regular expression.

        Each match has path, line number (from 1) and text, in order of path. What was not searched is counted.
        """
        query = GrepQuery(
            pattern=pattern, flags=flags, glob=glob, max_matches=max_matches, hidden=hidden, ignored=ignored
        )
        yield from grep(ctx.check, jail, query, limits=options.grep_limits, report=_reporter(ctx))

    # A checker takes the chunks for the value; the reducer makes it this.
    return cast("Tool[..., GrepResult]", search)


def glob_tool(jail: Jail, *, options: CodingOptions = _DEFAULTS) -> Tool[..., GlobResult]:
    """The tool that lists.

    Raises:
        DefinitionError: A package of the extra ``coding`` is missing.
    """
    ignore_package()

    @_reader(options.glob, options, search=True)
    def find(
        ctx: BlockingContext,
        pattern: Annotated[str, "Relative to the root: * within a name, ** across directories, {a,b} for either."],
        *,
        max_results: Annotated[int, Meta(ge=1, description="Stop after this many paths.")] = DEFAULT_RESULTS,
        hidden: _Hidden = False,
        ignored: _Ignored = False,
    ) -> GlobResult:
        """List the files and directories whose paths match a pattern, in order.

        What the pattern reached but was not looked at is counted.
        """
        query = GlobQuery(pattern=pattern, max_results=max_results, hidden=hidden, ignored=ignored)
        return glob(ctx.check, jail, query, report=_reporter(ctx))

    return find


def _reader(name: str, options: CodingOptions, *, search: bool) -> ToolDecorator:
    """The declarations that the three have in common."""
    return tool(
        name=name,
        namespace=options.namespace,
        tags=("coding", "filesystem", "search") if search else ("coding", "filesystem"),
        effect="read-only",
        risk=Risk(read_only=True, untrusted_output=True),
        timeout=options.timeout,
    )


def _reporter(ctx: BlockingContext) -> Callable[[str], None]:
    return lambda message: ctx.progress(message=message)
