"""Preconditioning for real: filled twice, rounds until steady or not, left out, stopped, resumed,
taken over.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, comm, marked_processes
from tests.e2e.test_matrix import events, last_run, wait_for_the_end
from tests.e2e.test_recovery import kill_engine, record_of
from tests.lab.disks import SIZE, loop_device
from tests.lab.sshd import SshdLab
from tests.long.lies import nbd
from tests.patience import wait_until
from tui.model.operands import clause

pytestmark = pytest.mark.e2e

PROFILE = """\
profile: my/pre
title: Writes with preconditioning
tool: fio
params:
  directory: {default: DIRECTORY, kind: directory}
  round: {default: 1s, kind: duration}
fio:
  global: {ioengine: psync, time_based: 1, runtime: 1s, size: 1000k, directory: "{directory}/{host}", rate_iops: 50}
  jobs: {w: {rw: randwrite, bs: 4k, PACE}}
prepare: {precondition: {fill: 2, rounds: 5, round: "{round}", window: 3, range: 60%, slope: 60%}, cleanup: CLEAN}
headline: {metric: iops, direction: write}
"""
# the gaps between I/Os are of an exponential distribution
BURSTS = "rate_iops: 20, rate_process: poisson"
SLOW_FILL = ("size: 1000k", "size: 24M"), ("fill: 2", "fill: 10, bs: 512")


@pytest.fixture(autouse=True)
def nothing_stays(home: Path) -> Iterator[None]:
    yield
    for run_dir in (home / "runs").iterdir():
        assert not marked_processes(run_dir.name)
        assert not list(Path("/tmp").glob(f".benchtui-*/{run_dir.name}"))


def profile(
    tmp_path: Path, *changes: tuple[str, str], pace: str = "thinktime: 0", clean: str = "true"
) -> Path:
    text = PROFILE.replace("DIRECTORY", str(tmp_path)).replace("PACE", pace).replace("CLEAN", clean)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "pre.yaml"
    path.write_text(text)
    return path


def states(record: dict[str, Any]) -> list[str]:
    return [step["state"] for step in record["steps"]]


def findings(record: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [each for each in record["findings"] if each["id"] == name]


def test_a_steady_load_is_measured_once_its_window_is_full(home: Path, tmp_path: Path) -> None:
    done = benchtui(home, "run", profile(tmp_path), "--hosts", "local")
    assert done.returncode == 0, done.stderr
    record = record_of(last_run(home))
    assert states(record) == ["done"] * 4 + ["skipped"] * 2 + ["done"]
    (fill,), (rounds,) = record["precondition"]["fills"], record["precondition"]["rounds"]
    assert (fill["times"], fill["bytes"], fill["whole"]) == (2, 2 * 1000 * 1024, True)
    assert (rounds["attained"], rounds["steps"], rounds["most"]) == (True, [1, 2, 3], 5)
    assert rounds["values"] == pytest.approx(
        [record["steps"][index]["headline"] for index in (1, 2, 3)], abs=0.001
    )
    assert record["headline"]["step"] == 6
    assert findings(record, "precondition") == []
    assert "precondition" in record["checks"]


def test_a_fill_writes_every_byte_of_its_files_as_often_as_planned(
    home: Path, tmp_path: Path
) -> None:
    done = benchtui(home, "run", profile(tmp_path, clean="false"), "--hosts", "local")
    assert done.returncode == 0, done.stderr
    written = record_of(last_run(home))["steps"][0]["results"]["per_host"]["local"]["write"]
    assert written["bytes"] == 2 * 1000 * 1024
    blocks = (tmp_path / "local" / "w.0.0").read_bytes()
    assert len(blocks) == 1000 * 1024
    assert [
        at for at in range(0, len(blocks), 4096) if blocks[at : at + 4096].count(0) == 4096
    ] == []


@pytest.mark.slow
def test_a_load_whose_rate_changes_is_measured_with_a_warning_that_has_the_figures(
    home: Path, tmp_path: Path
) -> None:
    strict = (
        ("range: 60%", "range: 1%"),
        ("slope: 60%", "slope: 1%"),
        ("rate_iops: 50", "thinktime: 0"),
    )
    path = profile(tmp_path, *strict, pace=BURSTS)
    done = benchtui(home, "run", path, "--hosts", "local")
    assert done.returncode == 0, done.stderr
    record = record_of(last_run(home))
    assert states(record) == ["done"] * 7
    (rounds,) = record["precondition"]["rounds"]
    assert (rounds["attained"], len(rounds["values"])) == (False, 5)
    last = rounds["values"][-3:]
    assert rounds["range"] == pytest.approx((max(last) - min(last)) / (sum(last) / 3), rel=1e-3)
    assert rounds["slope"] == pytest.approx(abs(last[2] - last[0]) / (sum(last) / 3), rel=1e-3)
    (finding,) = findings(record, "precondition")
    assert (finding["severity"], finding["scope"]) == ("warning", {"step": 6})
    assert (finding["code"], finding["operands"]["rounds"]) == ("not-steady", 5)
    assert "not steady after 5 rounds" in done.stdout


def test_rounds_are_judged_over_all_hosts_together(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    done = benchtui(
        home, "run", profile(tmp_path), "--hosts", "h[1-2]", "--ssh-config", str(lab.ssh_config)
    )
    assert done.returncode == 0, done.stderr
    record = record_of(last_run(home))
    (rounds,) = record["precondition"]["rounds"]
    for value, index in zip(rounds["values"], rounds["steps"], strict=True):
        hosts = record["steps"][index]["results"]["per_host"]
        assert value == pytest.approx(
            hosts["h1"]["write"]["iops"] + hosts["h2"]["write"]["iops"], abs=0.01
        )


def test_a_launch_without_it_says_so(home: Path, tmp_path: Path) -> None:
    done = benchtui(home, "run", profile(tmp_path), "--hosts", "local", "--no-precondition")
    assert done.returncode == 0, done.stderr
    record = record_of(last_run(home))
    assert (states(record), record["precondition"]["left_out"]) == (["done"], True)
    assert [each["severity"] for each in findings(record, "precondition")] == ["warning"]


@pytest.mark.slow
def test_a_device_is_filled_only_when_it_was_named(home: Path, tmp_path: Path) -> None:
    """The load itself only reads it."""
    with loop_device(tmp_path / "image") as device:
        path = profile(
            tmp_path,
            (f"  directory: {{default: {tmp_path}, kind: directory}}\n", ""),
            ('directory: "{directory}/{host}"', f"filename: {device}, offset: 1M"),
            ("rw: randwrite", "rw: randread"),
            ("direction: write", "direction: read"),
            ("headline:", "allow_device: true\nheadline:"),
        )
        refused = benchtui(home, "run", path, "--hosts", "local", "--yes")
        assert refused.returncode == 3
        assert f"--destroy {device}" in refused.stderr
        done = benchtui(home, "run", path, "--hosts", "local", "--destroy", device)
        assert done.returncode == 0, done.stderr
        image = Path(device).read_bytes()
    assert len(image) == SIZE
    filled = image[2**20 : 2**20 + 1000 * 1024 // (128 * 1024) * 128 * 1024]
    assert (image[: 2**20].count(0), filled.count(bytes(4096))) == (2**20, 0)


@pytest.mark.slow
def test_a_run_that_is_stopped_in_a_round_makes_the_rounds_again_and_not_the_fill(
    home: Path, tmp_path: Path
) -> None:
    path = profile(tmp_path, clean="false")
    started = benchtui(home, "run", path, "--hosts", "local", "--detach", "--set", "round=8s")
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(
        lambda: any(event["step"] == 1 for event in events(run_dir, "sample")), "samples of a round"
    )
    assert benchtui(home, "stop", run_dir.name).returncode == 0
    wait_for_the_end(run_dir)
    cut = record_of(run_dir)
    assert states(cut) == ["done", "cut", *["missing"] * 5]
    assert cut["precondition"]["rounds"][0]["attained"] is None
    assert benchtui(home, "runs", "resume", run_dir.name).returncode == 0
    record = record_of(run_dir)
    assert record["state"] == "complete"
    assert [step["attempt"] for step in record["steps"][:4]] == [1, 2, 1, 1]
    assert record["precondition"]["rounds"][0]["attained"] is True


@pytest.mark.slow
def test_a_fill_that_was_cut_off_is_made_again(home: Path, tmp_path: Path) -> None:
    path = profile(tmp_path, *SLOW_FILL)
    started = benchtui(home, "run", path, "--hosts", "local", "--detach")
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: bool(events(run_dir, "sample")), "samples of the fill")
    assert benchtui(home, "stop", run_dir.name).returncode == 0
    wait_for_the_end(run_dir)
    assert states(record_of(run_dir))[:2] == ["cut", "missing"]
    assert benchtui(home, "runs", "resume", run_dir.name).returncode == 0
    record = record_of(run_dir)
    assert (record["state"], record["steps"][0]["attempt"]) == ("complete", 2)


@pytest.mark.slow
def test_a_fill_that_fails_ends_the_run_before_anything_is_measured(
    home: Path, tmp_path: Path
) -> None:
    started = benchtui(home, "run", profile(tmp_path, *SLOW_FILL), "--hosts", "local", "--detach")
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: bool(events(run_dir, "sample")), "samples of the fill")
    for pid in fio_of(run_dir.name):
        os.kill(pid, signal.SIGKILL)
    wait_for_the_end(run_dir)
    record = record_of(run_dir)
    assert (record["state"], states(record)) == ("failed", ["failed", *["missing"] * 6])
    assert record["reason"] == clause("not-filled", hosts=["local"], run_id=run_dir.name)
    resumed = benchtui(home, "runs", "resume", "--failed", run_dir.name)
    assert resumed.returncode == 0, resumed.stderr
    assert record_of(run_dir)["steps"][0]["attempt"] == 2


def fio_of(run_id: str) -> list[int]:
    return [pid for pid in marked_processes(run_id) if comm(pid) == "fio"]


@pytest.mark.slow
def test_an_engine_that_dies_in_a_round_leaves_its_rounds_to_the_next(
    home: Path, tmp_path: Path
) -> None:
    started = benchtui(
        home, "run", profile(tmp_path), "--hosts", "local", "--detach", "--set", "round=6s"
    )
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(
        lambda: any(event["step"] == 2 for event in events(run_dir, "sample")),
        "samples of the second round",
    )
    kill_engine(run_dir)
    recovered = benchtui(home, "runs", "recover")
    assert recovered.returncode == 0, recovered.stderr
    record = record_of(run_dir)
    assert states(record) == ["done"] * 4 + ["skipped"] * 2 + ["done"]
    assert [step["attempt"] for step in record["steps"]] == [1] * 4 + [1] * 3
    assert record["precondition"]["rounds"][0]["attained"] is True


def test_conditions_are_kept_with_user_and_time_or_named_as_not_attested(
    home: Path, tmp_path: Path
) -> None:
    asks = (
        "attest:\n  - {id: cache-off, question: Is it off?}\n  - {id: quiet, question: Is it"
        " quiet?}\nheadline:"
    )
    path = profile(tmp_path, ("headline:", asks))
    done = benchtui(
        home, "run", path, "--hosts", "local", "--no-precondition", "--attest", "cache-off=yes"
    )
    assert done.returncode == 0, done.stderr
    record = record_of(last_run(home))
    first, second = record["attested"]
    assert (first["id"], first["answer"], bool(first["by"]), first["utc"][-1]) == (
        "cache-off",
        "yes",
        True,
        "Z",
    )
    assert (second["id"], second["answer"], second["by"], second["utc"]) == (
        "quiet",
        "unknown",
        None,
        None,
    )
    assert [each["operands"] for each in findings(record, "attest")] == [{"conditions": ["quiet"]}]
    assert findings(record, "no-flush") == []
    assert "yes: Is it off? (cache-off, " in done.stdout


WHOLE = {at << 20: 1 << 20 for at in range(nbd.SIZE >> 20)}  # bytes by offset
IMAGE = """\
profile: own/image
title: An image that no host has a file of
tool: fio
fio:
  global: {{ioengine: nbd, uri: "{uri}", direct: 1, time_based: 1, runtime: 1s, rate_iops: 50}}
  jobs: {{r: {{rw: randread, bs: 4k}}}}
