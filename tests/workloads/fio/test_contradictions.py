"""Figures of one fio output that contradict each other: none of an output that fio wrote."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tui.workloads.fio.contradictions import contradictions
from tui.workloads.fio.outputs import json_outputs

DATA = Path(__file__).parents[2] / "data" / "fio"
Document = dict[str, Any]
Job = dict[str, Any]


def worker(slower_ns: int) -> Job:
    """Return one of two workers: 10,000 reads of 4 KiB in 10 s, three of ten of them written."""
    clat = {
        "min": 100_000, "max": 950_000 + slower_ns, "mean": 300_000.0 + slower_ns, "stddev": 9e4,
        "N": 7000, "percentile": {"50.000000": 150_000, "99.000000": 900_000},
    }  # fmt: skip
    reads = {
        "io_bytes": 7000 * 4096, "io_kbytes": 28_000, "bw_bytes": 2_867_200, "bw": 2800,
        "iops": 700.0, "runtime": 10_000, "total_ios": 7000, "clat_ns": clat,
        "iops_min": 690, "iops_max": 710, "iops_mean": 700.0, "iops_samples": 19,
        "bw_min": 2760, "bw_max": 2840, "bw_mean": 2800.0, "bw_samples": 19,
    }  # fmt: skip
    none = {"total_ios": 0, "io_bytes": 0, "runtime": 0}
    return {
        "jobname": "j", "error": 0, "job_runtime": 10_000, "read": reads, "write": none,
        "job options": {
            "rw": "randread", "direct": "1", "numjobs": "2", "filename": "/d/f", "fsync": "8",
        },
        "sync": {"total_ios": 5, "lat_ns": {"N": 5, "mean": 1.0}},
        "latency_us": {"250": 60.0, "1000": 40.0}, "latency_ms": {"2": 0.0},
    }  # fmt: skip


def document() -> Document:
    return {
        "fio version": "fio-3.33", "timestamp": 1_795_865_745, "time": "Sat Nov 28 13:35:45 2026",
        "jobs": [worker(0), worker(1)],
        "disk_util": [{"name": "sda", "read_ios": 13_000, "read_merges": 1100, "write_ios": 1}],
    }  # fmt: skip


def kinds(found: Document, shared: Mapping[str, str] | None = None) -> list[str]:
    told = contradictions(json.dumps(found).encode(), lambda *_: shared or {})
    return sorted({each.about for host in told.values() for each in host})


def mixed(found: Document, reads: int) -> Document:
    """Make the first worker one that reads and writes 10,000 times."""
    job = found["jobs"][0]
    job["job options"] |= {"rw": "randrw", "rwmixread": "70", "fsync": "0"}
    read, job["write"] = job["read"], copy.deepcopy(job["read"])
    for part, ios in ((read, reads), (job["write"], 10_000 - reads)):
        part |= {"total_ios": ios, "io_bytes": ios * 4096, "io_kbytes": ios * 4}
        part |= {"bw": ios * 4 // 10, "bw_bytes": ios * 4096 // 10, "iops_samples": 0}
        part["bw_samples"] = 0
    found["jobs"] = [job]
    job["job options"]["numjobs"] = "1"
    del found["disk_util"]
    return found


def writing(found: Document, every: int) -> Document:
    """Make reads writes that are synced after so many of them."""
    for job in found["jobs"]:
        job["read"], job["write"] = job["write"], job["read"]
        job["job options"].update(rw="randwrite", fsync=str(every))
    del found["disk_util"]
    return found


def changed(*path: str | int, to: object) -> Callable[[Document], None]:
    def change(found: Document) -> None:
        for key in path[:-1]:
            found = found[key]  # type: ignore[index]
        found[path[-1]] = to  # type: ignore[index]

    return change


def test_what_fits_together_is_no_contradiction() -> None:
    assert kinds(document()) == []


def with_sectors(found: Document, read: int) -> Document:
    """Make fio one that prints the sectors of devices, as since 3.36."""
    found["disk_util"][0].update(read_sectors=read, write_sectors=0)
    return found


def steady(found: Document, **other: object) -> None:
    """Make the first worker attain a steady state: seconds of 690 and 710 IOPS within 2 %."""
    found["jobs"][0]["job options"]["steadystate"] = "iops:2%"
    found["jobs"][0]["steadystate"] = {
        "ss": "iops:2.000000%", "duration": 2, "attained": 1, "criterion": "1.428571%",
        "max_deviation": 10.0, "data": {"iops_mean": 700, "iops": [690, 710]},
    } | other  # fmt: skip


def grouped(found: Document, workers: str, size: str = "32m") -> None:
    """Make one entry a group of two that ran for 10 s each, and moved 27 MiB."""
    del found["jobs"][1]
    found["jobs"][0]["job_runtime"] = 20_000
    found["jobs"][0]["job options"] |= {"numjobs": workers, "runtime": "10", "size": size}


def of_group(found: Document, workers: str, ran: int) -> Document:
    """Make the first entry one of so many workers by its options, and of `ran` by its time."""
    job = found["jobs"][0]
    found["jobs"] = [job]
    job["job options"]["numjobs"] = workers
    job["job_runtime"] = ran * 10_000
    return found


def queued(found: Document, level: str) -> Document:
    """Make reads of a queue of 16 that submit at this depth."""
    for job in found["jobs"]:
        job["job options"] |= {"ioengine": "libaio", "iodepth": "16"}
        del job["job options"]["fsync"]
        names = ("1", "2", "4", "8", "16", "32", ">=64")
        job["iodepth_level"] = dict.fromkeys(names, 0.0) | {"1": 0.1, level: 99.9}
    return found


def unified(found: Document, ios: int) -> None:
    """Print reads and writes together as well."""
    for job in found["jobs"]:
        job["mixed"] = copy.deepcopy(job["read"]) | {"total_ios": ios}


def with_bins(found: Document, *counts: int, worker: int = 0) -> Document:
    part = found["jobs"][worker]["read"]
    bins = {str(110_000 + 9_000 * at): count for at, count in enumerate(counts)}
    part["clat_ns"] |= {"bins": bins}
    return found


LIES: dict[str, Callable[[Document], object]] = {
    "units": changed("jobs", 0, "read", "io_kbytes", to=36_000),
    "units of rates": changed("jobs", 0, "read", "bw", to=3600),
    "samples": changed("jobs", 0, "read", "iops_mean", to=1400.0) ,
    "sample-order": changed("jobs", 0, "read", "iops_min", to=705),
    "samples-rest": lambda found: [
        job["read"].update(iops_min=190, iops_mean=200.0, iops_max=210) for job in found["jobs"]
    ],
    "sample-spread": changed("jobs", 0, "read", "iops_stddev", to=0.5),
    "sample-pause": lambda found: [
        (job["read"].update(iops_min=0, iops_samples=15), job["read"]["clat_ns"].update(max=9e7))
        for job in found["jobs"]
    ],
    "latency-counts": lambda found: found["jobs"][0]["read"].update(
        lat_ns=found["jobs"][0]["read"]["clat_ns"] | {"N": 6900}
    ),
    "multiples": lambda found: with_bins(found, *range(3, 120, 3)),
    "depth": lambda found: queued(found, "32"),
    "depth in vain": lambda found: queued(found, "4"),
    "depth in the output": changed("jobs", 0, "iodepth_level", to={"2": 100.0}),
    "workers": lambda found: grouped(found, "16"),
    "limit": lambda found: [
        job.update(latency_target=5_000_000) or job["job options"].update(latency_target="500")
        for job in found["jobs"]
    ],
    "steady": lambda found: steady(found, ss="iops:1.000000%"),
    "steady mean": lambda found: steady(found, data={"iops_mean": 720, "iops": [690, 710]}),
    "limit of a steady state": lambda found: steady(found, ss="iops:3.000000%"),
    "unified": lambda found: unified(found, 7100),
    "elapsed": changed("jobs", 0, "elapsed", to=9),
    "longer": lambda found: [job["job options"].update(runtime="3") for job in found["jobs"]],
    "pauses": lambda found: [
        job["job options"].update(thinktime="5000", thinktime_blocks="3") for job in found["jobs"]
    ],
    "more-bytes": lambda found: (
        found["jobs"].pop(), found["jobs"][0]["job options"].update(numjobs="1", size="8m"),
    ),
    "verify": lambda found: (
        writing(found, 7000), found["jobs"].pop(),
        found["jobs"][0]["job options"].update(numjobs="1", verify="crc32c"),
    ),
    "cpu": lambda found: [
        job["job options"].update(direct="0") or job.update(usr_cpu=0.0, sys_cpu=0.0)
        or job["read"].update(io_bytes=1 << 40) for job in found["jobs"]
    ],
    "more-cpu": lambda found: [job.update(usr_cpu=60.0, sys_cpu=50.0) for job in found["jobs"]],
    "off-cpu": lambda found: [job.update(usr_cpu=1.0, sys_cpu=1.0, ctx=5) for job in found["jobs"]],
    "version": changed("fio version", to="fio-2.2.10"),
    "too-early": lambda found: found.update(timestamp=1_577_880_000, time=""),
    "share-sum": changed("jobs", 0, "latency_us", "250", to=20.0),
    "share": changed("jobs", 0, "read", "clat_ns", "percentile", "99.000000", to=200_000),
    "share of fast ones": changed("jobs", 0, "read", "clat_ns", "percentile", "50.000000", to=300_000),
    "highest-above": changed("jobs", 0, "read", "clat_ns", "max", to=1_100_000),
    "group-share": changed("jobs", 0, "read", "bw_agg", to=60.0),
    "depth-share": lambda found: [
        found["jobs"][0]["read"]["clat_ns"].update(mean=3_000_000.0),
        found["jobs"][0].update(iodepth_level={"1": 100.0, "2": 0.0}),
    ],
    "syncs": changed("jobs", 0, "sync", "total_ios", to=0),
    "syncs-due": lambda found: writing(found, 8),
    "no-ios": changed("jobs", 0, "read", "total_ios", to=0),
    "direction": lambda found: [
        job["job options"].update(rw="randwrite") for job in found["jobs"]
    ],
    "bytes": lambda found: (
        found["jobs"].pop(),
        found["jobs"][0]["job options"].update(numjobs="1", size="56m", runtime="60"),
    ),
    "mix": lambda found: mixed(found, 6000),
    "mix of a group": lambda found: [mixed(found, 6000), of_group(found, "2", 2)],
    "syncs-due of a group": lambda found: [writing(found, 4), of_group(found, "2", 2)],
    "verify of a group": lambda found: [
        writing(found, 7000),
        of_group(found, "2", 2)["jobs"][0]["job options"].update(verify="crc32c"),
    ],
    "workers of a load without a time_based that fio prints": lambda found: grouped(
        found, "4", size="10k"
    ),
    "entries": lambda found: found["jobs"].append(worker(2)),
    "copies of a histogram": lambda found: [
        with_bins(found, *range(1, 8), *range(1, 8), *range(1, 8), 6000 + 9 * at, worker=at)
        for at in range(2)
    ],
    "copies": lambda found: found.update(jobs=[worker(0), worker(0)]),
    "date": changed("time", to="Fri Nov 27 10:35:45 2026"),
    "devices": changed("disk_util", 0, "read_ios", to=4000),
    "device-bytes": lambda found: with_sectors(found, 14_000 * 8 // 4),
    "device-bytes of devices that split requests": lambda found: (
        with_sectors(found, 14_000 * 2),
        changed("disk_util", 0, "read_ios", to=50_000)(found),
    ),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_figure_changed_alone_contradicts_another(lie: str) -> None:
    found = document()
    LIES[lie](found)
    (expected,) = {name for name in (lie, lie.partition(" ")[0]) if " " not in name}
    assert expected in kinds(found)


HONEST: dict[str, Callable[[Document], object]] = {
    "a sync after every 1400 writes": lambda found: writing(found, 1400),
    "writers that verify": lambda found: [
        job["job options"].update(rw="randwrite", verify="crc32c") for job in found["jobs"]
    ],
    "a job that ends with its data": lambda found: [
        job["job options"].update(size="28000k", runtime="60") for job in found["jobs"]
    ],
    "a job that ends with its time": lambda found: [
        job["job options"].update(size="56m", runtime="10") for job in found["jobs"]
    ],
    "a flush after its time": lambda found: [
        job["job options"].update(runtime="3", end_fsync="1") for job in found["jobs"]
    ],
    "an end that workers saw late": lambda found: [
        job["job options"].update(runtime="8") for job in found["jobs"]
    ],
    "the mix within chance": lambda found: mixed(found, 6900),
    "the mix of a group within chance": lambda found: [mixed(found, 6900), of_group(found, "2", 2)],
    "the mix of several jobs": lambda found: [mixed(found, 6000), of_group(found, "2", 4)],
    "writers of several jobs, one of which verifies": lambda found: [
        writing(found, 7000),
        of_group(found, "2", 3)["jobs"][0]["job options"].update(verify="crc32c"),
    ],
    "syncs of several jobs": lambda found: [writing(found, 4), of_group(found, "2", 3)],
    "a group of all its workers": lambda found: grouped(found, "2"),
    "workers that ended with their data": lambda found: grouped(found, "4", size="10m"),
    "a full queue": lambda found: queued(found, "16"),
    "a depth that io_uring rounds up": lambda found: [
        queued(found, "16"),
        [
            job["job options"].update(ioengine="io_uring", iodepth="12")
            or job.update(latency_depth=16)
            for job in found["jobs"]
        ],
    ],
    "several jobs in one entry, with the options of the last": lambda found: (
        found["jobs"].pop(),
        found["jobs"][0]["job options"].update(name="other", rw="randwrite", numjobs="4"),
    ),
    "a steady state": steady,
    "reads alone, as the sum": lambda found: unified(found, 7000),
    "pauses that leave enough time": lambda found: [
        job["job options"].update(thinktime="4000", thinktime_blocks="3") for job in found["jobs"]
    ],
    "a rate that fills no queue": lambda found: (
        queued(found, "4"),
        [job["job options"].update(rate_iops="700") for job in found["jobs"]],
    ),
    "a worker that often waits": lambda found: [
        job.update(usr_cpu=1.0, sys_cpu=1.0, ctx=7000) for job in found["jobs"]
    ],
    "files that are closed for others": lambda found: (
        queued(found, "4"),
        [job["job options"].update(nrfiles="16", openfiles="2") for job in found["jobs"]],
    ),
    "syncs while others are in flight": lambda found: [
        queued(found, "16"),
        [
            job["read"]["clat_ns"].update(mean=22e6, max=3e7, min=20_500_000, percentile={})
            or job["sync"]["lat_ns"].update(N=5, mean=9e9, max=9.1e9)
            or job.update(latency_us={}, latency_ms={"50": 100.0})
            for job in found["jobs"][:1]
        ],
    ],
    "a limit of latency of a second worker, multiplied twice": lambda found: [
        job.update(latency_target=500_000_000) or job["job options"].update(latency_target="500")
        for job in found["jobs"]
    ],
    "a run shorter than the interval of device counters": lambda found: [
        (
            job.update(job_runtime=400),
            job["read"].update(runtime=400, iops_samples=0, bw_samples=0),
            changed("disk_util", 0, "read_ios", to=4000)(found),
        )
        for job in found["jobs"]
    ],
    "submissions without a start": lambda found: [
        queued(found, "16"),
        [
            job.update(usr_cpu=1.0, sys_cpu=1.0, ctx=5)
            or job["read"].update(slat_ns={"N": 7000, "mean": 9e8, "max": 1e9})
            for job in found["jobs"]
        ],
    ],
    "a limit of latency in microseconds": lambda found: [
        job.update(latency_target=500_000) or job["job options"].update(latency_target="500")
        for job in found["jobs"]
    ],
    "a histogram": lambda found: with_bins(found, *range(3, 120, 3), 1),
    "a group of both": lambda found: (
        found["jobs"].pop(),
        found["jobs"][0].update(job_runtime=20_000),
        found.pop("disk_util"),
    ),
    "fdatasync is not counted": lambda found: [
        (job["sync"].update(total_ios=0), job["job options"].update(fdatasync="8"))
        for job in found["jobs"]
    ],
    "buffered I/O reaches devices later": lambda found: [
        (changed("disk_util", 0, "read_ios", to=1)(found), job["job options"].update(direct="0"))
        for job in found["jobs"]
    ],
    "devices that merge requests": lambda found: (
        with_sectors(found, 14_000 * 8),
        changed("disk_util", 0, "read_ios", to=100)(found),
        changed("disk_util", 0, "read_merges", to=13_900)(found),
    ),
    "devices that split requests, and other traffic": lambda found: (
        with_sectors(found, 14_000 * 8 + 99_999),
        changed("disk_util", 0, "read_ios", to=50_000)(found),
    ),
    "devices that count no sectors": lambda found: with_sectors(found, 0),
    "a device whose sectors are not printed": lambda found: (
        with_sectors(found, 14_000),
        found["disk_util"].append({"name": "sdb", "read_ios": 1}),
    ),
    "sectors of buffered I/O": lambda found: [
        (with_sectors(found, 8), job["job options"].update(direct="0")) for job in found["jobs"]
    ],
    "devices without counters": changed("disk_util", to=[{"name": "sda"}]),
    "another time zone": changed("time", to="Sat Nov 28 19:05:45 2026"),
    "samples of a log, which was asked for without a value": lambda found: [
        job["read"].update(iops_samples=99, bw_samples=99) for job in found["jobs"]
    ],
    "an option of a log without a value": lambda found: [
        (job["job options"].update(write_bw_log=""), job["read"].update(bw_samples=40))
        for job in found["jobs"]
    ],
    "fio 3.1 prints no bw_bytes": lambda found: [
        job["read"].pop("bw_bytes") for job in found["jobs"]
    ],
    "syncs without latencies": lambda found: [
        job["sync"]["lat_ns"].update(N=0) for job in found["jobs"]
    ],
    "a sync that failed has no latency": lambda found: [
        (job["sync"].update(total_ios=6), job.update(error=5)) for job in found["jobs"]
    ],
    "syncs in flight at the end of a ramp": lambda found: [
        (job["sync"]["lat_ns"].update(N=6), job["job options"].update(ramp_time="5"))
        for job in found["jobs"]
    ],
    "I/Os that were sent in the ramp": lambda found: [
        (
            job["write"].update(io_bytes=4096, clat_ns={"N": 1}),
            job["job options"].update(ramp_time="5"),
        )
        for job in found["jobs"]
    ],
    "a group with a short member": lambda found: (
        found["jobs"].pop(),
        found["jobs"][0].update(job_runtime=11_000),
        found["jobs"][0]["read"].update(iops_samples=21, iops_mean=1400.0, iops_max=1420),
        found.pop("disk_util"),
    ),
    "I/Os completed in batches": lambda found: [
        with_bins(found, *range(4, 160, 4), worker=at)["jobs"][at]["job options"].update(
            ioengine="libaio", iodepth="16", iodepth_batch_complete_min="4"
        )
        for at in range(len(found["jobs"]))
    ],
    "another interval of samples": lambda found: [
        (job["job options"].update(iopsavgtime="100"), job["read"].update(iops_samples=99))
        for job in found["jobs"]
    ],
}


@pytest.mark.parametrize("case", HONEST)
def test_what_looks_like_it_is_none(case: str) -> None:
    found = document()
    HONEST[case](found)
    assert kinds(found) == []


def states(*ios: int, **options: str) -> set[str]:
    """Return the contradictions of states that one fio printed one after the other."""
    each = [document() for _ in ios]
    for found, count in zip(each, ios, strict=True):
        for job in found["jobs"]:
            job["job options"] |= options
            job["read"] |= {"total_ios": count}
    text = "\n".join(json.dumps(found, indent=2) for found in each)
    (output,) = json_outputs(text, "f.json")
    return {found.about for found in output.result.contradictions or ()}


def test_what_fio_counts_never_falls() -> None:
    assert "fell" in states(7100, 7000)
    assert "fell" not in states(6000, 7000)
    assert "fell" not in states(7100, 7000, ramp_time="5")  # counts anew after it


@pytest.mark.parametrize("sections", [1, 2])
def test_an_option_of_several_global_sections_is_not_known(sections: int) -> None:
    found = document()
    for job in found["jobs"]:
        del job["job options"]["rw"]
    told = ['"rw": "randread"', '"rw": "randwrite"'][-sections:]
    text = f'{json.dumps(found)[:-1]}, "global options": {{{", ".join(told)}}}}}'
    answer = contradictions(text.encode(), lambda *_: {"rw": "randwrite"})
    found_kinds = {each.about for host in answer.values() for each in host}
    assert ("direction" in found_kinds) is (sections == 1)


def test_the_sum_over_clients_is_that_of_the_clients() -> None:
    clients = [{**worker(number), "hostname": f"h{number}"} for number in range(2)]
    whole = {"jobname": "All clients", "read": {"total_ios": 14_000, "io_bytes": 14_000 * 4096}}
    found = {"fio version": "fio-3.33", "client_stats": [*clients, whole]}
    assert "clients" not in kinds(found)
    del found["client_stats"][1]  # type: ignore[attr-defined]
    assert "clients" in kinds(found)


@pytest.mark.parametrize("folder", ["batches", "cs", "errors", "human", "size", "stall", "stream"])
def test_fio_of_all_versions_contradicts_itself_nowhere(folder: str) -> None:
    looked = 0
    for path in sorted((DATA / folder).iterdir()):
        if ".stdout" not in path.name or ("json" not in path.name and folder == "size"):
            continue
        text = path.read_bytes()
        text = gzip.decompress(text) if path.suffix == ".gz" else text
        if len(text) > 3_000_000 or b'"fio version"' not in text:
            continue
        for output in json_outputs(text.decode(errors="replace"), path.name):
            looked += output.result.contradictions is not None
            assert not (output.result.final and output.result.contradictions), path.name
    assert looked


@pytest.mark.parametrize(
    ("size", "runtime", "runtime_s"),
    [
        ("28000k", "60", None),
        ("56m", "60", 60.0),  # stopped
        ("1m", "10", 10.0),  # time_based, which is not printed
    ],
)
def test_a_runtime_is_a_limit_for_jobs_that_moved_all_their_data(
    size: str, runtime: str, runtime_s: float | None
) -> None:
    found = document()
    for job in found["jobs"]:
        job["job options"].update(size=size, runtime=runtime)
    (output,) = json_outputs(json.dumps(found, indent=2), "f.json")
    assert output.runtime_s == runtime_s


def test_a_group_of_jobs_has_as_many_completion_latencies_as_its_shares() -> None:
    text = (DATA / "unusual" / "merged-3.33.json").read_text()
    assert told(json.loads(text)) == set()
    document = json.loads(text)
    (job,) = document["jobs"]
    assert job["job options"]["name"] != job["jobname"], "of two jobs"
    clat = job["read"]["clat_ns"]
    bins = sorted((int(key), count) for key, count in clat["bins"].items())
    clat["bins"] = {str(key): count for key, count in bins[: len(bins) // 2]}
    clat["N"] = sum(clat["bins"].values())
    assert "share-counts" in told(document)


def told(document: dict[str, Any]) -> set[str]:
    """Return the contradictions in a JSON object of one fio."""
    options = document.get("global options", {})
    found = contradictions(json.dumps(document).encode(), lambda *_: options)
    return {each.about for of_host in found.values() for each in of_host}


@pytest.mark.parametrize(("runtime_ms", "told"), [(0, []), (59, []), (9_000, ["elapsed"])])
def test_a_job_that_failed_or_ended_in_its_ramp_did_not_outlive_its_fio(
    runtime_ms: int, told: list[str]
) -> None:
    found = document()
    for job in found["jobs"]:
        job["elapsed"], job["job options"]["ramp_time"] = 1, "5s"
        job["read"] = {"total_ios": 16, "io_bytes": 0, "runtime": runtime_ms}
    assert [each for each in kinds(found) if each == "elapsed"] == told
