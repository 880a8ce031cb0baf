"""structlog: a line for each step of an execution, ids in a tool's own lines, and a configuration that masks secrets."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Collection, MutableMapping
from contextlib import suppress
from copy import copy
from typing import Final, Literal, TextIO, cast

import structlog
from structlog.typing import Processor

from ..definitions._exceptions import Withheld
from ..engine import Supervisor
from ..engine._opening import require_supervisor
from ..errors import DefinitionError
from ._lines import Lines, Logger
from ._redaction import REDACTED, Redaction
from ._vocabulary import Identity, check_identities

__all__ = ("REDACTED", "Identity", "Logger", "Redaction", "add_trace", "configure_logging", "log_executions")

Renderer = Literal["human", "json"]

_RENDERERS: Final[tuple[Renderer, ...]] = ("human", "json")
_DEFAULT: Final = Redaction()

_TURNING: Final = r"\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CONTROL: Final = re.compile(rf"[\x00-\x1f{_TURNING}]")
_STEERING: Final = re.compile(rf"[\x00-\x08\x0b-\x1f{_TURNING}]")
_TRACEBACKS: Final = ("exception", "stack")
"""What has several lines."""


def log_executions(
    supervisor: Supervisor, logger: Logger | None = None, *, identify: Collection[Identity] = ()
) -> Callable[[], None]:
    """Write a line for each step of each execution of *supervisor* from now on.

    Each has ``execution_id``, ``call_id`` and ``tool``. In the task of the execution, and in its threads, these are bound
    as context variables of structlog, so that lines that the tool writes itself carry them; that takes the processor
    ``structlog.contextvars.merge_contextvars``, which `configure_logging` and structlog's own defaults have. Neither
    arguments, results, reasons nor the text of exceptions are written.

    Args:
        supervisor: Whose executions.
        logger: A logger of structlog; ``armory_trio.executions`` by default. Only its ``debug``, ``info`` and
            ``warning`` are called. What it raises harms no call.
        identify: On whose behalf calls are made, as in `armory_trio.observability.otel.instrument`.

    Returns:
        What stops it. It stops by itself when the supervisor is closed.

    Raises:
        DefinitionError: *supervisor* is none, or *identify* names something else than there is.
    """
    require_supervisor("log_executions", supervisor)
    said = check_identities("log_executions", identify)
    chosen = logger if logger is not None else cast("Logger", structlog.get_logger("armory_trio.executions"))
    return supervisor.executions.attach(Lines(chosen, said))


def add_trace(_: object, __: str, event_dict: MutableMapping[str, object]) -> MutableMapping[str, object]:
    """A processor of structlog that adds ``trace_id`` and ``span_id`` of the current span, if there is one."""
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry import trace  # noqa: PLC0415  # only who traces pays for it

        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            event_dict["trace_id"] = f"{span.trace_id:032x}"
            event_dict["span_id"] = f"{span.span_id:016x}"
    return event_dict


class _Handler(logging.StreamHandler[TextIO]):
    """The handler that `configure_logging` made, to be found again by the next call."""

    reveals = False
    """Whether it writes what is withheld of exceptions."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with escapes in place of characters that the stream has not."""
        text = super().format(_revealed(record) if self.reveals else record)
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            return text.encode(encoding, "backslashreplace").decode(encoding)
        return text

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # its name in `logging`
        """Say that a line was not written, and nothing of it: here nothing is masked yet."""
        kind = sys.exc_info()[0]
        if logging.raiseExceptions and kind is not None:
            with suppress(Exception):  # there may be no standard error, or none that takes anything
                sys.stderr.write(f"a line of the log {record.name!r} could not be written: {kind.__qualname__}\n")


def _revealed(record: logging.LogRecord) -> logging.LogRecord:
    """*record*, with the exception that it withholds, if it does."""
    withheld = next((each for each in record.args or () if isinstance(each, Withheld)), None)
    if withheld is None or record.exc_info:
        return record
    found, exc = copy(record), withheld.exception
    found.exc_info = type(exc), exc, exc.__traceback__
    return found


