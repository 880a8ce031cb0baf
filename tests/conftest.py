"""Settings that every test shares: how much Hypothesis tries, and what the garbage collector looks at.

``pytest --hypothesis-profile=soak`` chooses one by name; where ``CI`` is set, ``ci`` is the default.
"""

from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, settings

# No deadlines anywhere: a wall-clock threshold says more about the machine than about the code.
settings.register_profile("moderate", deadline=None, max_examples=60)
settings.register_profile("ci", settings.get_profile("moderate"), derandomize=True, database=None, print_blob=True)
settings.register_profile(
    "soak", settings.get_profile("moderate"), max_examples=5_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "moderate")

# Hundreds of programs are started that import the package: the first one may keep the bytecode for all the others.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_finish() -> None:
    """Take what collecting has made out of the sight of the garbage collector: there is a lot of it, and it stays.

    Many tests look at every object there is, or have the garbage collected before they count.
    """
    gc.collect()
    gc.freeze()
