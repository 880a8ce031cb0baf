"""The same work under a supervisor that tells OpenTelemetry what it does."""

from __future__ import annotations

from armory_trio import open_supervisor

from ._sample import Sample
from ._supervised import one_by_one
from ._tools import TOOLBOX


async def traced(count: int) -> Sample:
    """One call after the other, each with a span and its measures. Nothing is exported: that is done in another thread."""
    return await _instrumented(count, sampled=True)


async def unsampled(count: int) -> Sample:
    """One call after the other, each measured, with spans that the sampler does not want."""
    return await _instrumented(count, sampled=False)


async def _instrumented(count: int, *, sampled: bool) -> Sample:
    # Imported here, so that the processes of the other rows stay as they are without it.
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON  # noqa: PLC0415

    from armory_trio.observability.otel import instrument  # noqa: PLC0415

    tracers = TracerProvider(sampler=ALWAYS_ON if sampled else ALWAYS_OFF, shutdown_on_exit=False)
    meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)

    async with open_supervisor(TOOLBOX) as supervisor:
        instrument(supervisor, tracer_provider=tracers, meter_provider=meters)
        return await one_by_one(supervisor, "add", count)
