"""Student's t distribution, from mpmath's incomplete beta function.

Degrees of freedom may be fractional.
"""

from __future__ import annotations

from functools import lru_cache
from math import log1p
from statistics import NormalDist

NOTHING = 700.0  # of -ln(probability): anything smaller is 0 as a float, and slow to sum


@lru_cache(maxsize=1024)
def t_beyond(degrees: float, t: float) -> float:
    """Return the probability of more than `t`, for t >= 0."""
    if (degrees + 1) / 2 * log1p(t * t / degrees) > NOTHING:
        return 0.0
    import mpmath

    share = degrees / (degrees + mpmath.mpf(t) ** 2)
    return float(mpmath.betainc(degrees / 2, 0.5, 0, share, regularized=True) / 2)


@lru_cache(maxsize=1024)
def t_quantile(degrees: float, share: float) -> float:
    """Return the t-quantile of a probability from 0.5 to below 1."""
    import mpmath

    beyond = 1 - share
    if beyond >= 0.5:
        return 0.0
    z = NormalDist().inv_cdf(share)
    # Cornish-Fisher, first term: close enough as a start
    begin = z + (z**3 + z) / (4 * degrees)

    def wrong(t: mpmath.mpf) -> mpmath.mpf:
        return mpmath.log(t_beyond(degrees, abs(float(t))) / beyond)

    return abs(float(mpmath.findroot(wrong, (begin, begin * 1.01), tol=1e-20, verify=False)))
