"""`python -m tests.long.bench [NAME ...]`: figures for people, never part of the tests.

`figures` measures what docs/performance.md shows and writes it there, `scale` engine and screens
alone; `report` only writes what was measured before.
"""

from __future__ import annotations

import importlib
import sys

from tests.long.bench.report import BENCHES as REPORTED

BENCHES = (
    "host_cost",
    "telemetry_cost",
    "ssh_config",
    "wide_graph",
    "many_hosts",
    "fio_server",
    "installs",
    "verbs",
    "judging",
    "large_run",
    "long_list",
    "same_pairs",
    "same_searches",
    "ab_budget",
    *REPORTED,
    "real_limit",
    "slurm_first",
    "slurm_scale",
)
SETS = {
    "scale": ("engine_scale", "app_scale", "report"),
    "figures": (*REPORTED, "report"),
    "report": ("report",),
}


def main(names: list[str]) -> int:
    wanted = [each for name in names or BENCHES for each in SETS.get(name, (name,))]
    unknown = [name for name in wanted if name not in (*BENCHES, "report")]
    if unknown:
        print(
            f"unknown bench {unknown[0]}; there are: {', '.join((*SETS, *BENCHES))}",
            file=sys.stderr,
        )
        return 2
    codes = [int(importlib.import_module(f"tests.long.bench.{name}").main()) for name in wanted]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
