"""Choices at launch: their names in messages, and conditions that the user attests. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from tui.model.plan import Answer, Attestation, Plan
from tui.model.problem import Problem, UsageError, did_you_mean

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.model.profile_parts import AttestSpec


class Words(Struct, frozen=True):
    """How messages name the choices: by default, as command-line options."""

    limits: str = "--slo"
    over: str = "--over"
    points: str = "--points"
    within: str = "--within"
    point: str = "--point"
    most: str = "--most"
    hold: str = "--hold"
    repeat: str = "--repeat"
    sweep: str = "--sweep"
    attest: str = "--attest "
    role: str = "--role: "
    name_limits: str = "--slo 'p99.9<2ms', the field 'limits' on Review"
    name_hosts: str = "name more hosts with --hosts"
    no_search: str = "--no-search was given"
    what_searches: str = "use benchtui capacity, or run --curve or --scaling"


OPTIONS = Words()


ANSWERS = get_args(Answer)


def questions_of(loaded: LoadedProfile) -> dict[str, AttestSpec]:
    """Return the conditions that a profile asks about, by id; for a suite, also those that its
    profiles ask about.
    """
    profiles = [loaded.profile, *(member.profile for member in loaded.members.values())]
    asked: dict[str, AttestSpec] = {}
    for each in (each for profile in profiles for each in profile.attest):
        asked.setdefault(each.id, each)
    return asked


def attested(
    loaded: LoadedProfile, answers: Mapping[str, str], words: Words = OPTIONS
) -> list[Attestation]:
    """Return every condition that the profile asks about, with its answer.

    A condition without an answer gets "unknown". Raises UsageError for an answer to an unknown
    condition, or an invalid one.
    """
    asked = questions_of(loaded)
    wrong = [_wrong(loaded, asked, name, text) for name, text in answers.items()]
    problems = [Problem(f"{words.attest}{each}") for each in wrong if each]
    if problems:
        raise UsageError(problems)
    given = {name: cast(Answer, text) for name, text in answers.items()}
    return [
        Attestation(name, each.question, given.get(name, "unknown")) for name, each in asked.items()
    ]


def signed(plan: Plan, by: str, utc: str) -> Plan:
    """Return the plan with the name of the person who attested its conditions, and the time."""
    found = [
        each if each.answer == "unknown" else replace(each, by=by, utc=utc)
        for each in plan.attested
    ]
    return replace(plan, attested=found)


def _wrong(loaded: LoadedProfile, asked: Mapping[str, object], name: str, text: str) -> str:
    """Return why an answer is invalid; empty if it is valid."""
    if name not in asked:
        asks = ", ".join(asked) or "nothing"
        return (
            f"{name}: unknown condition{did_you_mean(name, asked)}; {loaded.profile.profile} asks:"
            f" {asks}"
        )
    return "" if text in ANSWERS else f"{name}={text}: expected {', '.join(ANSWERS)}"
