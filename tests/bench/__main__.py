"""`python -m tests.bench [NAME ...]`: figures for people, never part of the tests."""

from __future__ import annotations

import importlib
import sys

BENCHES = (
    "start_skew",
    "frozen_host",
    "host_cost",
    "telemetry_cost",
    "ssh_config",
    "wide_graph",
    "many_hosts",
    "verbs",
    "large_run",
    "long_list",
    "same_pairs",
    "ab_budget",
    "engine_scale",
)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"unknown bench {unknown[0]}; there are: {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    codes = [int(importlib.import_module(f"tests.bench.{name}").main()) for name in names or BENCHES]
    return max(codes)


sys.exit(main(sys.argv[1:]))
