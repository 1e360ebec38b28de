"""A run with telemetry of one client, made by hand, and what limited it."""

from __future__ import annotations

from typing import Any

from tests.samples.evidence import direction, evidence
from tui.judge.bottleneck import bottleneck_of
from tui.judge.check import RunEvidence, StepEvidence
from tui.judge.wording import worded
from tui.model.plan import JobLoad
from tui.model.step_record import HostTelemetryRecord, TelemetryColumn


def looked(facts: Any = None, *, quiet: Any = None, **means: Any) -> RunEvidence:
    """Return a run with telemetry of one client.

    `_` in names stands for a dot, `quiet` is of before the load.
    """
    columns = [
        *(
            TelemetryColumn(name=name.replace("_", ".", 1), unit="number", mean=mean, max=mean)
            for name, mean in means.items()
        ),
        *(
            TelemetryColumn(name=name, unit="number", values=[mean] * 5)
            for name, mean in (quiet or {}).items()
        ),
    ]
    host = HostTelemetryRecord(
        host="h1",
        start_s=0.0,
        end_s=60.0,
        columns=columns,
        devices={"sda": "top"},
        quiet=5 if quiet else 0,
    )
    read = direction(1000.0, 4e6, bw_bytes_per_s=100e6)
    return evidence(
        {"h1": {"read": read}},
        jobs=[JobLoad("r", ("read",), direct=True)],
        facts=facts,
        telemetry=[host],
    )


def limit(at: RunEvidence) -> tuple[str, str]:
    bottleneck = bottleneck_of(StepEvidence(at, at.plan.steps[0], at.steps[0]))
    assert bottleneck is not None
    return bottleneck.kind, worded(bottleneck.text)
