"""What real fio, mdtest, IOR and IO500 printed goes through the same kit as the output of
plug-ins.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workloads.fio.fixtures import DATA, recording
from tui.testing import Output, replay
from tui.workloads.fio.workload import FioWorkload
from tui.workloads.io500.workload import Io500Workload
from tui.workloads.ior.workload import IorWorkload
from tui.workloads.mdtest.workload import MdtestWorkload

MDTEST = Path(__file__).parents[1] / "data" / "mdtest"
OF_JOB_FILES = sorted(
    path.stem
    for path in (DATA / "stream").glob("*.cmd")
    # no measurement; a suite
    if "--- job file" in path.read_text() and not path.stem.startswith(("layout", "stone"))
)
METADATA = """\
profile: test/mdtest
title: Recorded
tool: mdtest
mdtest: {directory: /d, ranks_per_host: 4, items: 200, iterations: 3, options: [-F, -u]}
headline: {metric: ops, direction: create}
"""
BANDWIDTH = """\
profile: test/ior
title: Recorded
tool: ior
ior: {directory: /d, ranks_per_host: 4, transfer: 256k, block: 2m, segments: 2, iterations: 3}
headline: {metric: bandwidth, direction: write}
"""


SCORED = """\
profile: test/io500
title: Recorded
tool: io500
io500: {directory: /d, ranks_per_host: 2, stonewall: 1}
headline: {metric: score, direction: total}
"""


@pytest.mark.parametrize("name", OF_JOB_FILES)
def test_recorded_output_of_fio_keeps_the_contract(name: str) -> None:
    job = (
        (DATA / "stream" / f"{name}.cmd")
        .read_text()
        .partition("--- job file ")[2]
        .partition("\n")[2]
    )
    ((_, profile), *_) = FioWorkload().import_job(job, "recorded.fio", "test/recorded", {}).profiles
    recorded = recording(f"stream/{name}")
    replay(FioWorkload, profile, Output(recorded.stdout, recorded.stderr, recorded.exit_code or 0))


@pytest.mark.parametrize("version", ["1.9.3", "3.3.0", "main"])
def test_recorded_output_of_mdtest_keeps_the_contract(version: str) -> None:
    replay(MdtestWorkload, METADATA, MDTEST / f"mdtest-{version}-profile-v.out")


@pytest.mark.parametrize("version", ["3.3.0", "4.0.0", "main"])
def test_recorded_output_of_ior_keeps_the_contract(version: str) -> None:
    replay(IorWorkload, BANDWIDTH, MDTEST.parent / "ior" / f"{version}-fpp.out")


def test_recorded_output_of_io500_keeps_the_contract() -> None:
    replay(Io500Workload, SCORED, MDTEST.parent / "io500" / "short.out")
