"""The io500 section of a profile, which becomes IO500's ini file.

Values may refer to parameters: '{stonewall}'.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from tui.workloads.mpi_body import MpiBody, Scalar, check_allowed

SETTING = re.compile(r"[A-Za-z0-9-]+\.[A-Za-z0-9-]+")
OWN_SETTINGS = {
    "global.datadir": "directory",
    "global.drop-caches": "drop_caches",
    "debug.stonewall-time": "stonewall",
}
REFUSED_SETTINGS = {
    "global.resultdir": "the run directory keeps the results",
    "global.timestamp-datadir": "each run has a directory of its own",
    "global.timestamp-resultdir": "each run has a directory of its own",
    "debug.pause-dir": "benchtui would count the pause as part of a phase",
    "global.drop-caches-cmd": "it can run any command on every host",
    "find.external-script": "it can run any command on the first host",
    "find-easy.external-script": "it can run any command on the first host",
    "find-hard.external-script": "it can run any command on the first host",
    "global.verbosity": "benchtui can only read output at the default verbosity",
}


def known_setting(name: str) -> str:
    """Return a setting's name in lower case, because IO500 ignores case (ini-parse.c).

    Raises ValueError for a setting that benchtui sets itself, or that cannot be used.
    """
    if not SETTING.fullmatch(name):
        raise ValueError(
            f"'{name}' is not a setting; expected SECTION.KEY, such as ior-easy.transferSize"
        )
    known = name.lower()
    check_allowed(known, OWN_SETTINGS, REFUSED_SETTINGS)
    if known.endswith(".run"):
        raise ValueError(f"{name} is not allowed here; set it with skip")
    return known


class Io500(MpiBody):
    """The settings of an IO500 run; unknown keys are errors."""

    program: Scalar = Field(
        "io500", description="IO500 on the hosts: a name on PATH, or an absolute path"
    )
    stonewall: Scalar = Field(
        300,
        description=(
            "Least seconds per write phase ([debug] stonewall-time); submissions require 300"
        ),
    )
    skip: Scalar = Field(
        "none",
        description=("Phases to skip, separated by commas, such as ior-rnd4K-easy-read; or none"),
    )
    drop_caches: Scalar = Field(
        False,
        description=("Drop client caches before each phase, with sudo ([global] drop-caches)"),
    )
    settings: dict[Annotated[str, AfterValidator(known_setting)], Scalar] = Field(
        default_factory=dict,
        description="More settings for the ini file as SECTION.KEY, such as ior-easy.transferSize",
    )
