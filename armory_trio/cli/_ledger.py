"""``armory-trio ledger``: what an operator does about attempts of which nobody knows how they ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

import click
import trio

from ._exit import FAILED, UNCERTAIN
from ._ledger_help import AUTHORIZE, EXAMPLES, FORGET, LIST, RESOLVE, SHOW
from ._ledger_store import Undone, Unsure, store_named
from ._parameters import Count
from ._streams import Claim, say
from ._texts import Group

if TYPE_CHECKING:  # whoever runs calls does not pay for the ledger
    from ..ledger import AttemptState, Choice

STATES: Final[tuple[AttemptState, ...]] = ("claimed", "started", "completed", "unknown", "abandoned")
CHOICES: Final[tuple[Choice, ...]] = ("release", "retry", "completed", "abandoned")


class _Which(TypedDict):
    """Where the attempts are, and which are meant."""

    store: str | None
    tenant: str | None
    tool: str | None


class _ListOptions(_Which):
    state: tuple[AttemptState, ...]
    host: str | None
    all_of_them: bool
    limit: int
    after: str | None
    as_json: bool


class _Signing(_Which):
    """What a receipt says beside its decision, and what becomes of it."""

    evidence: str | None
    by: str | None
    nonce: str | None
    keys: str | None
    domain: str
    print_it: bool
    yes: bool


class _ResolveOptions(_Signing):
    decision: Choice
    result: str | None
    result_file: str | None


class _AuthorizeOptions(_Signing):
    under: str


_store = click.option(
    "--store",
    metavar="PATH|URL",
    help="The store of the host: a SQLite file or postgresql://...  [env: ARMORY_TRIO_STORE]",
)
_debug = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error too.")


def _which(function: Callable[..., int]) -> Callable[..., int]:
    for option in (
        _debug,
        click.option("--tool", metavar="NAME|ID", help="Only of this tool: pay, default:pay or default:pay@2."),
        click.option("--tenant", metavar="ID", help="Only of this tenant."),
        _store,
    ):
        function = option(function)
    return function


def _signing(function: Callable[..., int]) -> Callable[..., int]:
    for option in (
        click.option("--yes", is_flag=True, help="Do not ask whether to."),
        click.option("--print", "print_it", is_flag=True, help="Change nothing: print the signed receipt, as JSON."),
        click.option(
            "--domain", default="default", show_default=True, metavar="NAME", help="The security domain of the host."
        ),
        click.option("--keys", metavar="FILE", help="The keys that receipts are signed with.  [env: ARMORY_TRIO_KEYS]"),
        click.option(
            "--nonce", metavar="TEXT", help="Tells the receipt from every other one.  [default: a random one]"
        ),
        click.option("--by", metavar="WHO", help="Who decides."),
        click.option("--evidence", metavar="TEXT", help="Why: what the far side said, a ticket."),
    ):
        function = option(function)
    return function


def run_telling(main: Callable[[], Awaitable[int]]) -> int:
    """Run *main*, and say what it could not do."""
    try:
        return trio.run(main)
    except Undone as error:
        say(str(error))
        return FAILED
    except Unsure as error:
        say(str(error))
        return UNCERTAIN


@click.group(cls=Group, no_args_is_help=False, epilog=EXAMPLES)
def ledger() -> None:
    """Look at what hosts left behind, and decide about it, while they run.

    An attempt is one try to do what an idempotency key stands for. A host that went away may leave some of which nobody
    knows how they ended: somebody finds out what happened, and decides.
    """


@ledger.command("list", epilog=LIST)
@click.option("--state", type=click.Choice(STATES), multiple=True, help="Only those in this state; may be repeated.")
@_which
@click.option("--host", metavar="ID", help="Only those that this host made.")
@click.option("--all", "all_of_them", is_flag=True, help="Also what runs and what has ended.")
@click.option("--limit", type=Count(1), default=100, show_default=True, metavar="N", help="At most so many.")
@click.option("--after", metavar="KEY", help="Go on after this key, as the last page says.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_obj
def list_command(claim: Claim, /, **options: Unpack[_ListOptions]) -> int:
    """List attempts; by default those that need somebody.

    These have no end, and nobody is at them any more. Arguments and results are never listed, since they may be
    private.
    """
    if options["state"] and options["all_of_them"]:
        raise click.UsageError("--all lists every state, so --state contradicts it")
    if not _is_text(options["after"] or ""):
        raise click.UsageError("--after is no text that a store can hold; take it as the last page says")
    where, streams = store_named(options["store"]), claim()
    # Nothing that looks into stores is loaded before something is known to be looked at.
    from ._ledger_finding import Filters  # noqa: PLC0415  # as said
    from ._ledger_looking import Listing, list_attempts  # noqa: PLC0415  # as said

    left_only = not options["state"] and not options["all_of_them"]
    states: frozenset[AttemptState] | None = frozenset(options["state"] or ("claimed", "started", "unknown"))
    asked = Listing(
        filters=Filters(
            states=None if options["all_of_them"] else states,
            tenant=options["tenant"],
            tool=options["tool"],
            host=options["host"],
        ),
        left_only=left_only,
        limit=options["limit"],
        after=options["after"],
        as_json=options["as_json"],
    )
    return run_telling(lambda: list_attempts(where, asked, streams))


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:  # bytes of the command line that were no UTF-8
        return False
    return True


@ledger.command("show", epilog=SHOW)
@click.argument("attempt")
@_which
@click.option("--arguments", is_flag=True, help="Show its arguments, which may be private.")
@click.option("--result", is_flag=True, help="Show its result, which may be private.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def show_command(
    claim: Claim, /, attempt: str, *, arguments: bool, result: bool, as_json: bool, **options: Unpack[_Which]
) -> int:
    """Show one ATTEMPT, and what can be done about it.

    It is named by its id, its execution, or its key.
    """
    where, streams = store_named(options["store"]), claim()
    from ._ledger_finding import Filters  # noqa: PLC0415  # as above
    from ._ledger_looking import show_attempt  # noqa: PLC0415  # as above
    from ._ledger_view import Private  # noqa: PLC0415  # as above

    filters = Filters(tenant=options["tenant"], tool=options["tool"])
    private = Private(arguments=arguments, result=result)
    # A URL may hold a password, and what is shown is copied about.
    name = options["store"] or ""
    name = "" if "://" in name else name
    return run_telling(
        lambda: show_attempt(where, attempt, filters, private, streams, store_name=name, as_json=as_json)
    )


@ledger.command("resolve", epilog=RESOLVE)
@click.argument("attempt")
@_which
@click.option("--decision", type=click.Choice(CHOICES), required=True, help="What is decided; show tells what can be.")
@click.option("--result", metavar="JSON", help="How it ended, for completed: the value, as JSON.")
@click.option("--result-file", metavar="FILE", help="The same from a file, or - for standard input.")
@_signing
@click.pass_obj
def resolve_command(claim: Claim, /, attempt: str, **options: Unpack[_ResolveOptions]) -> int:
    """Decide about an ATTEMPT without a known end.

    retry: the next call with its key runs again. completed: it ended, with this result. abandoned: it is never tried
    again. These take a receipt, signed with the keys of the host, that says why and by whom, and is kept. release:
    forget it, since it never started or nothing can have come of it.
    """
    _require_fitting(options)
    where, streams = store_named(options["store"]), claim()
    from ._ledger_deciding import Resolution, resolve, result_text  # noqa: PLC0415  # as above
    from ._ledger_finding import Filters  # noqa: PLC0415  # as above
    from ._ledger_keys import load_keys  # noqa: PLC0415  # as above

    asked = Resolution(
        word=attempt,
        filters=Filters(tenant=options["tenant"], tool=options["tool"]),
        choice=options["decision"],
        evidence=options["evidence"],
        by=options["by"],
        result=result_text(options["result"], options["result_file"], streams),
        nonce=options["nonce"],
        keys=None if options["decision"] == "release" else load_keys(options["keys"]),
        domain=options["domain"],
        prints=options["print_it"],
        yes=options["yes"],
    )
    return run_telling(lambda: resolve(where, asked, streams))


def _require_fitting(options: _ResolveOptions) -> None:
    """Refuse options that contradict the decision.

    Raises:
        click.UsageError: They do.
    """
    decision = options["decision"]
    given = [name for name in ("result", "result_file") if options[name] is not None]
    if decision == "completed" and len(given) != 1:
        raise click.UsageError(
            "completed needs --result JSON or --result-file FILE, one of them; null is --result null"
        )
    if decision != "completed" and given:
        raise click.UsageError(f"a result belongs to the decision completed, not to {decision}")
    if decision != "release":
        _why(options, decision)
        return
    receipt_only = [name for name in ("evidence", "by", "nonce") if options[name] is not None]
    if options["print_it"]:
        receipt_only.append("print")
    if receipt_only:
        raise click.UsageError(f"a release has no receipt, so it takes no --{receipt_only[0]}")


def _why(options: _Signing, decision: str) -> tuple[str, str]:
    """Why it is decided, and by whom.

    Raises:
        click.UsageError: One of them is missing.
    """
    evidence, by = options["evidence"] or "", options["by"] or ""
    missing = [f"--{name}" for name, said in (("evidence", evidence), ("by", by)) if not said.strip()]
    if missing:
        raise click.UsageError(f"{decision} needs {' and '.join(missing)}, for its receipt")
    return evidence, by


@ledger.command("authorize", epilog=AUTHORIZE)
@click.argument("attempt")
@_which
@click.option("--under", required=True, metavar="REVISION", help="The policy revision of the hosts that may tell it.")
@_signing
@click.pass_obj
def authorize_command(claim: Claim, /, attempt: str, **options: Unpack[_AuthorizeOptions]) -> int:
    """Let the result of an ATTEMPT be told under another policy.

    It was done when other rules were in force, so hosts don't tell it again. Somebody looked at it, and says that the
    rules of today allow it. That takes a receipt, signed with the keys of the host, that says why and by whom.
    """
    evidence, by = _why(options, "authorize")
    where, streams = store_named(options["store"]), claim()
    from ._ledger_authorizing import Authorization, authorize  # noqa: PLC0415  # as above
    from ._ledger_finding import Filters  # noqa: PLC0415  # as above
    from ._ledger_keys import load_keys  # noqa: PLC0415  # as above

    asked = Authorization(
        word=attempt,
        filters=Filters(tenant=options["tenant"], tool=options["tool"]),
        under=options["under"],
        evidence=evidence,
        by=by,
        nonce=options["nonce"],
        keys=load_keys(options["keys"]),
        domain=options["domain"],
        prints=options["print_it"],
        yes=options["yes"],
    )
    return run_telling(lambda: authorize(where, asked, streams))


class _Instant(click.ParamType[Callable[[float], float]]):
    """An instant: a time before now, or a date."""

    name = "instant"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Callable[[float], float]:
        """*value* as a function of now."""
        from ._ledger_looking import instant_of  # noqa: PLC0415  # as above

        try:
            return instant_of(str(value))
        except (ValueError, OverflowError):
            wrong = (
                f"{str(value)[:40]!r} is neither a time before now, such as 30d or 12h, nor a date, such as 2026-09-01"
            )
            self.fail(wrong, param, ctx)


@ledger.command("forget", epilog=FORGET)
@_store
@click.option(
    "--ended-before",
    type=_Instant(),
    required=True,
    metavar="AGO|DATE",
    help="30d, 12h (also s, m, w), or a date in UTC.",
)
@click.option("--dry-run", is_flag=True, help="Only count.")
@_debug
@click.pass_obj
def forget_command(claim: Claim, /, *, store: str | None, ended_before: Callable[[float], float], dry_run: bool) -> int:
    """Forget attempts that ended long ago.

    They are completed or abandoned. Then what they stand for can be done again. Nothing that waits for somebody is ever forgotten.
    """
    where, streams = store_named(store), claim()
    from ._ledger_looking import forget_ended  # noqa: PLC0415  # as above

    return run_telling(lambda: forget_ended(where, ended_before, streams, dry_run=dry_run))
