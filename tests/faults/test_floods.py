"""A host that prints without end is cut off by name.

The run ends, or goes on without it, by `on_host_loss`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.test_shells import login_shell, script
from tests.lab.faults_check import problem_codes
from tests.lab.faults_run import LiveRun
from tests.lab.flood import FLOODS, LAYS_OUT, MEASURES, with_flood
from tests.lab.sshd import SSHD, SshdLab, set_env
from tui.model.event import Message
from tui.remote.stream import BURST
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e
MOST_SPOOLED = 4 * sum(BURST.values())  # what is cut off is measured a moment later


@contextmanager
def flooding(root: Path, floods: Mapping[str, str], sign: str) -> Iterator[SshdLab]:
    """Hosts that flood once their job has this sign, and one that does not."""
    if not Path(SSHD).exists():
        pytest.skip("no sshd on this machine")
    lab = SshdLab(root, hosts=len(floods) + 1)
    for host, flood in zip(lab.names, floods.values(), strict=False):
        with_flood(lab, host, flood, sign)
    with lab:
        yield lab


def run_on(lab: SshdLab, home: Path, target: Path, runtime: str, *more: str) -> LiveRun:
    return LiveRun.begin(home, lab, target, {"runtime": runtime}, *more, hosts=",".join(lab.names))


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveRun]:
    """A run, over, in which all hosts but the last one flooded in their own way while they
    measured.
    """
    root = tmp_path_factory.mktemp("floods")
    for name in ("home", "target"):
        (root / name).mkdir()
    with (
        flooding(root / "lab", FLOODS, MEASURES) as lab,
        run_on(lab, root / "home", root / "target", "8s") as run,
    ):
        run.finished()
        yield run


@pytest.mark.parametrize("name", list(FLOODS))
def test_flood_is_cut_off_by_name(flooded: LiveRun, name: str) -> None:
    host = f"h{list(FLOODS).index(name) + 1}"
    assert "flooded" in problem_codes(flooded.record(), host)
    spooled = flooded.spool.of(host)
    assert len(spooled.collected_out) + len(spooled.collected_err) < MOST_SPOOLED


def test_run_continues_without_the_hosts_that_flood(flooded: LiveRun) -> None:
    record, others = flooded.record(), f"h{len(FLOODS) + 1}"
    assert record["state"] == "partial"
    assert problem_codes(record, others) == set()
    assert list(record["steps"][0]["results"]["per_host"]) == [others]
    flooded.no_process_left()


def test_run_that_shall_lose_no_host_ends(home: Path, tmp_path: Path, target: Path) -> None:
    with (
        flooding(tmp_path / "lab", {"h1": FLOODS["lines"]}, MEASURES) as lab,
        run_on(lab, home, target, "600s", "--on-host-loss", "stop") as run,
    ):
        assert run.finished()["state"] == "partial"
        assert "flooded" in problem_codes(run.record(), "h1")


def test_layout_that_floods_is_named(home: Path, tmp_path: Path, target: Path) -> None:
    with (
        flooding(tmp_path / "lab", {"h1": FLOODS["stderr"]}, LAYS_OUT) as lab,
        run_on(lab, home, target, "5s", "--set", "size=1M") as run,
    ):
        assert run.finished()["state"] == "failed"
        assert problem_codes(run.record(), "h1") == {"flooded"}


@pytest.mark.parametrize("flood", ["exec yes", "exec yes >&2", "while :; do echo mail; done"])
def test_login_shell_that_floods_is_named(
    flood: str, home: Path, tmp_path: Path, target: Path
) -> None:
    with (
        login_shell(tmp_path / "host", script(tmp_path, f"#!/bin/sh\n{flood}\n")) as lab,
        run_on(lab, home, target, "5s") as run,
    ):
        assert run.finished()["state"] == "failed"
        assert problem_codes(run.record(), "h1") == {"flooded"}


def test_telemetry_that_floods_is_reported_once_and_the_load_continues(
    home: Path, tmp_path: Path, target: Path
) -> None:
    lab = SshdLab(tmp_path / "lab", hosts=1)
    awk = lab.root / "awk"
    # the others end
    awk.write_text('#!/bin/sh\ncase "$*" in *telemetry.awk*) exec yes ;; esac\nexec awk "$@"\n')
    awk.chmod(0o755)
    host = lab.host("h1")
    host.options = [set_env(host.root, f"BENCHTUI_AWK={awk}")]
    with lab, run_on(lab, home, target, "4s") as run:
        record = run.finished()
        told = [
            run_text(event.text)
            for event in run.of_type(Message)
            if "telemetry" in run_text(event.text) and event.severity == "warning"
        ]
    assert record["state"] == "complete", record["reason"]
    assert len(told) == 1 and "flood" in told[0]
