"""A toolbox that can be exchanged while it is in use. The toolbox itself stays a value; only the holder changes."""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import RLock
from typing import Final, cast

import attrs
import msgspec

from ..definitions import ToolId, is_tool
from ..definitions._checks import shown
from ..definitions._exceptions import Withheld
from ..definitions._functions import kind_of
from ..errors import DefinitionError
from ._resolution import AnyTool
from ._toolbox import Toolbox, is_toolbox

_SUBJECT: Final = "live toolbox"
_log: Final = logging.getLogger("armory_trio.toolbox")


class ToolboxChange(msgspec.Struct, frozen=True, eq=False):
    """One exchange of the toolbox that a `LiveToolbox` holds.

    Args:
        before: What was there.
        after: What is there from now on.
        revision: The number of *after*.
        added: Ids that are new, in the order of *after*.
        removed: Ids that are gone, in the order of *before*.
        changed: Ids that are in both, with definitions of different digests. A tool whose function alone is another
            is not among them.
    """

    before: Toolbox
    after: Toolbox
    revision: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


Listener = Callable[[ToolboxChange], object]


class LiveToolbox:
    """Holds a toolbox that can be exchanged at any time, as a whole and at once.

    What is running keeps the definition that it started with. Any thread may exchange the toolbox: one waits for the
    other, and readers never wait. Nothing here is async, and nothing is a checkpoint.

    Args:
        toolbox: What it holds at first, as revision 1.

    Raises:
        DefinitionError: That is no toolbox.
    """

    __slots__ = ("_current", "_listeners", "_lock", "_pending", "_telling")

    def __init__(self, toolbox: Toolbox) -> None:
        self._current = (_required("toolbox", toolbox), 1)
        self._lock = RLock()
        self._listeners: dict[object, Listener] = {}
        self._pending: deque[ToolboxChange] = deque()
        self._telling = False

    def __repr__(self) -> str:
        toolbox, revision = self._current
        return f"<LiveToolbox revision {revision}: {toolbox!r}>"

    @property
    def toolbox(self) -> Toolbox:
        """What it holds now. Take it once for what belongs together: the next look may show another one."""
        return self._current[0]

    @property
    def revision(self) -> int:
        """The number of the toolbox that it holds: it grows by one with each exchange."""
        return self._current[1]

    def read(self) -> tuple[Toolbox, int]:
        """The toolbox and its revision, which belong together even while another thread exchanges it."""
        return self._current

    def swap(self, toolbox: Toolbox) -> ToolboxChange:
        """Put *toolbox* in the place of the one that is there, and tell the listeners.

        The one that is there already changes nothing: no new revision, and nobody is told.

        Raises:
            DefinitionError: It is no toolbox.
        """
        _required("swap", toolbox)
        with self._lock:
            return self._exchange(toolbox)

    def update(self, function: Callable[[Toolbox], Toolbox], /) -> ToolboxChange:
        """Exchange the toolbox for what *function* makes of it. Nobody else exchanges it meanwhile.

        Whatever *function* raises leaves everything as it was.

        Raises:
            DefinitionError: *function* answers no toolbox, or has exchanged the toolbox itself.
        """
        with self._lock:
            toolbox, revision = self._current
            answer: object = function(toolbox)
            if inspect.iscoroutine(answer):
                answer.close()
            made = _required("update", answer)
            if self.revision != revision:
                reason = "the function exchanged the toolbox itself, so what it answers is out of date; only answer it"
                raise DefinitionError(_SUBJECT, "update", reason)
            return self._exchange(made)

    def register(self, *additions: AnyTool | Toolbox, replace: bool = False) -> ToolboxChange:
        """Add tools: all of them, or none. The arguments are those of `Toolbox.extend`.

        Raises:
            DuplicateToolError: An id is taken, and *replace* is False.
            DefinitionError: One of them is no tool.
        """
        return self.update(lambda toolbox: toolbox.extend(*additions, replace=replace))

    def unregister(self, *tools: AnyTool | ToolId | str) -> ToolboxChange:
        """Take tools out: all of them, or none.

        Args:
            tools: Tools, ids, or names. A name that several tools have needs an id.

        Raises:
            DefinitionError: One of them is not there, or it could be several.
        """
        return self.update(lambda toolbox: _without(toolbox, tools))

    def listen(self, listener: Listener, /) -> Callable[[], None]:
        """Call *listener* with each change, right after it and in the thread that makes it. Answers what ends that.

        Everybody is told of one change before anybody is told of the next; a listener that exchanges the toolbox
        itself has its change told afterwards. One that raises is logged, and neither the change nor the other
        listeners suffer; what ends the program, such as SystemExit, is raised once everybody was told. Others wait to exchange the toolbox meanwhile, so a listener should be quick, and never wait
        for another thread.

        Raises:
            DefinitionError: *listener* is async, or no function.
        """
        if not callable(cast("object", listener)) or kind_of(listener) == "async":
            raise DefinitionError(_SUBJECT, "listen", f"needs a function that is not async, not {shown(listener)}")
        token = object()
        with self._lock:
            self._listeners[token] = listener

        def stop() -> None:
            with self._lock:
                self._listeners.pop(token, None)

        return stop

    def _exchange(self, toolbox: Toolbox) -> ToolboxChange:
        """Put *toolbox* in place and tell the listeners, also of what they exchange meanwhile. The lock is held."""
        before, revision = self._current
        if toolbox is before:
            return ToolboxChange(before, before, revision, (), (), ())
        change = _change(before, toolbox, revision + 1)
        self._current = (toolbox, revision + 1)
        self._pending.append(change)
        if not self._telling:
            self._telling = True
            try:
                leaving = [exc for exc in self._tell_all() if exc is not None]
            finally:
                self._telling = False
            if leaving:
                raise leaving[0]
        return change

    def _tell_all(self) -> Iterator[BaseException | None]:
        """Tell everybody of what is pending; yields why the whole program is to end, of those that say so."""
        while self._pending:
            change = self._pending.popleft()
            for token, listener in tuple(self._listeners.items()):
                if token in self._listeners:  # else an earlier one has ended it
                    yield _told(listener, change)


