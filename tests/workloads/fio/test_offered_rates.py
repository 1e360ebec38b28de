"""What fio offers: measured with fio 3.33, reads of 4k/50:64k/50 for four seconds."""

from __future__ import annotations

import pytest

from tui.workloads.fio.loads import job_loads
from tui.workloads.fio.options import JobOptions

MIB = float(1 << 20)


@pytest.mark.parametrize(
    ("options", "iops", "size"),
    [
        ({"rate_iops": "200"}, {}, {"read": 200 * 4096.0}),  # 829 kB/s
        ({"rate": "8m"}, {}, {"read": 8 * MIB}),  # 8.38 MB/s
        ({"rate_iops": "200", "rate_process": "poisson"}, {"read": 200.0}, {}),  # 187
        ({"rate": "8m", "rate_process": "poisson"}, {"read": 2048.0}, {}),  # 2027; 44.3 MB/s
    ],
)
def test_mixed_sizes_are_paced_by_bytes_and_poisson_arrivals_by_number(
    options: dict[str, str], iops: dict[str, float], size: dict[str, float]
) -> None:
    (load,) = job_loads(
        [JobOptions("r", {}, {"rw": "randread", "bssplit": "4k/50:64k/50", **options})]
    )
    assert (load.rate_iops, load.rate_bytes_per_s) == (iops, size)


def test_equal_sizes_keep_the_unit_of_their_rate() -> None:
    job = {"rw": "rw", "bs": "4k", "rate_iops": "200,100", "numjobs": "2"}
    (load,) = job_loads([JobOptions("m", {}, job)])
    assert load.rate_iops == {"read": 400.0, "write": 200.0}
    assert not load.rate_bytes_per_s