prepare: {{precondition: {{fill: 1, bs: 1m, rounds: 0}}}}
headline: {{metric: iops, direction: read}}
"""


async def test_an_image_is_written_whole_through_its_engine_once_it_was_named(
    home: Path, tmp_path: Path
) -> None:
    image = nbd.Server(0, 0)
    serving = await asyncio.start_server(image.serve, "127.0.0.1", 0)
    uri = f"nbd://127.0.0.1:{serving.sockets[0].getsockname()[1]}/"
    (tmp_path / "image.yaml").write_text(IMAGE.format(uri=uri))
    words = ("run", tmp_path / "image.yaml", "--hosts", "local", "--yes", "--json")
    refused = await asyncio.to_thread(benchtui, home, *words)
    assert (refused.returncode, image.written) == (3, {}) and f"--destroy {uri}" in refused.stderr
    done = await asyncio.to_thread(benchtui, home, *words, "--destroy", uri)
    assert done.returncode == 0, done.stderr
    assert image.written == WHOLE
    assert json.loads(done.stdout)["precondition"]["fills"][0]["whole"]
    serving.close()


class Broken(nbd.Server):
    """A server whose images are broken at first: what is written there ends with EIO.

    Told apart by their port.
    """

    broken = True

    async def transmit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Refuse the first write; once it is mended, answer like any other."""
        if not self.broken:
            await super().transmit(reader, writer)
            return
        _, _, kind, handle, _, length = struct.unpack(">IHHQQI", await reader.readexactly(28))
        await reader.readexactly(length if kind == nbd.WRITE else 0)
        writer.write(struct.pack(">IIQ", nbd.REPLY, errno.EIO, handle))
        await writer.drain()


