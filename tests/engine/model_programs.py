"""Programs for the model test: what tools do, what clients do, and under which limits. Plain values that shrink."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

# ── The words ────────────────────────────────────────────────────────────────────────────────────────────────────────

Told = Literal["progress", "log", "emit", "cleanup failed", "cleanup unresolved"]
Said = Literal["", "happened", "nothing"]
Failure = Literal["value", "none", "completed", "unknown", "exit", "group", "stray", "timeout"]
How = Literal["one by one", "together", "parallel", "sequential", "fail fast", "start"]
Then = Literal["forget", "result", "settled", "abort"]
Mode = Literal["parallel", "sequential"]
OnError = Literal["collect", "fail_fast"]
Selector = Literal["execution_id", "call_id", "owner_id", "batch_id", "tool_name"]
Feed = Literal["snapshots", "events"]
Ending = Literal["drain", "abort"]
Leave = Literal["normally", "by an exception", "cancelled"]

# ── What the body of a tool does ─────────────────────────────────────────────────────────────────────────────────────


class Move(msgspec.Struct, frozen=True, tag=True):
    """One step of a body."""


class Sleep(Move, frozen=True):
    seconds: float


class Shield(Move, frozen=True):
    """Sleep where no cancellation comes."""

    seconds: float


class Swallow(Move, frozen=True):
    """Sleep, and go on as if nothing had been when cancelled."""

    seconds: float


class Tell(Move, frozen=True):
    how: Told


class Wait(Move, frozen=True):
    """Wait, declared."""

    seconds: float


class Ask(Move, frozen=True):
    """Ask a person who takes so long."""

    seconds: float


class Effect(Move, frozen=True):
    """Change the world; *said* of it by the tool, and whether an exception leaves the window (and is caught)."""

    seconds: float
    said: Said = ""
    breaks: bool = False


class Fail(Move, frozen=True):
    kind: Failure


class Flow(Move, frozen=True):
    """Yield so many chunks; nothing in a tool that is no generator."""

    chunks: int


class Call(Move, frozen=True):
    """Call others: one, several side by side, or as a batch."""

    children: tuple[Intent, ...]
    how: How = "one by one"
    patience: float | None = None


class AbortMe(Move, frozen=True):
    """Abort its own execution."""


class Intent(msgspec.Struct, frozen=True):
    """A call to be made: which tool, what it touches, what its body does."""

    tool: str
    moves: tuple[Move, ...] = ()
    touch: str = "a"


# ── What clients do ──────────────────────────────────────────────────────────────────────────────────────────────────


class Options(msgspec.Struct, frozen=True):
    timeout: float | None = None
    deadline: float | None = None
    idle_timeout: float | None = None
    human_timeout: float | None = None


NONE: Final = Options()


class Op(msgspec.Struct, frozen=True, tag=True):
    """One thing that a client does."""


class Execute(Op, frozen=True):
    intent: Intent
    options: Options = NONE
    patience: float | None = None


class Start(Op, frozen=True):
    """Start and then: forget it, wait for its result, wait until it is settled, or abort it after a while."""

    intent: Intent
    then: Then = "forget"
    options: Options = NONE
    patience: float | None = None


class Read(Op, frozen=True):
    """Stream; read so many chunks (all, if None), so slowly, after having stalled so long."""

    intent: Intent
    chunks: int | None = None
    pause: float = 0.0
    stall: float = 0.0
    options: Options = NONE
    patience: float | None = None


class Batch(Op, frozen=True):
    intents: tuple[Intent, ...]
    mode: Mode = "parallel"
    concurrency: int | None = None
    on_error: OnError = "collect"
    options: Options = NONE
    patience: float | None = None


class Abort(Op, frozen=True):
    by: Selector
    which: int = 0


class Watch(Op, frozen=True):
    """Follow snapshots or events for so many steps, with a pause in between, then leave."""

    what: Feed
    steps: int
    pause: float = 0.0


class Shutdown(Op, frozen=True):
    mode: Ending
    drain_for: float | None = None
    patience: float | None = None


class Close(Op, frozen=True):
    pass


class Idle(Op, frozen=True):
    patience: float | None = None


class Step(msgspec.Struct, frozen=True):
    """One thing that a client does, after a pause."""

    op: Op
    pause: float = 0.0


class Client(msgspec.Struct, frozen=True):
    """Does one thing after the other, all for one owner."""

    steps: tuple[Step, ...]
    owner: str | None = None


class Bounds(msgspec.Struct, frozen=True):
    concurrent: int | None = None
    per_owner: int | None = None
    group: int | None = None
    queued: int | None = None
    max_calls: int | None = None
    kept: int = 100_000


class Program(msgspec.Struct, frozen=True):
    clients: tuple[Client, ...]
    bounds: Bounds = Bounds()
    leave: Leave = "normally"
    leave_at: float | None = None
    drain_for: float = 30.0