def configure_logging(
    renderer: Renderer = "human",
    *,
    level: str = "INFO",
    redact: Redaction | None = _DEFAULT,
    exceptions: bool = False,
    stream: TextIO | None = None,
) -> None:
    """Configure structlog and `logging` of the whole process: one line for each event, secrets masked.

    For programs, not for libraries. What other libraries log through `logging` is written and masked in the same way.
    Calling it again takes the place of what it did before; handlers that others have added stay.

    Args:
        renderer: ``human`` for a terminal, ``json`` for a machine.
        level: From which level on: ``DEBUG``, ``INFO``, ``WARNING``, ``ERROR`` or ``CRITICAL``.
        redact: What is masked; None masks nothing.
        exceptions: Whether our own lines about hooks, handlers and stores that raised tell with which words, and by which
            way that came. Anything may stand there, masked as far as *redact* sees it.
        stream: Where to; standard error by default.

    Raises:
        DefinitionError: There is no such renderer or level.
    """
    if renderer not in _RENDERERS:
        raise DefinitionError("configure_logging", "renderer", f"is {renderer!r}; give human or json")
    number = logging.getLevelNamesMapping().get(level)
    if number is None:
        raise DefinitionError("configure_logging", "level", f"is {level!r}; give a level by its name, such as INFO")
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        cast("Processor", add_trace),
    ]
    structlog.configure(
        processors=[*before, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(number),
        cache_logger_on_first_use=False,
    )
    handler = _Handler(stream if stream is not None else sys.stderr)
    handler.reveals = exceptions
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=before, processors=_last(renderer, redact, handler.stream)
        )
    )
    root = logging.getLogger()
    for other in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(other)
    root.addHandler(handler)
    root.setLevel(number)


def _tame(_: object, __: str, event_dict: MutableMapping[str, object]) -> dict[str, object]:
    """Write out control characters, with which a text could forge lines and steer a terminal."""
    return {_CONTROL.sub(_written_out, name): _tamed(name, value) for name, value in event_dict.items()}


def _tamed(name: str, value: object) -> object:
    if not isinstance(value, str):
        try:
            shown = repr(value)
        except Exception:  # noqa: BLE001  # code of the value's own; the renderer meets it, too
            return value
        return _CONTROL.sub(_written_out, shown) if _CONTROL.search(shown) else value
    if name in _TRACEBACKS:  # set off, so that none of their lines looks like one of the log
        return "\n".join(f"  {line}" for line in _STEERING.sub(_written_out, value).split("\n"))
    return _CONTROL.sub(_written_out, value)


def _written_out(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def _last(renderer: Renderer, redact: Redaction | None, stream: TextIO | None) -> list[Processor]:
    found: list[Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,  # as plain text: a renderer of its own would show local variables
    ]
    if redact is not None:
        found.append(cast("Processor", redact))
    if renderer == "json":
        found.append(structlog.processors.JSONRenderer(serializer=_dumped))
    else:
        plain = structlog.dev.plain_traceback
        found.append(cast("Processor", _tame))
        found.append(structlog.dev.ConsoleRenderer(colors=_is_terminal(stream), exception_formatter=plain))
    return found


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError):  # it is closed
        return False


def _dumped(event_dict: dict[str, object], *, default: Callable[[object], object]) -> str:
    try:
        return json.dumps(event_dict, default=default)
    except (TypeError, ValueError):  # names that JSON has not, or something that holds itself
        return json.dumps({name: _dumpable(value, default) for name, value in event_dict.items()}, default=default)


def _dumpable(value: object, default: Callable[[object], object]) -> object:
    try:
        json.dumps(value, default=default)
    except (TypeError, ValueError):
        return repr(value)
    return value
