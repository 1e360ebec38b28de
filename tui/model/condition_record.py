"""The state that was measured, as the run record has it: preconditioning, and what a person attested."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tui.model.step_record import Part


class FillRecord(Part):
    """All files of a profile, written whole."""

    step: int = Field(description="index of the step")
    times: int = Field(description="how often each was written")
    bytes: int | None = Field(None, description="written in all by plan; null: whole devices, of unknown size")
    duration_s: float | None = Field(None, description="seconds it took; null: it did not come to its end")
    whole: bool = Field(description="whether every host wrote all of its files")


class RoundsRecord(Part):
    """The load of one point, put on in rounds until it was steady."""

    cell: str = Field(description="the point, as in steps[].cell")
    steps: list[int] = Field(default_factory=list, description="indices of the rounds that were made")
    values: list[float | None] = Field(
        default_factory=list, description="the point's headline figure over all hosts, by round; null: not measured"
    )
    most: int = Field(description="rounds that would have been made at most")
    window: int = Field(description="so many rounds one after the other had to be steady")
    range: float | None = Field(None, description="largest minus smallest of the last window, as a share of its mean")
    slope: float | None = Field(None, description="excursion of the line through it, as a share of its mean")
    range_limit: float = Field(description="range may be this at most")
    slope_limit: float = Field(description="slope may be this at most")
    attained: bool | None = Field(None, description="whether it was steady; null: neither that nor the last round")
    text: str = Field("", description="for people")


class PreconditionRecord(Part):
    """What was done for the state of the storage before anything was measured."""

    left_out: bool = Field(False, description="whether the launch left out what the profile asks for")
    fills: list[FillRecord] = Field(default_factory=list, description="what was filled")
    rounds: list[RoundsRecord] = Field(default_factory=list, description="rounds, point by point")


class AttestationRecord(Part):
    """A condition that only a person knows."""

    id: str = Field(description="its name in the profile")
    question: str = Field(description="what was asked")
    answer: Literal["yes", "no", "unknown"] = Field(description="the answer; unknown: none was given")
    by: str | None = Field(None, description="user and machine that it was given on")
    utc: str | None = Field(None, description="when the run was launched with it")
