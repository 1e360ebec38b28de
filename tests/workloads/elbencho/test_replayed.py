"""What real elbencho printed goes through the whole contract, phase by phase."""

from __future__ import annotations

import pytest

from tests.workloads.elbencho.recorded import output, profiles
from tui.testing import replay
from tui.workloads.elbencho.workload import ElbenchoWorkload

RECORDED = [
    *(
        ("files-write-read", phase)
        for phase in ("mkdirs", "write", "stat", "read", "rmfiles", "rmdirs")
    ),
    *(("files-live", phase) for phase in ("mkdirs", "write")),
    *(("files-live-delete", phase) for phase in ("rmfiles", "rmdirs")),
    ("big-write", "write"),
    ("rand-read-live", "read"),
    ("rand-read-live-ex", "read"),
    ("limited", "read"),
    ("rwmix", "write"),
]


@pytest.mark.parametrize(("name", "phase"), RECORDED)
def test_recorded_output_keeps_the_contract(name: str, phase: str) -> None:
    replay(ElbenchoWorkload, profiles(name)[phase], output(name, phase))
