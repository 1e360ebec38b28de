"""How many I/Os of a random job go to a random block, as its options say and as fio does it."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from math import sqrt
from pathlib import Path

import pytest

from tui.workloads.fio.loads import job_loads
from tui.workloads.fio.options import JobOptions

BLOCK, BLOCKS, IOS = 4096, 1 << 20, 4000


def share_of(**options: str) -> tuple[float, str]:
    (load,) = job_loads([JobOptions("a", {}, {"bs": "4k", "size": "4g", **options})])
    return load.random_share, load.ordered_by


@pytest.mark.parametrize(
    ("options", "share", "named"),
    [
        ({"rw": "randread"}, 1.0, ""),
        ({"rw": "randread:1"}, 1.0, ""),
        ({"rw": "read:8k"}, 1.0, ""),
        ({"rw": "read", "percentage_random": "5"}, 1.0, ""),
        ({"rw": "randread", "percentage_random": "100"}, 1.0, ""),
        ({"rw": "randread:16"}, 1 / 16, "rw=randread:16"),
        ({"rw": "randwrite", "percentage_random": "5"}, 0.05, "percentage_random=5"),
        ({"rw": "randwrite", "percentage_random": "5,100"}, 1.0, ""),
        ({"rw": "randrw", "percentage_random": "100,60"}, 0.6, "percentage_random=100,60"),
        (
            {"rw": "randread:4", "percentage_random": "20"},
            0.05,
            "rw=randread:4 percentage_random=20",
        ),
    ],
)
def test_the_share_of_random_blocks_follows_from_the_options(
    options: dict[str, str], share: float, named: str
) -> None:
    found, told = share_of(**options)
    assert found == pytest.approx(share)
    assert told == named


@pytest.mark.parametrize(
    "options",
    [
        {"rw": "randread"},
        {"rw": "randread:3"},
        {"rw": "randread:16"},
        {"rw": "randread", "percentage_random": "5"},
        {"rw": "randread", "percentage_random": "60"},
        {"rw": "randread:4", "percentage_random": "20"},
        {"rw": "randread:8", "rw_sequencer": "identical"},
    ],
)
def test_fio_goes_to_random_blocks_that_often(options: dict[str, str], tmp_path: Path) -> None:
    share, _ = share_of(**options)
    log = tmp_path / "log"
    words = [f"--{name}={value}" for name, value in options.items()]
    fixed = "--name=a --ioengine=null --filename=none --bs=4k --norandommap --thread --randseed=7"
    sizes = [f"--size={BLOCKS * BLOCK}", f"--number_ios={IOS}", f"--write_iolog={log}"]
    subprocess.run(
        ["fio", *fixed.split(), *sizes, *words], check=True, capture_output=True, cwd=tmp_path
    )
    offsets = [int(line.split()[-2]) for line in log.read_text().splitlines() if " read " in line]
    jumps = sum(after - before not in (0, BLOCK) for before, after in pairwise(offsets))
    slack = 6 * sqrt(len(offsets) * share * (1 - share)) + 2
    assert jumps == pytest.approx(share * len(offsets), abs=slack)


@pytest.mark.parametrize(
    ("engine", "named"),
    [("null", "ioengine=null"), ("page_fault", "ioengine=page_fault"), ("libaio", "")],
)
def test_engines_that_do_no_io_are_named(engine: str, named: str) -> None:
    (load,) = job_loads([JobOptions("a", {}, {"rw": "read", "ioengine": engine, "size": "1g"})])
    assert load.no_storage == named
