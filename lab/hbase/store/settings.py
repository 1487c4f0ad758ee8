"""Settings that make a local server behave like S3: latency, bandwidth of one connection, and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, log
from random import Random
from statistics import NormalDist
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict, fields

P99: Final = NormalDist().inv_cdf(0.99)
"""Standard deviations from the median to the 99th percentile."""
BURST_SECONDS: Final = 0.1  # judgement: requests come in bursts; ten bursts a second still make a rate


class Settings(Struct, frozen=True, kw_only=True):
    """The delays, limits and refusals of the proxy; the defaults change nothing.

    Latency is added to the server's own time before a response's first byte: constant, or with `latency_p99_ms` a
    lognormal whose median is `latency_ms`. Raises ValueError for what makes no sense.
    """

    latency_ms: float = 0.0
    latency_p99_ms: float | None = None
    stream_bytes_per_second: float | None = None
    """The bandwidth of one connection, in each direction separately."""
    slowed_fraction: float = 0.0
    """The share of requests, drawn with the seed, that are answered 503 SlowDown, which S3 asks to repeat later."""
    allowed_requests_per_second: float | None = None
    """The rate above which requests are answered 503 SlowDown."""

    def __post_init__(self) -> None:
        numbers = {name: value for name, value in asdict(self).items() if value is not None}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
                raise ValueError(f"{name} is {value!r}; it must be a number that is not negative")
        for name in ("stream_bytes_per_second", "allowed_requests_per_second"):
            if numbers.get(name) == 0:
                raise ValueError(f"{name} is 0; leave it out for no limit")
        if self.slowed_fraction > 1:
            raise ValueError(f"slowed_fraction is {self.slowed_fraction}; it must be from 0 to 1")
        if self.latency_p99_ms is not None and not 0 < self.latency_ms <= self.latency_p99_ms:
            raise ValueError(
                f"latency_p99_ms is {self.latency_p99_ms}; its median, {self.latency_ms}, must be"
                " above 0 and at most as large"
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """Return the settings in a JSON object. Raises ValueError for an unknown key."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"{', '.join(unknown)}; the proxy has no such setting")
        return cls(**values)


class Conditions:
    """Settings in use: the same settings and seed give the same draws, request by request."""

    __slots__ = ("_allowance", "_as_of", "_latencies", "_mu", "_refusals", "_sigma", "settings")

    def __init__(self, settings: Settings, seed: int) -> None:
        self.settings = settings
        self._latencies = Random(f"latency {seed}")  # noqa: S311 - it must repeat
        self._refusals = Random(f"refusal {seed}")  # noqa: S311 - it must repeat
        is_spread = settings.latency_p99_ms is not None
        self._mu = log(settings.latency_ms) if is_spread else 0.0
        self._sigma = (log(settings.latency_p99_ms) - self._mu) / P99 if settings.latency_p99_ms else 0.0
        self._allowance = self._burst
        self._as_of: float | None = None

    def latency_seconds(self) -> float:
        """Return the latency of the next response."""
        if self.settings.latency_p99_ms is None:
            return self.settings.latency_ms / 1e3
        return self._latencies.lognormvariate(self._mu, self._sigma) / 1e3

    def refuses(self, now: float) -> bool:
        """Return whether to refuse the request that came `now`, in seconds of a monotonic clock."""
        fraction = self.settings.slowed_fraction
        # Each request takes one draw while any are refused, so that the rate does not change which ones.
        if fraction and self._refusals.random() < fraction:
            return True
        return self.settings.allowed_requests_per_second is not None and not self._is_allowed(now)

    @property
    def _burst(self) -> float:
        return max(1.0, (self.settings.allowed_requests_per_second or 0.0) * BURST_SECONDS)

    def _is_allowed(self, now: float) -> bool:
        passed = 0.0 if self._as_of is None else now - self._as_of
        self._as_of = now
        rate = self.settings.allowed_requests_per_second or 0.0
        self._allowance = min(self._burst, self._allowance + passed * rate)
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True