def _told(listener: Listener, change: ToolboxChange) -> BaseException | None:
    """Tell *listener*; answers what it raised if that is to end the program."""
    try:
        listener(change)
    except Exception as exc:  # noqa: BLE001  # whatever a listener raises is its own affair; `listen` promises so
        _log.error("a listener of revision %d failed; the change stands: %s", change.revision, Withheld(exc))
    except BaseException as exc:  # noqa: ASYNC103, BLE001  # raised again once everybody knows; nothing is awaited
        return exc  # noqa: ASYNC104  # as said
    return None


def _required(field: str, value: object) -> Toolbox:
    if is_toolbox(value):
        return value
    raise DefinitionError(_SUBJECT, field, f"needs a Toolbox, not {shown(value)}")


def _change(before: Toolbox, after: Toolbox, revision: int) -> ToolboxChange:
    old, new = ({tool.id.text: tool for tool in toolbox} for toolbox in (before, after))
    return ToolboxChange(
        before,
        after,
        revision,
        added=tuple(text for text in new if text not in old),
        removed=tuple(text for text in old if text not in new),
        changed=tuple(text for text, tool in new.items() if text in old and _differ(old[text], tool)),
    )


def _differ(one: AnyTool, other: AnyTool) -> bool:
    return one.definition is not other.definition and one.definition.digest != other.definition.digest


def _without(toolbox: Toolbox, tools: Iterable[AnyTool | ToolId | str]) -> Toolbox:
    gone = [_meant(toolbox, tool) for tool in tools]
    return attrs.evolve(toolbox, tools=[tool for tool in toolbox if tool not in gone])


def _meant(toolbox: Toolbox, wanted: AnyTool | ToolId | str) -> AnyTool:
    """The one tool of *toolbox* that *wanted* means."""
    given: object = wanted
    if not (isinstance(given, ToolId | str) or is_tool(given)):
        raise DefinitionError(_SUBJECT, "unregister", f"needs tools, ids or names, not {shown(given)}")
    if isinstance(wanted, ToolId | str):
        text = str(wanted)
        found = [tool for tool in toolbox if tool.id.text == text]
        if not found and isinstance(wanted, str):
            found = [tool for tool in toolbox if text in (tool.name, attrs.evolve(tool.id, version=None).text)]
    else:
        text = wanted.id.text
        found = [tool for tool in toolbox if tool.bare is wanted.bare]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(tool.id.text for tool in found)
        raise DefinitionError(_SUBJECT, "unregister", f"{shown(text)} could be any of {ids}; give one of these ids")
    hint = toolbox.near(text, 1)
    meant = f"; did you mean {hint[0]!r}?" if hint and hint[0] != text else ""
    raise DefinitionError(_SUBJECT, "unregister", f"{shown(text)} is not in the toolbox{meant}")
