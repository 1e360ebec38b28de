"""Bytes of the load and of the kernel, compared between the same two samples of telemetry."""

from __future__ import annotations

import pytest

from tests.samples.evidence import direction, evidence, found, said
from tui.judge import traffic
from tui.judge.check import RunEvidence
from tui.model.figure_record import SeriesColumns, SeriesRecord
from tui.model.plan import BlockShare, JobLoad
from tui.model.step_record import HostTelemetryRecord, TelemetryColumn

MB = 1e6


def ran(
    told: list[float], counted: list[float | None], *, offset_s: float = 0.4, block: int = 4096
) -> RunEvidence:
    """Return a load that told these bytes each second; the kernel counted these, sampled
    `offset_s` after the begin of each second.
    """
    known = [each for each in counted if each is not None]
    host = HostTelemetryRecord(
        host="h1",
        start_s=20.0,
        end_s=20.0 + len(told),
        t_s=[20.0 + offset_s + at for at in range(1, len(counted) + 1)],
        interval_s=[1.0] * len(counted),
        devices={"sda": "top"},
        columns=[
            TelemetryColumn(
                name="gen.read_bytes",
                unit="bytes_per_s",
                mean=sum(known) / len(known),
                max=max(known),
                values=counted,
            ),
            TelemetryColumn(name="gen.procs", unit="number", mean=5.0, max=5.0, constant=5.0),
        ],
    )
    mean = sum(told) / len(told)
    series = SeriesRecord(
        start_s=20.0,
        columns=[
            SeriesColumns(host="h1", direction="read", iops=[1.0] * len(told), bw_bytes_per_s=told)
        ],
    )
    return evidence(
        {"h1": {"read": direction(mean / 4096, 1e6, bw_bytes_per_s=mean)}},
        jobs=[
            JobLoad("a", ("read",), direct=True, blocks={"read": (BlockShare(block, block, 1.0),)})
        ],
        telemetry=[host],
        series=series,
        runtime_s=float(len(told)),
        measured_s=float(len(told)),
    )


@pytest.mark.parametrize("seconds", [7, 10, 60])
@pytest.mark.parametrize("share", [1.0, 0.96, 0.91, 0.83])
def test_bytes_that_the_kernel_did_not_count_are_seen_in_short_loads(
    seconds: int, share: float
) -> None:
    rates = [300 * MB + 5 * MB * (at % 3) for at in range(seconds)]
    at = ran(rates, [share * rate for rate in rates[:-1]])
    assert bool(said("storage-traffic", at)) is (share < 0.95)


@pytest.mark.parametrize("offset_s", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(
    "rates",
    [
        [900.0, 300.0, 300.0, 300.0, 300.0, 300.0, 900.0],  # both ends fall into a change
        [100.0, 500.0, 100.0, 500.0, 100.0, 500.0, 100.0],
        [0.0, 0.0, 0.0, 800.0, 0.0, 0.0, 0.0],
    ],
)
def test_a_load_that_changes_at_a_sample_is_uncertain_not_false(
    rates: list[float], offset_s: float
) -> None:
    # within each second the whole I/O is done at its end
    counted: list[float | None] = [each * MB for each in rates[:-1]]
    at = ran([each * MB for each in rates], counted, offset_s=offset_s)
    assert said("storage-traffic", at) == []


def test_samples_of_unknown_processes_are_left_out() -> None:
    rates = [300 * MB] * 12
    known: list[float | None] = [None, None, *[0.9 * 300 * MB] * 4, None, *[0.9 * 300 * MB] * 4]
    assert said("storage-traffic", ran(rates, known))


@pytest.mark.parametrize(("known", "expected"), [(True, "error"), (False, "warning")])
def test_bytes_that_agree_between_samples_prove_a_slow_clock(
    monkeypatch: pytest.MonkeyPatch, known: bool, expected: str
) -> None:
    at = ran([300 * MB] * 13, [300 * MB] * 12)
    dirs = at.steps[0].results.per_host["h1"]
    dirs["read"] = dirs["read"].model_copy(update={"bw_bytes_per_s": 400 * MB})
    monkeypatch.setattr(traffic, "is_on_time", lambda *_: not known)
    (finding,) = found("storage-traffic", at)
    assert (finding.severity, (finding.code or "").startswith("clock")) == (expected, known)


def test_processes_that_have_ended_are_left_out() -> None:
    rates = [300 * MB] * 12
    at = ran(rates, [*[300 * MB] * 10, 0.0])
    procs = at.steps[0].telemetry[0].column("gen.procs")
    assert procs is not None and said("storage-traffic", at) != []
    procs.values, procs.constant = [*[5.0] * 10, 0.0], None
    assert said("storage-traffic", at) == []
