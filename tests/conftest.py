"""Settings that every test shares: how much Hypothesis tries.

``pytest --hypothesis-profile=soak`` chooses one by name; where ``CI`` is set, ``ci`` is the default.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No deadlines anywhere: a wall-clock threshold says more about the machine than about the code.
settings.register_profile("moderate", deadline=None, max_examples=60)
settings.register_profile("ci", settings.get_profile("moderate"), derandomize=True, database=None, print_blob=True)
settings.register_profile(
    "soak", settings.get_profile("moderate"), max_examples=5_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "moderate")
