"""Every fio preset runs for real, scaled down, on two SSH hosts: with real fio, on files and on
block devices.

The presets go as suites, several side by side, each with hosts of its own: one second a
measurement. One of each family and shape runs with every change, the others with `make soak`.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, only_run, start
from tests.lab.disks import loop_device
from tests.lab.sshd import SSHD, SshdLab
from tests.patience import PATIENCE_S
from tests.profiles.catalogue import (
    AERODISK,
    CEPH,
    DERIVED,
    MAPR,
    METADATA,
    VITASTOR,
    WEKA,
    WEKATESTER,
    WORKLOADS,
    Options,
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # the first test waits for the runs of all

RAW = [tag for tag in VITASTOR if "/raw-" in tag]
ON_FILE = [tag for tag in VITASTOR if tag.endswith("-file")]
BY_SIZE = [tag for tag in WORKLOADS if tag not in VITASTOR]
PRESETS = [*BY_SIZE, *ON_FILE, *RAW, *DERIVED, "demo/quick"]
QUICK = [
    ["aerodisk/oltp-4k-70r30w", "ceph/randread", "mapr/nfs-randwrite-256k-4c", "weka/read-latency"],
    [
        next(iter(METADATA)),
        "vitastor/read-4k-t12q128-file",
        "vitastor/raw-randwrite",
        "wekatester/mixed-bandwidth",
    ],
]
# hosts that measure for a second may miss each other on a busy machine
APART = {"start-skew", "never-together"}
REST = [tag for tag in PRESETS if tag not in QUICK[0] + QUICK[1]]
OTHERS = [tag for tag in REST if tag not in (*METADATA, *DERIVED)]
# files are there once created, and a checkpoint once written
WRITTEN = sorted(DERIVED, key="ai/checkpoint-restore".__eq__)
SLOW = [[*METADATA, *OTHERS[::3]], OTHERS[1::3], OTHERS[2::3], WRITTEN]

SMALL = {"runtime": "1s", "numjobs": "2", "size": "4M"}
AT_ONCE = {**SMALL, "startdelay": "0"}
SCALES: dict[str, Options] = {
    **dict.fromkeys(MAPR, SMALL),
    **{tag: {**SMALL, "bs": "16k"} for tag in CEPH},
    **{tag: {"runtime": "1s", "ramp": "1s", "numjobs": "2", "iodepth": "4"} for tag in AERODISK},
    **{tag: {"runtime": "1s", "size": "16M", "threads": "3", "iodepth": "4"} for tag in ON_FILE},
    **{tag: {"runtime": "1s", "threads": "2", "iodepth": "4"} for tag in RAW},
    **dict.fromkeys(WEKA, AT_ONCE),
    **{tag: {**AT_ONCE, "ramp": "1s"} if "wekawithin" in tag else AT_ONCE for tag in WEKATESTER},
    **{tag: {"numjobs": "2", "nrfiles": "500"} for tag in METADATA},
    **{f"ai/checkpoint-{name}": {"numjobs": "2", "size": "16M"} for name in ("write", "restore")},
    "ai/kv-cache": {**SMALL, "size": "8M", "chunk": "1M"},
    "ai/training-large-samples": {**SMALL, "nrfiles": "3"},
    "ai/training-small-samples": {**SMALL, "nrfiles": "3"},
    "ai/vector-search": SMALL,
    "apps/database-log": {**SMALL, "log_size": "4M"},
    "apps/video-ingest": SMALL,
    "apps/vm-boot-storm": SMALL,
    "demo/quick": SMALL,
}


def quick_or_slow(tags: Sequence[str]) -> list[Any]:
    return [pytest.param(tag, marks=[pytest.mark.slow] if tag in REST else []) for tag in tags]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The steps of the records of some presets, by preset."""
    with contextlib.ExitStack() as stack:
        yield steps_of(stack, tmp_path_factory, QUICK)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The steps of the records of all other presets, by preset."""
    with contextlib.ExitStack() as stack:
        yield steps_of(stack, tmp_path_factory, SLOW)


def steps_of(
    stack: contextlib.ExitStack, factory: pytest.TempPathFactory, groups: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Run groups of presets side by side and return their measurements, by preset."""
    if not Path(SSHD).exists():
        pytest.skip("no sshd on this machine")
    runs = [start_group(stack, factory.mktemp("group"), tags) for tags in groups]
    return {step["profile"]: step for run in runs for step in record_of(run)["steps"]}


def start_group(
    stack: contextlib.ExitStack, root: Path, tags: Sequence[str]
) -> subprocess.Popen[str]:
    """Start presets as a suite on two hosts of their own."""
    lab = stack.enter_context(SshdLab(root / "lab", hosts=2))
    places, devices = targets(stack, root, tags)
    (suite := root / "suite.yaml").write_text(
        suite_text({tag: {**SCALES[tag], **places[tag]} for tag in tags})
    )
    (home := root / "home").mkdir()
    agreed = [word for path in devices for word in ("--destroy", path)]
    hosts = ["--hosts", "h[1-2]", "--ssh-config", str(lab.ssh_config)]
    process = start(home, "run", suite, *hosts, *agreed, "--yes", "--json")
    stack.callback(end, process)
    return process


