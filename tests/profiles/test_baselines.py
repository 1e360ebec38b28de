"""Every published figure is shipped, in the units it was printed in, and nothing else is."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.profiles.test_presets import NO_USER
from tui.engine.inputs.profiles import Catalogue
from tui.model.baseline import Baseline, load_baselines
from tui.model.paths import presets_dir
from tui.model.quantities import parse_size

ROOT = Path(__file__).parents[2]
PUBLISHED: list[dict[str, Any]] = json.loads(
    (ROOT / "tests" / "data" / "published.json").read_text()
)
FILES = sorted((presets_dir() / "baselines").glob("*.yaml"))
SHIPPED = [each for path in FILES for each in load_baselines(path.read_text(), str(path))]
UNIT = {
    "GiB/s": 2.0**30,
    "GB/s": 1e9,
    "MB/s": 1e6,
    "MB/s (as labelled)": 1e6,
    "ops/s": 1.0,
    "iops": 1.0,
    "%": 1.0,
}
OPERATIONS = {
    "creates": "create", "stats": "stat", "deletes": "remove", "File creation": "create",
    "File stat": "stat",
    "File read": "read", "File removal": "remove", "Tree creation": "tree-create",
    "Tree removal": "tree-remove",
}  # fmt: skip
# Latencies of a raw drive stand in brackets behind IOPS; the list of figures has the IOPS.
BESIDE = {("vitastor/raw-randread", 66_000.0), ("vitastor/raw-randwrite", 15_000.0)}
Expected = tuple[str, float]  # key of the figure, SI value


def of(collection: str, tail: str, **wanted: object) -> Baseline:
    """The one baseline of a profile that has these values."""
    found = [
        each
        for each in SHIPPED
        if each.profile == f"{collection}/{tail}"
        and not each.computed
        and all(getattr(each, name) == value for name, value in wanted.items())
    ]
    assert len(found) == 1, (collection, tail, wanted, len(found))
    return found[0]


def home_of(record: dict[str, Any]) -> tuple[Baseline, list[Expected]]:
    """The baseline that must hold a published record, and the figures that it must have."""
    return {"mapr": mapr, "weka": weka, "ceph": ceph, "vitastor": vitastor, "aerodisk": aerodisk}[
        record["source"]
    ](record)


def mapr(record: dict[str, Any]) -> tuple[Baseline, list[Expected]]:
    name = record["workload"].removeprefix("mapr-") + ("-4c" if record["clients"] == 4 else "")
    return of("mapr", name, host=record["host"], hosts=record["clients"]), fio_figures(
        record["fio"]
    )


def weka(record: dict[str, Any]) -> tuple[Baseline, list[Expected]]:
    name = record["workload"].removeprefix("weka-")
    if "fio" in record:
        name = {"all-clients": "read-throughput"}.get(name, name)
        return of("weka", name, kind="sample", hosts=record["clients"]), fio_figures(record["fio"])
    if "max" in record:
        key = f"{OPERATIONS[record['metric']]} ops"
        return of("weka", name, kind="sample"), [
            (f"{key} {part}", record[part]) for part in STATISTICS
        ]
    hosts = 1 if record["scope"] == "single-client" else None
    baseline = of("weka", name, setup=record["config"].lower(), hosts=hosts)
    if "metric" in record:
        return baseline, [(f"{OPERATIONS[record['metric']]} ops mean", record["value"])]
    way, _, what = name.partition("-")
    if what == "latency":
        p99_5 = (f"{way} latency p99.5", record["p99_5_us"] * 1e3)
        return baseline, [(f"{way} latency mean", record["value"] * 1e3), p99_5]
    metric = "bandwidth" if what == "throughput" else "iops"
    return baseline, [(f"{way} {metric}", record["value"] * UNIT[record["unit"]])]


def ceph(record: dict[str, Any]) -> tuple[Baseline, list[Expected]]:
    printed = {"numjobs": record["numjobs"], "bs": parse_size(record["bs"])}
    name = record["workload"].removeprefix("ceph-")
    value = record["value"] * UNIT[record["unit"]]
    found = [
        each
        for each in SHIPPED
        if (each.profile, each.setup) == (f"ceph/{name}", record["config"])
        and printed_at(each) == printed
    ]
    if len(found) == 2:  # the source has two rows for 4k with 16 jobs
        found = [each for each in found if each.figures[0].quantity.value == value]
    (baseline,) = found
    return baseline, [(f"{name.removeprefix('rand')} bandwidth", value)]


def printed_at(baseline: Baseline) -> dict[str, int]:
    return {
        name: parse_size(value)
        for name, value in {**baseline.at, **baseline.result.printed_at}.items()
    }


def vitastor(record: dict[str, Any]) -> tuple[Baseline, list[Expected]]:
    if record["system"] == "raw":
        return raw_drive(record)
    name = record["workload"].removeprefix("vitastor-").lower()
    name = (
        re.sub(r" t(\d+) q(\d+)$", r"-t\1q\2", name)
        if "4k" in name
        else name.removesuffix(" t6 q16")
    )
    protection, _, network = re.sub(r"[ +]", "-", record["config"].lower()).partition("-/-")
    baseline = of("vitastor", name.replace(" ", "-"), setup=f"{protection}-{network}")
    way = "read" if "read" in name else "write"
    metric = f"{way} {'bandwidth' if 'linear' in name else 'iops'}"
    key = {
        "perf": metric,
        "cpu_osd_per_disk": "osd_per_disk cpu",
        "cpu_per_fio_client": "fio_client cpu",
    }
    return baseline, [(key[record["metric"]], record["value"] * UNIT[record["unit"]])]


def raw_drive(record: dict[str, Any]) -> tuple[Baseline, list[Expected]]:
    _, kind, *rest = record["workload"].split()
    if kind == "Linear":
        low, _, high = record["value"].partition("-")
        key = f"{rest[0]} bandwidth"
        limits = [(f"{key} low", float(low) * 1e6), (f"{key} high", float(high or low) * 1e6)]
        return of("vitastor", f"raw-linear-{rest[0]}"), limits
    threads, iodepth = map(int, re.findall(r"\d+", kind))
    at = {"threads": threads, "iodepth": iodepth}
    return of("vitastor", f"raw-rand{rest[1]}", at=at), [
        (f"{rest[1]} iops", float(record["value"]))
    ]


def aerodisk(record: dict[str, Any]) -> tuple[Baseline, list[Expected]]:
    baseline = of("aerodisk", record["workload"].removeprefix("aerodisk-"))
    if "iops" in record:
        cpu = ("controllers cpu", record["storage_cpu_pct"])
        return baseline, [
            ("mixed iops", record["iops"]),
            ("mixed latency mean", record["latency_ms"] * 1e6),
            cpu,
        ]
    if "seqwrite" in record["workload"]:
        latency = ("write latency mean", record["latency_ms"] * 1e6)
        return baseline, [("write bandwidth", record["bandwidth_GBps"] * 1e9), latency]
    return baseline, [("read bandwidth low", 5e9), ("read bandwidth high", 6e9)]


STATISTICS = ("min", "max", "mean", "stddev")


def fio_figures(fio: dict[str, Any]) -> list[Expected]:
    """What fio printed, as SI values."""
    way = fio["dir"]
    number, unit = re.match(r"([\d.]+)([KMG]i)", fio["bw_printed"]).groups()  # type: ignore[union-attr]
    power = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}[unit]
    figures = [(f"{way} iops", fio["iops_printed"]), (f"{way} bandwidth", float(number) * power)]
    for kind in ("slat", "clat", "lat"):
        figures += [
            (f"{way} {kind} {name}", value) for name, value in fio.get(f"{kind}_ns", {}).items()
        ]
    percentiles = fio.get("clat_percentiles_ns", {})
    figures += [(f"{way} clat p{float(name):g}", value) for name, value in percentiles.items()]
    return [
        *figures,
        ("fio_usr cpu", fio["cpu_pct"]["usr"]),
        ("fio_sys cpu", fio["cpu_pct"]["sys"]),
    ]


def values_of(baseline: Baseline) -> dict[str, float]:
    """The figures of a baseline; a range by its ends."""
    found = {}
    for figure in baseline.figures:
        if figure.quantity.value is not None:
            found[figure.key] = figure.quantity.value
        found[f"{figure.key} low"], found[f"{figure.key} high"] = (
            figure.quantity.low,
            figure.quantity.high,
        )
    return found


def test_there_are_220_published_figures() -> None:
    assert len(PUBLISHED) == 220
    assert [path.stem for path in FILES] == ["aerodisk", "ceph", "mapr", "vitastor", "weka"]


@pytest.mark.parametrize("place", range(220))
def test_every_published_figure_is_shipped_with_its_value(place: int) -> None:
    baseline, expected = home_of(PUBLISHED[place])
    shipped = values_of(baseline)
    assert expected
    assert {key: shipped.get(key) for key, _ in expected} == {
        key: pytest.approx(value) for key, value in expected
    }


def test_nothing_is_shipped_that_was_not_published() -> None:
    expected = {
        (id(baseline), key) for baseline, keys in map(home_of, PUBLISHED) for key, _ in keys
    }
    assert Counter(id(baseline) for baseline, _ in map(home_of, PUBLISHED)).keys() == {
        id(each) for each in SHIPPED if not each.computed
    }
    ranges = {(which, key.removesuffix(" low")) for which, key in expected if key.endswith(" low")}
    more = {
        (each.profile, figure.quantity.value)
        for each in SHIPPED
        for figure in each.figures
        if not each.computed and (id(each), figure.key) not in expected | ranges
    }
    assert more == BESIDE


FIO_RUNS = [record for record in PUBLISHED if "fio" in record]


@pytest.mark.parametrize(
    "record", FIO_RUNS, ids=lambda record: f"{record['workload']}-{record.get('host')}"
)
def test_what_fio_printed_beside_the_figures_is_kept(record: dict[str, Any]) -> None:
    baseline, _ = home_of(record)
    fio, result = record["fio"], baseline.result
    printed = getattr(result, fio["dir"])
    assert (result.jobs, printed.ios, printed.bw_samples) == (
        fio["jobs"],
        fio["total_ios"],
        fio["bw_samples"],
    )
    assert printed.runtime.value == pytest.approx(fio["runtime_ms"] / 1000)
    assert printed.moved.printed == fio["io_printed"]
    assert str(baseline.date).split() == fio["ended"].split()
    assert (baseline.error or "0") == fio["err"]
    assert printed.bandwidth.printed == fio["bw_printed"]


def test_the_sum_of_the_four_clients_is_added_up_and_says_so() -> None:
    (total,) = (each for each in SHIPPED if each.computed)
    assert total.profile == "mapr/nfs-randwrite-256k-4c"
    assert values_of(total)["write iops"] == 656 + 331 + 414 + 798
    assert "summed by benchtui" in total.label
    assert {figure.metric for figure in total.figures} == {"iops", "bandwidth"}


def doubts(tail: str) -> str:
    return " ".join(
        doubt for each in SHIPPED if each.profile.endswith(tail) for doubt in each.doubts
    )


DOUBTS = [
    ("nfs-randread-8k", "EIO"),
    ("nfs-randread-8k", "94.3"),
    ("nfs-randwrite-256k-4c", "60 s apart"),
    ("oltp-4k-70r30w", "1139"),
    ("seqread-128k", "pictures"),
    ("ceph/randread", "4k; 53, 111, 218, 432"),
    ("ceph/randread", "MB/s may be MiB/s"),
    ("weka/mdtest", "not one that mdtest 1.9.3 prints"),
    ("read-4k-t12q128", "the clients were the limit"),
]


@pytest.mark.parametrize(("profile", "words"), DOUBTS)
def test_doubts_go_with_the_figures(profile: str, words: str) -> None:
    assert words in doubts(profile)


def test_the_read_that_ended_with_an_error_is_marked() -> None:
    assert [each.profile for each in SHIPPED if each.validity == "error"] == [
        "mapr/nfs-randread-8k"
    ]


def test_tcp_reads_of_vitastor_with_a_full_core_are_marked_and_the_others_are_not() -> None:
    for each in SHIPPED:
        if (
            each.profile.startswith("vitastor/")
            and "read" in each.profile
            and "raw" not in each.profile
        ):
            core = values_of(each).get("fio_client cpu", 0) >= 99
            assert any("clients were the limit" in doubt for doubt in each.doubts) == core


def test_fast_reads_at_the_speed_of_the_network_are_marked() -> None:
    marked = [each for each in SHIPPED if any("it was the limit" in doubt for doubt in each.doubts)]
    assert {(each.setup, each.at["numjobs"], each.at["bs"]) for each in marked} == {
        ("fast", 8, "1m"), ("fast", 16, "1m"), ("fast", 16, "128k"),
    }  # fmt: skip


def test_a_unit_that_may_be_another_widens_the_figure() -> None:
    ceph_4k = (
        of("ceph", "randread", setup="slow", at={"numjobs": 1, "bs": "4k"}).figures[0].quantity
    )
    assert (ceph_4k.printed, ceph_4k.value, ceph_4k.low, ceph_4k.high) == (
        "4 MB/s",
        4e6,
        4e6,
        4 * 2.0**20,
    )


def test_every_baseline_belongs_to_a_profile_and_names_its_parameters() -> None:
    catalogue = Catalogue(NO_USER)
    for each in {(each.profile, each.variants): each for each in SHIPPED}.values():
        for tag in (each.profile, *each.variants):
            params = set(catalogue.load(tag).profile.params)
            assert {*each.params, *each.at} <= params, tag


def test_baselines_are_no_profiles() -> None:
    assert not [entry for entry in Catalogue(NO_USER).list() if "baselines" in entry.path.parts]


def test_no_line_is_too_long_to_read() -> None:
    assert [
        path.name for path in FILES for line in path.read_text().splitlines() if len(line) > 120
    ] == []
