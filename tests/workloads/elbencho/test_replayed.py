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
    *(("s3-objects", phase) for phase in ("write", "stat", "read", "rmobjects")),
    *(("s3-parts", phase) for phase in ("write", "read", "rmobjects")),
    *(("s3-buckets", phase) for phase in ("mkbuckets", "rmbuckets")),
    ("s3-get-timed", "read"),
    ("s3-head-timed", "stat"),
]


@pytest.mark.parametrize(("name", "phase"), RECORDED)
def test_recorded_output_keeps_the_contract(name: str, phase: str) -> None:
    replay(ElbenchoWorkload, profiles(name)[phase], output(name, phase))
