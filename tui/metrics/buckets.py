"""fio's latency buckets: bucket of a value, rank of a percentile.

Buckets are numbered as in fio (stat.c, plat_val_to_idx). Values are nanoseconds. Below 128 ns a
bucket has a single value; above, its width is at most 1/64 of its low edge, so its middle is within
0.78 % of any value in it.
"""

from __future__ import annotations

from functools import lru_cache

PLAT_BITS = 6
PLAT_VAL = 1 << PLAT_BITS
PLAT_GROUPS = 29
PLAT_BUCKETS = PLAT_GROUPS * PLAT_VAL
TOP_BUCKET = PLAT_BUCKETS - 1

PERCENTILES: tuple[float, ...] = (1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
SHOWN_PERCENTILES: tuple[float, ...] = (50, 95, 99, 99.5, 99.9)  # in tables, on all media
CURVE_PERCENTILES: tuple[float, ...] = (50, 99, 99.9)  # in charts, comparisons, progress


def label(percentile: float) -> str:
    """Return the name of a percentile in records and tables: "99.5" for 99.5, "99" for 99.0."""
    return f"{percentile:.6f}".rstrip("0").rstrip(".")


SHOWN_NAMES = tuple(f"p{label(each)}" for each in SHOWN_PERCENTILES)  # "p50", "p99.9"


def value_to_index(value_ns: int, top: int = TOP_BUCKET) -> int:
    """Return the bucket of a latency (fio stat.c, plat_val_to_idx).

    Values beyond the last bucket go into `top`.
    """
    msb = value_ns.bit_length() - 1
    if msb <= PLAT_BITS:
        return value_ns
    error_bits = msb - PLAT_BITS
    return min(((error_bits + 1) << PLAT_BITS) + ((value_ns >> error_bits) & (PLAT_VAL - 1)), top)


def index_to_value(index: int) -> int:
    """Return the middle of a bucket in ns, its key in json+ (fio stat.c, plat_idx_to_val)."""
    if index < PLAT_VAL << 1:
        return index
    error_bits = (index >> PLAT_BITS) - 1
    base = 1 << (error_bits + PLAT_BITS)
    return base + (((index & (PLAT_VAL - 1)) * 2 + 1) << error_bits >> 1)


def bucket_edges(index: int) -> tuple[int, int]:
    """Return the lowest and highest latency of a bucket in ns.

    The upper edge of the top bucket is nominal: that bucket also counts all higher values.
    """
    if index < PLAT_VAL << 1:
        return index, index
    error_bits = (index >> PLAT_BITS) - 1
    low = (1 << (error_bits + PLAT_BITS)) + ((index & (PLAT_VAL - 1)) << error_bits)
    return low, low + (1 << error_bits) - 1


def key_to_index(key_ns: int) -> int:
    """Return the bucket of a json+ key.

    fio builds with more groups have keys beyond bucket 1855; the formula is the same.
    """
    index = KEYS.get(key_ns)
    return value_to_index(key_ns, top=1 << 30) if index is None else index


KEYS: dict[int, int] = {index_to_value(index): index for index in range(PLAT_BUCKETS)}


@lru_cache(maxsize=256)
def _ratio(percentile: float) -> tuple[int, int]:
    return float(percentile).as_integer_ratio()


def rank(percentile: float, total: int) -> int:
    """Return the least cumulative count that reaches a percentile of `total` samples: ceil(p *
    total / 100).

    `percentile` is used as the exact double: 99.9 of 1000 samples needs all 1000. fio compares long
    doubles and is built with -ffast-math (stat.c, calc_clat_percentiles); exact rationals give the
    same ranks.
    """
    numerator, denominator = _ratio(percentile)
    return -(-numerator * total // (denominator * 100))
