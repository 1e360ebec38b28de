"""How far each host is from the others: its rate against the median host's, who lags, who is like the rest. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from msgspec import Struct

from tui.metrics import units
from tui.model.thresholds import default

LAG = default("V14.rate")  # of the median host, as the check of stragglers has it
LEAST_HOSTS = 3  # with fewer there is no median to speak of
LEAST_BAND = 0.03
SIGMAS, SIGMA_OF_MAD = 3.0, 1.4826  # of a normal distribution


class Spread(Struct, frozen=True):
    """Hosts against their median. `shares`: deviation from it by host, -0.75 is a quarter of it; None: not known.

    `band`: hosts within it are like the others. `lag`: the least share of the median that does not lag.
    """

    middle: float | None
    shares: Mapping[str, float | None]
    band: float
    lag: float = LAG

    def lags(self, host: str) -> bool:
        """Tell whether a host is far behind the others."""
        share = self.shares.get(host)
        return share is not None and len(self.shares) >= LEAST_HOSTS and share < self.lag - 1

    def is_far(self, host: str) -> bool:
        """Tell whether a host is unlike the others: outside of the band, or of unknown rate."""
        share = self.shares.get(host)
        return share is None or abs(share) > self.band

    @property
    def laggards(self) -> list[str]:
        """The hosts that lag, the slowest first."""
        return sorted((host for host in self.shares if self.lags(host)), key=lambda host: self.shares[host] or 0.0)

    def widest(self, hosts: list[str]) -> float:
        """Return how far the farthest of some hosts is from the median."""
        return max((abs(share) for host in hosts if (share := self.shares.get(host)) is not None), default=0.0)


def spread_of(values: Mapping[str, float | None], lag: float = LAG) -> Spread:
    """Return how far hosts are from their median; the band is three robust deviations, at most what lags."""
    known = [value for value in values.values() if value is not None]
    middle = median(known) if len(known) > 1 else None
    if not middle:
        return Spread(middle, dict.fromkeys(values), LEAST_BAND, lag)
    shares = {host: None if value is None else value / middle - 1 for host, value in values.items()}
    mad = median(abs(value / middle - 1) for value in known)
    band = min(max(LEAST_BAND, SIGMAS * SIGMA_OF_MAD * mad), 1 - lag)
    return Spread(middle, shares, band, lag)


def share_text(share: float | None) -> str:
    """Return a deviation with its sign: ``-75 %``, ``+2 %``."""
    return units.UNKNOWN if share is None else units.share(round(share, 2) + 0.0, sign="+")


def behind_text(share: float) -> str:
    """Return what a laggard is: ``25 % of the median``."""
    return f"{units.share(max(0.0, 1 + share))} of the median"


def within_text(widest: float) -> str:
    """Return how near hosts are to the median: ``within ±3 %``."""
    return f"within ±{max(1, -(-round(widest * 1000) // 10))} %"
