"""structlog: a line for each step of an execution, ids in a tool's own lines, and a configuration that masks secrets."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Collection, MutableMapping
from typing import Final, Literal, TextIO, cast

import structlog
from structlog.typing import Processor

from ..engine import Supervisor
from ..errors import DefinitionError
from ._lines import Lines, Logger
from ._redaction import REDACTED, Redaction
from ._vocabulary import Identity, check_identities

__all__ = ("REDACTED", "Identity", "Logger", "Redaction", "add_trace", "configure_logging", "log_executions")

Renderer = Literal["human", "json"]

_RENDERERS: Final[tuple[Renderer, ...]] = ("human", "json")
_DEFAULT: Final = Redaction()

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_STEERING: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
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
        DefinitionError: *identify* names something else than there is.
    """
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


def configure_logging(
    renderer: Renderer = "human",
    *,
    level: str = "INFO",
    redact: Redaction | None = _DEFAULT,
    stream: TextIO | None = None,
) -> None:
    """Configure structlog and `logging` of the whole process: one line for each event, secrets masked.

    For programs, not for libraries. What other libraries log through `logging` is written and masked in the same way.
    Calling it again takes the place of what it did before; handlers that others have added stay.

    Args:
        renderer: ``human`` for a terminal, ``json`` for a machine.
        level: From which level on: ``DEBUG``, ``INFO``, ``WARNING``, ``ERROR`` or ``CRITICAL``.
        redact: What is masked; None masks nothing.
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
    return {
        name: (_STEERING if name in _TRACEBACKS else _CONTROL).sub(_written_out, value)
        if isinstance(value, str)
        else value
        for name, value in event_dict.items()
    }


def _written_out(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def _last(renderer: Renderer, redact: Redaction | None, stream: TextIO) -> list[Processor]:
    found: list[Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,  # as plain text: a renderer of its own would show local variables
    ]
    if redact is not None:
        found.append(cast("Processor", redact))
    if renderer == "json":
        found.append(structlog.processors.JSONRenderer())
    else:
        plain = structlog.dev.plain_traceback
        found.append(cast("Processor", _tame))
        found.append(structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain))
    return found