@pytest.mark.slow
async def test_an_image_whose_fill_failed_on_one_of_two_hosts_is_filled_again(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    """Each host has an image of its own; that of the second one is broken at first."""
    well, broken = nbd.Server(0, 0), Broken(0, 0)
    first = await asyncio.start_server(well.serve, "127.0.0.1", 0)
    port = first.sockets[0].getsockname()[1]
    second = await asyncio.start_server(broken.serve, "127.0.0.2", port)
    (tmp_path / "image.yaml").write_text(IMAGE.format(uri=f"nbd://127.0.0.{{host_index}}:{port}/"))
    named = [word for at in (1, 2) for word in ("--destroy", f"nbd://127.0.0.{at}:{port}/")]
    hosts: list[str | Path] = ["--hosts", "h[1-2]", "--ssh-config", lab.ssh_config]
    failed = await asyncio.to_thread(
        benchtui, home, "run", tmp_path / "image.yaml", *hosts, "--yes", *named
    )
    run_dir = last_run(home)
    record = record_of(run_dir)
    assert (failed.returncode, record["state"], states(record)) == (
        4,
        "failed",
        ["failed", "missing"],
    ), failed.stderr
    assert record["reason"] == clause("not-filled", hosts=["h2"], run_id=run_dir.name)
    assert record["verdict"] is None, "only the fill was measured, on one host"
    again = await asyncio.to_thread(benchtui, home, "runs", "resume", run_dir.name)
    assert (again.returncode, record_of(run_dir)["reason"]) == (4, record["reason"]), again.stderr
    broken.broken = False
    resumed = await asyncio.to_thread(benchtui, home, "runs", "resume", "--failed", run_dir.name)
    assert resumed.returncode == 0, resumed.stderr
    record = record_of(run_dir)
    assert (record["state"], states(record), record["steps"][0]["attempt"]) == (
        "complete",
        ["done", "done"],
        2,
    )
    assert well.written == broken.written == WHOLE
    assert record["precondition"]["fills"][0]["whole"]
    assert findings(record, "tool-errors") == []
    first.close()
    second.close()


class Held(nbd.Server):
    """A server that answers the first writes of a fill (fio has 32 in flight) and holds the others
    until let go.
    """

    answered = 8

    def __init__(self) -> None:
        super().__init__(0, 0)
        self.let_go = asyncio.Event()

    async def _later(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        if len(self.written) > self.answered:
            await self.let_go.wait()
        with suppress(ConnectionError):  # whoever asked may be dead by then
            await super()._later(writer, answer)

    async def begun(self, home: Path, profile: Path) -> Path:
        """Begin a run that fills the image, and return its directory when a part of it is
        written.
        """
        serving = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        uri = f"nbd://127.0.0.1:{serving.sockets[0].getsockname()[1]}/"
        profile.write_text(IMAGE.format(uri=uri))
        words = (
            "run",
            profile,
            "--hosts",
            "local",
            "--yes",
            "--destroy",
            uri,
            "--detach",
            "--no-telemetry",
        )
        started = await asyncio.to_thread(benchtui, home, *words)
        run_dir = home / "runs" / started.stdout.strip()
        await asyncio.to_thread(
            wait_until, lambda: len(self.written) > self.answered, "a part of the image"
        )
        return run_dir


@pytest.mark.slow
async def test_an_image_whose_engine_dies_while_it_is_filled_is_filled_to_its_end(
    home: Path, tmp_path: Path
) -> None:
    image = Held()
    run_dir = await image.begun(home, tmp_path / "image.yaml")
    await asyncio.to_thread(kill_engine, run_dir)
    image.let_go.set()
    recovered = await asyncio.to_thread(benchtui, home, "runs", "recover", run_dir.name)
    assert recovered.returncode == 0, recovered.stderr
    record = record_of(run_dir)
    assert (states(record), [step["attempt"] for step in record["steps"]]) == (
        ["done", "done"],
        [1, 1],
    )
    assert record["precondition"]["fills"][0]["whole"]
    assert image.written == WHOLE


@pytest.mark.slow
async def test_an_image_that_was_left_half_filled_is_reported_and_filled_from_its_start(
    home: Path, tmp_path: Path
) -> None:
    """Engine and load die together, as when the machine of both goes down."""
    image = Held()
    run_dir = await image.begun(home, tmp_path / "image.yaml")
    await asyncio.to_thread(kill_engine, run_dir)
    for pid in fio_of(run_dir.name):
        os.kill(pid, signal.SIGKILL)
    recovered = await asyncio.to_thread(benchtui, home, "runs", "recover", run_dir.name)
    record = record_of(run_dir)
    assert (recovered.returncode, record["state"], states(record)) == (
        4,
        "failed",
        ["failed", "missing"],
    )
    unfilled = clause("not-filled", hosts=["local"], run_id=run_dir.name)
    assert record["reason"] == clause("engine-died", why=unfilled)
    assert not record["precondition"]["fills"][0]["whole"] and len(image.written) < len(WHOLE)
    image.written.clear()
    image.let_go.set()
    resumed = await asyncio.to_thread(benchtui, home, "runs", "resume", "--failed", run_dir.name)
    assert resumed.returncode == 0, resumed.stderr
    record = record_of(run_dir)
    assert (states(record), [step["attempt"] for step in record["steps"]]) == (
        ["done", "done"],
        [2, 1],
    )
    assert record["precondition"]["fills"][0]["whole"]
    assert image.written == WHOLE
