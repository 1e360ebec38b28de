"""Why a check could not be made, apart from the checks: records and objections need the words alone."""

from __future__ import annotations

from enum import StrEnum


class UnknownError(Exception):
    """Why a check could not be made, in a few words."""


class Moot(StrEnum):
    """Reasons for which a check has nothing to be about: what it asks cannot be wrong here."""

    READS = "nothing is read"
    WRITES = "nothing is written"
    RANDOM = "no random I/O"
    SHARED = "one host shares with nobody"
    DROPPED = "no cache was to be dropped"
    RAMP = "the load has a ramp"
    ROUNDS = "no rounds were asked for"
    ASKED = "the profile asks about nothing"
    SHIFT = "no ranks were shifted"
    SWEPT = "nothing was swept"
    PROOF = "a counter-experiment compares two loads that differ on purpose"
    RATE = "no rate was asked for"
    PACED = "the load is held back by a rate or think time"
    DATA = "the load moves no data"
    NETWORK = "the load does not go over the network"
    SUBMISSION = "the engine has no submission latency"
    SYNCS = "no syncs were measured"
    ITERATIONS = "no operation has a largest and a smallest rate over iterations"
