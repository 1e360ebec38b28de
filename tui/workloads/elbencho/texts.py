"""Caveats on plans of elbencho, by code."""

from __future__ import annotations

from collections.abc import Mapping

from tui.text.form import Text

CAVEATS: Mapping[str, Text] = {
    "rate-set-by-search": "{option} is ignored: the search sets the offered load",
    "length-set-by-search": "{name} is ignored: the search sets each point's length",
    "highest-rate": (
        "at most {most_iops:iops} IOPS can be offered on each host: elbencho restarts its rate"
        " limit with each pass over the files, and a pass must take {pass_s} s or more"
    ),
    "bursts": (
        "elbencho issues each second's I/Os in one burst, then sleeps: latencies are those"
        " of bursts, not of evenly spaced I/Os"
    ),
}
