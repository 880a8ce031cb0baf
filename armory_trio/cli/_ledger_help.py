"""What ``armory-trio ledger --help`` says below the options: examples, and exit codes."""

from __future__ import annotations

from typing import Final

EXAMPLES: Final = """\
\b
Examples:
  export ARMORY_TRIO_STORE=/var/lib/host/store.db
  armory-trio ledger list
  armory-trio ledger show exe-1f2e3d4c-7 --arguments
  armory-trio ledger resolve order-8 --decision retry --evidence "not at the bank" --by bob
  armory-trio ledger authorize order-7 --under 2026-09 --evidence "ticket 9" --by bob
  armory-trio ledger forget --ended-before 30d --dry-run

\b
Exit codes:
  0  done; of list: nothing that is listed waits for a decision
  1  not done: there is no such attempt, somebody may be at it, or was faster, or the answer was no
  2  wrong usage, or a store or keys that cannot be used
  3  list: something that is listed waits for a decision; else: nobody knows whether it was done
  130  stopped by SIGINT
  141  the reader of the output went away
"""
LIST: Final = """\
\b
Examples:
  armory-trio ledger list --tenant acme
  armory-trio ledger list --state unknown --json | jq -r .attempt_id
  armory-trio ledger list --all --tool default:pay --limit 20

\b
Exit codes:
  0  nothing that is listed waits for a decision
  2  wrong usage, or a store that cannot be used
  3  something that is listed waits for a decision
  130  stopped by SIGINT
  141  the reader of the output went away
"""
SHOW: Final = """\
\b
Examples:
  armory-trio ledger show exe-1f2e3d4c-7
  armory-trio ledger show order-8 --tenant acme --tool pay --arguments --result
"""
RESOLVE: Final = """\
\b
Examples:
  armory-trio ledger resolve ID --decision retry --evidence "ticket 7: not at the bank" --by bob
  armory-trio ledger resolve ID --decision completed --result '"paid"' --evidence "the statement" --by bob
  armory-trio ledger resolve ID --decision abandoned --evidence "order cancelled" --by bob --yes
  armory-trio ledger resolve ID --decision retry --evidence "ticket 7" --by bob --print > receipt.json
  armory-trio ledger resolve ID --decision release

\b
The file of keys is for its owner alone (chmod 600):
  {"default": [{"id": "2026-09", "secret": "<base64>"}, {"id": "2026-03", "secret": "env:OLD_KEY"}]}
"""
AUTHORIZE: Final = """\
\b
Examples:
  armory-trio ledger authorize order-8 --under 2026-09 --evidence "the new rules allow it, too" --by bob
  armory-trio ledger authorize ID --under 2026-09 --evidence "ticket 9" --by bob --print > receipt.json

\b
The file of keys is that of resolve.
"""
FORGET: Final = """\
\b
Examples:
  armory-trio ledger forget --ended-before 30d --dry-run
  armory-trio ledger forget --ended-before 2026-09-01
  armory-trio ledger forget --ended-before 2026-09-01T12:00:00+02:00
"""
