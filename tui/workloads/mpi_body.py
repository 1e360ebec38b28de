"""Profile keys that all MPI programs share: directory, ranks, launcher, addresses."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Scalar = str | bool | int | float


class MpiBody(BaseModel):
    """Launch parameters of an MPI program in a profile; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    directory: Scalar = Field(
        description=("Directory on the file system under test; each run has its own folder in it")
    )
    ranks_per_host: Scalar = Field(description="MPI ranks on each host")
    program: Scalar = Field(description="Program on the hosts: a name on PATH, or an absolute path")
    mpi: Literal["auto", "mpich", "openmpi"] = Field(
        "auto", description="MPI family; auto: the MPI that the program was built with"
    )
    launcher: Literal["benchtui", "plain"] = Field(
        "benchtui",
        description=(
            "Rank launcher: benchtui's own connections; or plain: mpiexec on the"
            " first host logs in to the others by SSH"
        ),
    )
    addresses: Scalar = Field(
        "auto",
        description=(
            "Addresses for connections between the hosts: 'auto' (those that SSH uses), a"
            " network such as 10.0.0.0/24, or host=address pairs separated by commas"
        ),
    )
    env: dict[str, Scalar] = Field(
        default_factory=dict,
        description=(
            "Environment variables for the ranks, such as UCX_NET_DEVICES; no others are passed"
        ),
    )
