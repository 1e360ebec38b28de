"""Objects that the load counts have to go over the links of its hosts.

Checks of files do not apply to them.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from tests.judge.test_interference import MB, seen
from tests.samples.evidence import direction, evidence, found
from tui.judge.catalogue import CHECKS
from tui.judge.check import RunEvidence, UnknownError
from tui.judge.severity import Moot
from tui.model.plan import JobLoad

GETS = JobLoad("get", ("read",), objects=True)
DELETES = JobLoad("delete", ("trim",), objects=True)


def run(job: JobLoad, counted: float, links: Mapping[str, float]) -> RunEvidence:
    """Return a run that counted so many bytes a second, and what its host's links carried."""
    dirs = {name: direction(1000.0, 1e6, bw_bytes_per_s=counted) for name in job.directions}
    return evidence({"h1": dirs}, jobs=[job], telemetry=[seen("h1", links)])


@pytest.mark.parametrize(
    ("carried", "severity"),
    [(101 * MB, []), (94 * MB, []), (80 * MB, ["warning"]), (0.3 * MB, ["error"])],
)
def test_bytes_of_objects_that_no_link_carried_were_not_got(
    carried: float, severity: list[str]
) -> None:
    at = run(GETS, 100 * MB, {"nic.eth0.rx": carried, "nic.eth0.tx": 900 * MB})
    assert [each.severity for each in found("object-traffic", at)] == severity


@pytest.mark.parametrize(
    ("threshold", "severity"),
    [("object-traffic.moved", []), ("storage-traffic.moved", ["warning"])],
)
def test_objects_have_a_threshold_of_their_own(threshold: str, severity: list[str]) -> None:
    at = run(GETS, 100 * MB, {"nic.eth0.rx": 80 * MB})
    lenient = replace(at, plan=replace(at.plan, thresholds={threshold: 0.7}))
    assert [each.severity for each in found("object-traffic", lenient)] == severity


def test_links_of_a_host_are_added_up() -> None:
    assert not found(
        "object-traffic", run(GETS, 100 * MB, {"nic.eth0.rx": 50 * MB, "nic.eth1.rx": 52 * MB})
    )


@pytest.mark.parametrize(
    ("job", "links"),
    [
        (DELETES, {"nic.eth0.tx": 1 * MB}),
        (GETS, {}),
        (JobLoad("r", ("read",)), {"nic.eth0.rx": 0.0}),
    ],
)
def test_without_objects_that_move_or_without_links_nothing_is_reported(
    job: JobLoad, links: dict[str, float]
) -> None:
    with pytest.raises(UnknownError):
        found("object-traffic", run(job, 100 * MB, links))


def test_checks_of_files_do_not_apply_to_objects() -> None:
    of_files = {check.id for check in CHECKS if check.of_files}
    assert {"storage-traffic", "no-flush", "direct-io", "working-set", "io-limit"} <= of_files
    for name in of_files:
        with pytest.raises(UnknownError, match=Moot.OBJECTS):
            found(name, run(GETS, 100 * MB, {}))
