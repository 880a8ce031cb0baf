"""The catalogue: a frozen value that says which tools there are. It runs nothing and knows no tenant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeGuard, Unpack, cast, overload

import attrs

from .._on_demand import in_words
from ..definitions import ToolCall, ToolDefinition, ToolResult, is_tool, near
from ..definitions._checks import instance, members, named, one_by_one, seconds, shown, text
from ..definitions._functions import kind_of, require_plain
from ..definitions._policy import Policy, PolicyContext, after_execute_of, policy_context
from ..definitions._tool import no_tool
from ..errors import DefinitionError
from ._importing import GetTool, ImportsTools
from ._resolution import AnyTool, by_id, lookup

if TYPE_CHECKING:  # each is loaded by the method that needs it, or by who has something to give
    from ..authority.policy import ApprovalPolicy, Gates
    from ..definitions import BindsToTools, Middleware
    from ._offering import Manifest, Offer, ProviderName, Strictness
    from .inspection import AnyInspection, Level, ToolboxInspection, ToolDetails, ToolOutline, ToolSummary
    from .query import Condition, Criteria, QueryResult
    from .search import Match, Where
else:
    ApprovalPolicy, Gates = in_words("armory_trio.authority.policy", "ApprovalPolicy", "Gates")
    BindsToTools, Middleware = in_words("armory_trio.definitions", "BindsToTools", "Middleware")
    Manifest, Offer, ProviderName, Strictness = in_words(
        "armory_trio.toolbox._offering", "Manifest", "Offer", "ProviderName", "Strictness"
    )
    AnyInspection, Level = in_words("armory_trio.toolbox.inspection", "AnyInspection", "Level")
    Condition, Criteria, QueryResult = in_words("armory_trio.toolbox.query", "Condition", "Criteria", "QueryResult")
    Match, Where = in_words("armory_trio.toolbox.search", "Match", "Where")

DEFAULT_REVISION: Final = "toolbox:1"
DEFAULT_POLICY_REVISION: Final = "policy:1"
DEFAULT_APPROVAL_REVISION: Final = "approval:1"
_REVISIONS: Final = ("revision", "policy_revision", "approval_revision")
OnDeprecated = Callable[[AnyTool, ToolCall], object]
_SHOWN: Final = 6
"""Tools that a repr names: enough to recognise a toolbox in a log line."""


def _tools(value: Iterable[AnyTool]) -> tuple[AnyTool, ...]:
    found: list[AnyTool] = []
    for index, tool in enumerate(members("toolbox", "tools", value, "tools")):
        if not is_tool(tool):
            raise DefinitionError("toolbox", f"tools[{index}]", no_tool(tool))
        found.append(tool)
    return tuple(found)


def _middleware(value: Iterable[Middleware | BindsToTools]) -> tuple[Middleware | BindsToTools, ...]:
    if isinstance(value, tuple) and not value:
        return ()
    from ..definitions import BindsToTools  # noqa: PLC0415  # only who has middleware pays for it

    found: list[Middleware | BindsToTools] = []
    for index, each in enumerate(members("toolbox", "middleware", value, "middleware, outermost first")):
        if isinstance(each, type):
            reason = f"{each.__name__} is a class; make one of it, such as {each.__name__}()"
            raise DefinitionError("toolbox", f"middleware[{index}]", reason)
        if isinstance(each, BindsToTools) or (callable(each) and kind_of(each) == "async"):
            found.append(cast("Middleware | BindsToTools", each))
        else:
            reason = f"{shown(each)} is no middleware; write async def middleware(call, ctx, call_next)"
            raise DefinitionError("toolbox", f"middleware[{index}]", reason)
    return tuple(found)


def _context(value: Mapping[str, object]) -> Mapping[str, object]:
    if not isinstance(cast("object", value), Mapping):
        raise DefinitionError("toolbox", "context", f"must be a mapping of names to values, not {shown(value)}")
    for key in value:
        text("toolbox", f"context key {shown(key)}", key)
    return MappingProxyType(dict(value))


def _policy_context(value: PolicyContext | None) -> PolicyContext | None:
    kept = policy_context("toolbox", value)
    if callable(kept):
        require_plain("toolbox", "policy_context", kept, "no arguments")
    return kept


def _require_revision(field: str, value: str) -> None:
    text("toolbox", field, value, blank=False)
    try:
        value.encode()  # approvals are signed with it
    except UnicodeEncodeError as error:
        raise DefinitionError("toolbox", field, f"{value!a} holds half a character (a lone surrogate)") from error


@attrs.frozen(eq=False, repr=False)
class Toolbox(ImportsTools):
    """Which tools there are. Frozen: `extend` and `combine_toolboxes` make new ones.

    Args:
        tools: The tools, in the order in which they are listed.
        context: Named values of the host's for the tools, copied shallowly; tools read them as ``ctx.context``, and
            availability hooks are asked with them.
        revision: The host's name for this catalogue, for approvals that were given for it.
        middleware: What stands around each tool, outermost first: ``async def middleware(call, ctx, call_next)``, or
            an object whose ``bind(tool)`` answers such a function, or None for nothing. It is bound to a tool when
            that enters its first toolbox that has any, and stays with it: no other toolbox takes it off or puts
            another one on.
        default_timeout: Seconds that a tool without a timeout of its own may take; None for ever.
        on_deprecated: Told of each call of a deprecated tool, with the tool and the call, before it runs. It must not
            wait; what it raises is logged.
        policy: Asked before each call of any tool, before the tool's own policy; or told how each ended. See
            `PolicyHook`.
        policy_context: What policies find in the request: named values, copied shallowly, or a function that answers
            them for each call. It must not wait. A tool's own stand over these.
        approval_policy: When a person is asked, by what a tool counts as; None asks nobody.
        gates: Which classes of tools may run at all; None for all.
        policy_revision: The host's name for its policy, for approvals that were given under it.
        approval_revision: The host's name for its rules about who approves what, for the same.

    Raises:
        DuplicateToolError: Two different tools have one id; the error says where each was written.
        DefinitionError: An argument has the wrong type.
    """

    tools: tuple[AnyTool, ...] = attrs.field(default=(), converter=_tools)
    context: Mapping[str, object] = attrs.field(factory=dict[str, object], kw_only=True, converter=_context)
    revision: str = attrs.field(default=DEFAULT_REVISION, kw_only=True)
    default_timeout: float | None = attrs.field(default=None, kw_only=True)
    middleware: tuple[Middleware | BindsToTools, ...] = attrs.field(default=(), kw_only=True, converter=_middleware)
    on_deprecated: OnDeprecated | None = attrs.field(default=None, kw_only=True)
    policy: Policy | None = attrs.field(default=None, kw_only=True)
    policy_context: PolicyContext | None = attrs.field(default=None, kw_only=True, converter=_policy_context)
    approval_policy: ApprovalPolicy | None = attrs.field(default=None, kw_only=True)
    gates: Gates | None = attrs.field(default=None, kw_only=True)
    policy_revision: str = attrs.field(default=DEFAULT_POLICY_REVISION, kw_only=True)
    approval_revision: str = attrs.field(default=DEFAULT_APPROVAL_REVISION, kw_only=True)
    _by_id: Mapping[str, AnyTool] = attrs.field(init=False)
    _lookup: Mapping[str, AnyTool] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        for field in _REVISIONS:
            _require_revision(field, getattr(self, field))
        if self.default_timeout is not None:
            seconds("toolbox", "default_timeout", self.default_timeout, zero=False, optional=True)
        tell = cast("object", self.on_deprecated)
        if tell is not None and (not callable(tell) or kind_of(tell) == "async"):
            reason = f"must be a function of a tool and a call, not {shown(tell)}"
            reason = "is async, and nothing waits for it; write it with def" if callable(tell) else reason
            raise DefinitionError("toolbox", "on_deprecated", reason)
        self._check_rules()
        indexed = by_id((tool.bound(self.middleware) for tool in self.tools), replace=False)
        object.__setattr__(self, "tools", tuple(indexed.values()))
        object.__setattr__(self, "_by_id", indexed)
        object.__setattr__(self, "_lookup", lookup(indexed))

    def _check_rules(self) -> None:
        if self.policy is not None:
            with named("toolbox"):
                after_execute_of(self.policy, "policy")
        if self.approval_policy is not None or self.gates is not None:
            from ..authority.policy import ApprovalPolicy, Gates  # noqa: PLC0415  # only who has rules pays for it

            instance("toolbox", "approval_policy", self.approval_policy, ApprovalPolicy)
            instance("toolbox", "gates", self.gates, Gates)

    def get(self, name_or_id: str, /) -> AnyTool | None:
        """The tool that *name_or_id* means, or None.

        A full id means exactly that tool. A name, or ``namespace:name``, means the highest version that is not
        deprecated; of the namespaces, ``default`` comes first.
        """
        return self._lookup.get(name_or_id)

    def near(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """The names that look most like *name*, best first, *limit* at most; none when nothing comes close."""
        return near(name, self.names, limit)

    def missing(self, *names_or_ids: str) -> tuple[str, ...]:
        """Those of *names_or_ids* that mean no tool, in the order given; none when all tools are there."""
        return tuple(wanted for wanted in names_or_ids if wanted not in self._lookup)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each tool, once, in the order of the tools."""
        return tuple(dict.fromkeys(tool.name for tool in self.tools))

    def __contains__(self, item: object) -> bool:
        """Whether this very tool is listed, with middleware around it or not; or a text means one."""
        if is_tool(item):
            found = self._by_id.get(item.id.text)
            return found is not None and found.bare is item.bare
        return isinstance(item, str) and item in self._lookup

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __bool__(self) -> bool:
        """True also when it is empty: it is a toolbox, not a question."""
        return True

    def __repr__(self) -> str:
        shown = ", ".join(tool.id.text for tool in self.tools[:_SHOWN])
        more = f" and {len(self) - _SHOWN} more" if len(self) > _SHOWN else ""
        return f"<Toolbox {self.revision!r}: {shown or 'no tools'}{more}>"

    def extend(self, *additions: AnyTool | Toolbox, replace: bool = False) -> Toolbox:
        """A toolbox with these tools as well, and the options of this one.

        Of a toolbox its tools are added and its context is merged in, where the later value wins; its options are
        not. With ``replace=True`` a tool takes the place of the one that has its id.

        Raises:
            DuplicateToolError: An id is taken, and *replace* is False.
        """
        added: list[AnyTool] = []
        context = dict(self.context)
        for addition in additions:
            if isinstance(addition, Toolbox):
                added.extend(addition.tools)
                context.update(addition.context)
            else:
                added.extend(_tools([addition]))
        together = by_id((*self.tools, *map(self._bound, added)), replace=replace)
        return attrs.evolve(self, tools=together.values(), context=context)

    def query(
        self,
        condition: Condition | None = None,
        /,
        *,
        offset: int = 0,
        limit: int | None = None,
        ranked: bool = False,
        **criteria: Unpack[Criteria],
    ) -> QueryResult:
        """The tools that have all that is asked for, with the arguments of `armory_trio.toolbox.query.query_tools`.

        Raises:
            DefinitionError: There is no such criterion, or an argument is not legal.
        """
        from .query import query_tools  # noqa: PLC0415  # only who queries pays for it

        return query_tools(self, condition, offset=offset, limit=limit, ranked=ranked, **criteria)

    def search(
        self, query: str, *, limit: int = 10, where: Where | None = None, explain: bool = False
    ) -> tuple[Match, ...]:
        """The tools whose words fit *query* best, best first: what `armory_trio.toolbox.search.SearchIndex.search` does.

        The index is made by the first search and kept as long as this toolbox is. Needs the extra ``search``.

        Raises:
            DefinitionError: An argument has the wrong type, or a package of the extra is not installed.
        """
        from .search import index_of  # noqa: PLC0415  # only who searches pays for it

        return index_of(self).search(query, limit=limit, where=where, explain=explain)

    @overload
    def inspect(self, level: Literal["summary"]) -> ToolboxInspection[ToolSummary]: ...
    @overload
    def inspect(self, level: Literal["standard"] = "standard") -> ToolboxInspection[ToolOutline]: ...
    @overload
    def inspect(self, level: Literal["full"]) -> ToolboxInspection[ToolDetails]: ...
    def inspect(self, level: Level = "standard") -> AnyInspection:
        """What it holds, as values that share nothing with the tools and encode as JSON.

        Args:
            level: ``summary`` is for a list, ``standard`` for a card, ``full`` is all that the tools say of themselves.

        Raises:
            DefinitionError: There is no such level.
        """
        from .inspection import inspect_tools  # noqa: PLC0415  # only who inspects pays for it

        return inspect_tools(self, level)

    def _bound(self, tool: AnyTool) -> AnyTool:
        listed = self._by_id.get(tool.id.text)
        return listed if listed is not None and listed.bare is tool else tool.bound(self.middleware)

    def to_json(self) -> dict[str, object]:
        """A JSON object with its revisions, its default timeout and the definitions of its tools, in order.

        What is code stays here: functions, context, middleware, policies and gates, and how tools are run.
        """
        from ._manifest import toolbox_to_json  # noqa: PLC0415  # only who writes toolboxes pays for it

        return toolbox_to_json(self)

    @classmethod
    def from_json(cls, document: Mapping[str, object], *, get_tool: GetTool) -> Toolbox:
        """Read what `to_json` wrote: the definitions are equal, and so are their digests.

        Args:
            document: What `to_json` answered.
            get_tool: Answers for a definition what runs it: a tool that has this very definition, a function (or a
                `lazy` one) that takes the validated arguments as a dict, or None. The schemas decide what is valid.

        Raises:
            DefinitionError: Something in the document is wrong, or *get_tool* answers nothing that fits; the error
                names the tool and the place.
        """
        from ._manifest import toolbox_from_json  # noqa: PLC0415  # only who reads toolboxes pays for it

        return toolbox_from_json(document, get_tool)

    def as_execute_resolver(self) -> Callable[[ToolDefinition], AnyTool | None]:
        """A ``get_tool`` that answers the tools of this toolbox: by their id, or for a name what the name means."""
        return lambda definition: self._lookup.get(definition.id.text)

    async def available(self, context: Mapping[str, object] | None = None) -> tuple[AnyTool, ...]:
        """The tools that can be used here, in order: what a model should be shown.

        Of several tools with one name only the one that the name means is listed, so that what is shown is what runs.
        Availability hooks are asked one after the other, with *context* or else the toolbox's; one that raises, or
        answers anything but True, says no. Checkpoints only where a hook does. Cancelled: a waiting hook is.
        """
        given = self.context if context is None else _context(context)
        meant = [tool for tool in self.tools if self._lookup[tool.name] is tool]
        return tuple([tool for tool in meant if await _is_available(tool, given)])

    def to_openai(self, *, strict: Strictness = "auto", **offer: Unpack[Offer]) -> Manifest:
        """What OpenAI's Chat Completions is offered; see `to_provider`."""
        return self.to_provider("openai-chat", strict=strict, **offer)

    def to_openai_responses(self, *, strict: Strictness = "auto", **offer: Unpack[Offer]) -> Manifest:
        """What OpenAI's Responses is offered; see `to_provider`."""
        return self.to_provider("openai-responses", strict=strict, **offer)

    def to_anthropic(self, *, strict: Strictness = False, **offer: Unpack[Offer]) -> Manifest:
        """What Anthropic's Messages is offered; see `to_provider`. Not strict by default: not every model knows that."""
        return self.to_provider("anthropic", strict=strict, **offer)

    def to_gemini(self, **offer: Unpack[Offer]) -> Manifest:
        """What Gemini is offered; see `to_provider`."""
        return self.to_provider("gemini", **offer)

    def to_provider(self, provider: ProviderName, *, strict: Strictness = "auto", **offer: Unpack[Offer]) -> Manifest:
        """What *provider* is offered of this toolbox: what `armory_trio.providers.compile_toolbox` answers.

        Raises:
            DefinitionError: A name means no tool, an option has no such value, or a tool has an availability hook and
                ``tools=await toolbox.available()`` was not given.
        """
        from ..providers import compile_toolbox  # noqa: PLC0415  # the door to the room above is opened when it is used

        return compile_toolbox(self, provider, strict=strict, **offer)

    async def execute(self, call: ToolCall) -> ToolResult[object]:
        """Run one call under a supervisor of its own; for scripts. Cancelled: the tool is.

        Returns a result for every end of the call, also when the tool is not found or raises.
        """
        from ..engine import open_supervisor  # noqa: PLC0415  # the door to the room above is opened when it is used

        async with open_supervisor(self) as supervisor:
            return await supervisor.execute(call)


