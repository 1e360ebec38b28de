"""Options of imported fio loads are the same in every notation."""

from __future__ import annotations

import pytest

from tui.workloads.fio.load_options import command_options, load_options
from tui.workloads.fio.options import JobOptions


def values(command: str) -> dict[str, str]:
    found = load_options(command_options(command))
    assert found is not None
    return found.values


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("--bs=4k", "--blocksize=4096"),
        ("--runtime=1m", "--timeout=60"),
        ("--size=1g", "--size=1024m"),
        ("--rw=rw", "--readwrite=readwrite"),
        ("--direct=1", "--buffered=0"),
        ("--fsync=0", ""),
        ("--bs=4k,8k", "--bs=4096,8192"),
        ("--thinktime=1000", "--thinktime=1ms"),
        ("--random_distribution=random", "--numjobs=1"),
        ("--filename=/a --randseed=7 --write_lat_log=x --log_avg_msec=9", "--directory=/b"),
        ("--time_based --group_reporting --norandommap", "--time_based=1"),
    ],
)
def test_equal_loads_have_equal_options(one: str, other: str) -> None:
    assert values(f"fio --name=a {one}") == values(f"fio --name=a {other}")


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("ioengine", "libaio", "io_uring"),
        ("direct", "1", "0"),
        ("random_distribution", "zipf:1.2", "random"),
        ("fsync", "1", "32"),
        ("bs", "4k", "8k"),
        ("rate_iops", "500", "1000"),
        ("bssplit", "4k/60:64k/40", "4k/40:64k/60"),
        ("thinktime", "1000", "1"),
        ("ramp_time", "5", "0"),
    ],
)
def test_options_that_affect_figures_are_kept(name: str, one: str, other: str) -> None:
    found = [values(f"fio --name=a --{name}={each}").get(name, "") for each in (one, other)]
    assert found[0] != found[1]


def test_jobs_with_different_values_have_one_each() -> None:
    found = values("fio --ioengine=libaio --name=a --bs=4k --name=b --bs=16k")
    assert (found["bs"], found["ioengine"]) == ("4k, 16k", "libaio")


def test_an_incomplete_output_has_only_what_it_names() -> None:
    found = load_options([JobOptions("a", {}, {"rw": "read", "bs": "4096"})], complete=False)
    assert found is not None
    assert (found.values, found.complete) == ({"bs": "4k", "rw": "read"}, False)
