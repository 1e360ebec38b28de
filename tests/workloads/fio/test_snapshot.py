"""Decoding of status objects."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from tests.workloads.fio.fixtures import names, objects, recording, snapshots
from tui.workloads.fio.snapshot import LatencyKind, SnapshotError, decode


@pytest.mark.parametrize("name", names("stream", "stall", "size"))
def test_figures_are_those_in_the_json(name: str) -> None:
    for text in objects(recording(name).stdout):
        plain, snapshot = json.loads(text), decode(text)
        assert snapshot.timestamp_ms == plain["timestamp_ms"]
        for expected, job in zip(plain["jobs"], snapshot.jobs, strict=True):
            for name_, part in job.directions().items():
                if name_ == "sync":  # fio tells less of it: test_syncs.py
                    continue
                assert (part.total_ios, part.io_bytes) == (
                    expected[name_]["total_ios"],
                    expected[name_]["io_bytes"],
                )
                clat = part.clat
                assert clat is not None
                assert (clat.n, clat.mean) == (
                    expected[name_]["clat_ns"]["N"],
                    expected[name_]["clat_ns"]["mean"],
                )
                assert len(clat.bins or {}) == len(expected[name_]["clat_ns"].get("bins", {}))


@pytest.mark.parametrize("kind", get_args(LatencyKind))
def test_a_brief_look_has_the_bins_of_one_kind_and_everything_else(kind: LatencyKind) -> None:
    part = {
        f"{each}_ns": {"max": 9, "mean": 5.5, "N": 4, "bins": {"5": 3, "9": 1}}
        for each in get_args(LatencyKind)
    }
    text = json.dumps(
        {"timestamp_ms": 5, "jobs": [{"jobname": "j", "read": {"total_ios": 4, **part}}]}
    ).encode()
    read = decode(text, kind).jobs[0].directions()["read"]
    assert read.total_ios == 4
    for name in get_args(LatencyKind):
        latency = read.latency(name)
        assert latency is not None
        assert (latency.max, latency.mean, latency.n) == (9, 5.5, 4)
        assert latency.bins == ({5: 3, 9: 1} if name == kind else None)


def test_a_unified_job_has_one_mixed_direction() -> None:
    split, mixed, both = snapshots("stream/uni-3.33")[-1].jobs
    assert list(mixed.directions()) == ["mixed"]
    assert set(split.directions()) == set(both.directions()) == {"read", "write", "trim"}


def test_latencies_are_empty_before_the_first_io() -> None:
    read = snapshots("stream/layout-3.33")[0].jobs[0].read
    assert read is not None
    assert read.clat is not None
    assert (read.clat.n, read.clat.bins, read.clat.percentile) == (0, None, None)


def test_not_a_number_is_read_as_zero() -> None:
    text = (
        b'{"timestamp_ms": 5, "jobs": [{"read": {"iops": -nan, "bw_bytes": inf, "total_ios": 3}}]}'
    )
    read = decode(text).jobs[0].read
    assert read is not None
    assert (read.iops, read.bw_bytes, read.total_ios) == (0.0, 0.0, 3)


def test_the_least_of_no_io_is_the_largest_number_that_fio_has() -> None:
    text = (
        b'{"timestamp_ms": 5, "jobs": [{"read": {"clat_ns": {"min": 18446744073709551615, "max": 0,'
        b' "N": 0}}}]}'
    )
    read = decode(text).jobs[0].read
    assert read is not None
    assert read.clat is not None
    assert read.clat.min == 2.0**64


@pytest.mark.parametrize(
    "part",
    [
        '"total_ios": -1',
        '"io_bytes": 9223372036854775808',
        '"iops": -0.5',
        '"runtime": 1e30',
        '"clat_ns": {"max": 1e300}',
        '"clat_ns": {"bins": {"1e30": 1}}',
        '"clat_ns": {"bins": {"-5": 1}}',
        '"clat_ns": {"bins": {"5": -1}}',
        '"clat_ns": {"percentile": {"99.0": -1}}',
    ],
)
def test_impossible_numbers_are_refused_with_their_key(part: str) -> None:
    with pytest.raises(SnapshotError, match=r"\$\.jobs\[0\]\.read"):
        decode(f'{{"timestamp_ms": 5, "jobs": [{{"read": {{{part}}}}}]}}'.encode())


@pytest.mark.parametrize(
    "text", [b"{}", b'{\n  "jobs" : [ {"read": 5} ]\n}', b'{\n  "150fio: io_u error\n528" : 2\n}']
)
def test_what_is_no_status_object_is_refused(text: bytes) -> None:
    with pytest.raises(SnapshotError):
        decode(text)
