"""What rwping printed on two hosts, through the whole contract of benchtui."""

from __future__ import annotations

from pathlib import Path

from benchtui_rwping.workload import RwPing  # type: ignore[import-not-found]  # of benchtui's checkout

from tui.testing import replay

HERE = Path(__file__).parents[1]


def test_recorded_output_keeps_the_contract() -> None:
    outputs = {"h1": HERE / "recorded" / "h1.out", "h2": HERE / "recorded" / "h2.out"}
    replay(RwPing, HERE / "mixed.yaml", outputs)