def targets(
    stack: contextlib.ExitStack, root: Path, tags: Sequence[str]
) -> tuple[Mapping[str, Options], Sequence[str]]:
    """Where each preset goes: a directory of its own, or devices of this group.

    And these devices.
    """
    own = {tag: root / shared_by(tag) for tag in tags}
    for directory in own.values():
        directory.mkdir(exist_ok=True)
    luns = [device(stack, root / name) for name in ("a.img", "b.img") if AERODISK.keys() & tags]
    drives = [device(stack, root / "drive.img") for _ in (1,) if set(RAW) & set(tags)]
    places: dict[str, Options] = {
        tag: {"directory": str(directory)} for tag, directory in own.items()
    }
    places |= {
        tag: dict(zip(("lun_a", "lun_b"), luns, strict=True)) for tag in tags if tag in AERODISK
    }
    places |= {tag: {"target": str(own[tag] / "image")} for tag in tags if tag in ON_FILE}
    for tag in [tag for tag in tags if tag in RAW]:
        places[tag] = {
            "target": drives[0],
            "size": "100%" if drives[0].startswith("/dev/loop") else "16M",
        }
    return places, [*luns, *drives]


def shared_by(tag: str) -> str:
    """Return the name of the directory in which a preset finds what those before it left."""
    if tag in METADATA:
        return "files"
    return "checkpoint" if tag.startswith("ai/checkpoint") else tag.replace("/", "-")


def device(stack: contextlib.ExitStack, image: Path) -> str:
    """A loop device; a file in its place where there is none to be had."""
    try:
        return stack.enter_context(loop_device(image))
    except pytest.skip.Exception:
        path = (
            Path("/dev/shm")
            / f"benchtui-test-{image.parent.parent.name}-{image.parent.name}-{image.name}"
        )
        path.write_bytes(bytes(32 << 20))
        stack.callback(path.unlink, missing_ok=True)
        return str(path)


def suite_text(members: Mapping[str, Options]) -> str:
    """A suite of presets with values of parameters."""
    rows = [f"  - {json.dumps({'profile': tag, 'set': values})}" for tag, values in members.items()]
    head = [
        "profile: test/scaled-down",
        "title: Scaled down",
        "tool: suite",
        "allow_device: true",
        "suite:",
    ]
    return "\n".join([*head, *rows]) + "\n"


def record_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (0, 1), err + out[-2000:]
    record: dict[str, Any] = json.loads(out)
    assert record["state"] == "complete", record["reason"]
    errors = {finding["id"] for finding in record["findings"] if finding["severity"] == "error"}
    why = [each["message"] for each in record["findings"] if each["severity"] == "error"]
    assert errors <= APART and process.returncode == bool(errors), (errors, why)
    return record


def end(process: subprocess.Popen[str]) -> None:
    """Stop a run that is still going: without Ctrl+C its engine would go on by itself."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def step(request: pytest.FixtureRequest, tag: str) -> dict[str, Any]:
    """What was measured of a preset."""
    found: dict[str, Any] = request.getfixturevalue("slow" if tag in REST else "quick")[tag]
    return found


@pytest.mark.parametrize("tag", quick_or_slow(PRESETS))
def test_a_preset_does_io_on_both_hosts_and_has_a_figure(step: dict[str, Any], tag: str) -> None:
    results = step["results"]["per_host"]
    assert set(results) == set(step["tasks"]) == {"h1", "h2"}
    assert all(any(part["ios"] for part in host.values()) for host in results.values())
    assert step["errors"] == []
    assert step["headline"] > 0


@pytest.mark.parametrize("tag", quick_or_slow(ON_FILE))
def test_three_threads_are_spread_as_two_and_one(step: dict[str, Any], tag: str) -> None:
    assert step["in_flight"] == 3 * 4


@pytest.mark.parametrize("tag", quick_or_slow([*METADATA]))
def test_every_file_is_one_operation(step: dict[str, Any], tag: str) -> None:
    assert [host["read"]["ios"] for host in step["results"]["per_host"].values()] == [
        2 * 500,
        2 * 500,
    ]


def test_clean_removes_the_files_that_a_create_has_left(home: Path, tmp_path: Path) -> None:
    (target := tmp_path / "target").mkdir()
    settings = [f"directory={target}", "nrfiles=300", "numjobs=2"]
    created = benchtui(
        home,
        "run",
        "fio-metadata/create",
        "--hosts",
        "local",
        *(word for each in settings for word in ("--set", each)),
    )
    assert created.returncode == 0, created.stderr
    assert len([path for path in target.rglob("f.*") if path.is_file()]) == 600
    cleaned = benchtui(home, "clean", only_run(home).name, "--yes")
    assert (cleaned.returncode, list(target.iterdir())) == (0, []), cleaned.stderr
