"""The kit's functions as tools: each runs in a worker thread and can be stopped in the middle; but one, they only read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, cast, overload

import attrs
from msgspec import Meta

from ...definitions._context import BlockingContext
from ...definitions._effects import EffectDeclaration, EffectTarget, Risk
from ...definitions._making import ToolDecorator, tool
from ...definitions._tool import Tool
from ...toolbox import Toolbox
from ._edit import EditLimits, EditResult, edit_file, place_of
from ._glob import DEFAULT_RESULTS, GlobQuery, GlobResult, glob
from ._grep import DEFAULT_MATCHES, GrepLimits, GrepMatch, GrepQuery, GrepResult, GrepSummary, collect_matches, grep
from ._ignore import ignore_package
from ._jail import Jail
from ._limits import instance_of
from ._match import Edit
from ._paths import printable
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
        edit_file: The name of the tool that edits.
        namespace: The namespace of all of them.
        read_limits: What one read may give and cost.
        grep_limits: What one search may read and show.
        edit_limits: What one edit may cost.
        timeout: Seconds that one call may work; None for ever.
    """

    read_file: str = "read_file"
    grep: str = "grep"
    glob: str = "glob"
    edit_file: str = "edit_file"
    namespace: str = "default"
    read_limits: ReadLimits = attrs.field(factory=ReadLimits, validator=instance_of(ReadLimits))
    grep_limits: GrepLimits = attrs.field(factory=GrepLimits, validator=instance_of(GrepLimits))
    edit_limits: EditLimits = attrs.field(factory=EditLimits, validator=instance_of(EditLimits))
    timeout: float | None = None


_DEFAULTS: Final = CodingOptions()

CodingTools = tuple[Tool[..., FileSlice], Tool[..., GrepResult], Tool[..., GlobResult]]
"""``read_file``, ``grep`` and ``glob``, in this order."""

EditingTools = tuple[Tool[..., FileSlice], Tool[..., GrepResult], Tool[..., GlobResult], Tool[..., EditResult]]
"""The `CodingTools`, and ``edit_file`` after them."""

_LONGEST_TARGET: Final = 255


@overload
def coding_tools(
    root: str | os.PathLike[str] | Jail, *, options: CodingOptions = ..., edits: Literal[False] = ...
) -> CodingTools: ...
@overload
def coding_tools(
    root: str | os.PathLike[str] | Jail, *, options: CodingOptions = ..., edits: Literal[True]
) -> EditingTools: ...
@overload
def coding_tools(
    root: str | os.PathLike[str] | Jail, *, options: CodingOptions = ..., edits: bool
) -> CodingTools | EditingTools: ...
def coding_tools(
    root: str | os.PathLike[str] | Jail, *, options: CodingOptions = _DEFAULTS, edits: bool = False
) -> CodingTools | EditingTools:
    """Tools that read the files below *root* and nothing else: ``read_file``, ``grep`` and ``glob``, in this order.

    With *edits* there is ``edit_file`` after them, which changes files there. Give a `Jail` to say when the root is
    let go of; else that happens when the tools are collected.

    Raises:
        DefinitionError: *root* is no directory, an option is wrong, a package of the extra ``coding`` is missing, or
            this system has no directory handles.
    """
    jail = root if isinstance(root, Jail) else Jail(root)
    tools = read_tool(jail, options=options), grep_tool(jail, options=options), glob_tool(jail, options=options)
    return (*tools, edit_tool(jail, options=options)) if edits else tools


def coding_toolbox(
    root: str | os.PathLike[str] | Jail, *, options: CodingOptions = _DEFAULTS, edits: bool = False
) -> Toolbox:
    """A toolbox of the `coding_tools`. Raises like them."""
    return Toolbox(coding_tools(root, options=options, edits=edits))


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


def edit_tool(jail: Jail, *, options: CodingOptions = _DEFAULTS) -> Tool[..., EditResult]:
    """The tool that edits. It needs no package of the extra. Edits of one file by one owner run one after another."""

    def touched(arguments: Mapping[str, object]) -> list[str]:
        return [place_of(jail, str(arguments["path"]))]

    @tool(
        name=options.edit_file,
        namespace=options.namespace,
        tags=("coding", "filesystem"),
        effect=EffectDeclaration("external-write", (EffectTarget("resource", _target_of(jail)),)),
        effect_windows=True,
        risk=Risk(mutates=True),
        writes=touched,
        timeout=options.timeout,
    )
    def edit(
        ctx: BlockingContext,
        path: Annotated[str, "The file, relative to the root, such as src/main.py."],
        old: Annotated[str, "The text to replace, exactly as it stands in the file, spaces and line ends included."],
        new: Annotated[str, "The text to put in its place; empty to take it out."],
        *,
        replace_all: Annotated[bool, "Replace every occurrence; without it there must be exactly one."] = False,
    ) -> EditResult:
        """Replace text in an existing file; every other byte stays as it is.

        The result says how many places were changed and the line of the first, counted from 1.
        """
        return edit_file(
            ctx.check,
            jail,
            path,
            Edit(old, new, replace_all),
            limits=options.edit_limits,
            window=lambda changed: ctx.effect("edit file", target=printable(changed)),
        )

    return edit


def _target_of(jail: Jail) -> str:
    uri = Path(jail.place).as_uri()
    return uri if len(uri) <= _LONGEST_TARGET else f"file:sha256:{hashlib.sha256(uri.encode()).hexdigest()}"


def _reader(name: str, options: CodingOptions, *, search: bool) -> ToolDecorator:
    """The declarations that those which only read have in common."""
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
