"""What a profile says of the state that is measured: preconditioning, and what only a person can attest. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from tui.model.matrix import MatrixSpec, Scalar, as_share

Share = Annotated[float, BeforeValidator(as_share), Field(gt=0, lt=1)]


class PreconditionSpec(MatrixSpec):
    """How the storage is brought into a state that lasts, before each point is measured (SNIA SSS PTS)."""

    fill: int = Field(2, ge=0, le=10, description="How often all files are written whole in sequence; 0: not at all")
    bs: Scalar = Field("128k", description="Block size of that")
    rounds: int = Field(25, ge=0, le=1000, description="Rounds of the profile's own load at most; 0: none")
    round: Scalar = Field("60s", description="Time of one round; may name a parameter: '{round}'")
    window: int = Field(5, ge=2, le=100, description="So many rounds one after the other have to be steady")
    range: Share = Field(0.2, description="How far these may be apart, such as 20% of their mean")
    slope: Share = Field(0.1, description="How far these may drift, such as 10% of their mean")


class AttestSpec(MatrixSpec):
    """A condition that no host can tell: whoever launches the run is asked."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", description="Its name: run --attest ID=yes")
    question: str = Field(min_length=1, description="One line that is answered with yes, no or unknown")