async def _is_available(tool: AnyTool, context: Mapping[str, object]) -> bool:
    hook = tool.options.availability
    if hook is None:
        return True
    try:
        answer = hook(context)
        return (await answer if inspect.isawaitable(answer) else answer) is True
    except (Exception, SystemExit):  # noqa: BLE001  # a hook that can't tell says no; `Toolbox.available` promises so
        return False


def combine_toolboxes(*toolboxes: Toolbox, replace: bool = False) -> Toolbox:
    """One toolbox of all the tools, with the merged context, where the later value wins, and the first one's options.

    Raises:
        DuplicateToolError: Two of them have different tools of one id, and *replace* is False.
        DefinitionError: There are no toolboxes.
    """
    for index, toolbox in enumerate(toolboxes):
        if not is_toolbox(toolbox):
            reason = f"{shown(toolbox)} is no toolbox{one_by_one(toolbox, 'toolboxes')}"
            raise DefinitionError("combine_toolboxes", f"toolboxes[{index}]", reason)
    if not toolboxes:
        raise DefinitionError("combine_toolboxes", "toolboxes", "there is nothing to combine; give at least one")
    first, *others = toolboxes
    return first.extend(*others, replace=replace)


def is_toolbox(value: object) -> TypeGuard[Toolbox]:
    """Whether *value* is a `Toolbox`."""
    return isinstance(value, Toolbox)
