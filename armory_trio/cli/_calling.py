"""What all verbs that make calls ask alike: which tools may run, and how a call may end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from ..authority.policy import ApprovalMode
from ..toolbox import Toolbox
from ._naming import load
from ._parameters import Seconds
from ._rules import tightened
from ._settings import DETAILS, MODES, ErrorDetail, ToolOptions

Option = Callable[[Callable[..., int]], Callable[..., int]]


class CallingOptions(ToolOptions):
    """The options of a verb that makes calls, under the names that click gives them."""

    read_only: bool
    no_dangerous: bool
    approval_mode: ApprovalMode | None
    timeout: float | None
    drain_for: float
    cleanup_timeout: float
    error_detail: ErrorDetail
    max_bytes: int


def with_rules(approval: str) -> Option:
    """Options that say which tools may run; *approval* says what the mode of approval is about."""
    return _all_of(
        click.option("--read-only", is_flag=True, help="Only tools that change nothing may run."),
        click.option("--no-dangerous", is_flag=True, help="Tools that are destructive or privileged may not run."),
        click.option("--approval-mode", type=click.Choice(MODES), help=approval),
    )


def with_endings(*, cleanup: float) -> Option:
    """Options that say how long an end may take; *cleanup* is how long a stopped call has by default."""
    return _all_of(
        click.option(
            "--drain-for",
            type=Seconds(zero=True),
            default=30.0,
            show_default=True,
            metavar="S",
            help="Seconds that a drain may take before what is left is aborted.",
        ),
        click.option(
            "--cleanup-timeout",
            type=Seconds(zero=True),
            default=cleanup,
            show_default=True,
            metavar="S",
            help="Seconds that a stopped call may take to clean up before it is given up.",
        ),
    )


def with_error_detail(default: ErrorDetail) -> Option:
    """The option that says what is shown of an exception."""
    return click.option(
        "--error-detail",
        type=click.Choice(DETAILS),
        default=default,
        show_default=True,
        help="What results show of an exception that the tool did not declare.",
    )


def load_tightened(references: Sequence[str], options: CallingOptions) -> Toolbox:
    """The tools that are named, as far as they may run.

    Raises:
        Unusable: There are none, or one cannot be loaded.
    """
    return tightened(
        load(references, options),
        read_only=options["read_only"],
        no_dangerous=options["no_dangerous"],
        mode=options["approval_mode"],
    )


def _all_of(*options: Option) -> Option:
    def add(function: Callable[..., int]) -> Callable[..., int]:
        for option in reversed(options):
            function = option(function)
        return function

    return add
