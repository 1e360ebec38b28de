"""How what is chosen at launch is called where it is chosen, for messages about it. Pure."""

from __future__ import annotations

from msgspec import Struct


class Words(Struct, frozen=True):
    """Names of choices, and what is done to choose otherwise; the default ones are of the command line."""

    limits: str = "--slo"
    over: str = "--over"
    points: str = "--points"
    within: str = "--within"
    point: str = "--point"
    most: str = "--most"
    repeat: str = "--repeat"
    sweep: str = "--sweep"
    attest: str = "--attest "
    name_limits: str = "--slo 'p99.9<2ms', the field limits on Review"
    name_hosts: str = "name more with --hosts"
    no_search: str = "--no-search was given"
    what_searches: str = "what it sustains is told by benchtui capacity, or by run --curve or --scaling"


OPTIONS = Words()
