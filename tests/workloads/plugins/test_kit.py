"""The kit for plug-ins names the mistakes that are planted in copies of the example."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.plugins.conftest import PACKAGE
from tui.testing import CODES, ContractError, Output, replay

PROFILE = PACKAGE / "synced-writes.yaml"
RECORDED = PACKAGE / "recorded" / "h1.out"
PLANTED = {
    "a histogram of another type": ("lat=waits.buckets", "lat={}", "plug-in"),
    "a histogram of all so far": ("lat=waits.buckets",
        "lat=histogram([ns for _, ns in self._all]).buckets",
                                  "histogram-count"),
    "time runs backwards": ("host_time_ms=now_s * 1000", "host_time_ms=(10**10 - now_s) * 1000",
        "time"),
    "intervals that overlap": ("float(now_s - self._sampled_s), now_s",
        "float(now_s - self._begin_s), now_s", "time"),
    "samples after the end": ("end_ms=self._sampled_s * 1000", "end_ms=self._begin_s * 1000",
        "after-end"),
    "counts below 0": ("ios=len(new)", "ios=len(new) - 10**6", "plug-in"),
    "counts since the begin": ("ios=len(new)", "ios=len(self._all)", "contradiction"),
    "lines cut by pieces": ("self._lines.feed(data)",
        "data.decode(errors='replace').split(chr(10))", "chunks"),
    "a result of other I/O": ("            ios, done, seconds", "            2 * ios, done, seconds",
        "contradiction"),
    "a rate in another unit": ("seconds, ios / seconds", "seconds, ios * 1000 / seconds", "rate"),
    "an exception at the end": ("return []", "raise KeyError('end')", "plug-in"),
    "an exception in the result": ("done = sum(", "done = 1 // 0 + sum(", "plug-in"),
    "a planned direction that is missing": ('dirs={"write": written}', 'dirs={"read": written}',
        "direction"),
    "a direction that is none": ('dirs={"write": written}', 'dirs={"written": written}',
        "direction"),
    "the maximum of the interval": ("for _, ns in self._all), default=0)",
    "for _, ns in new), default=0)", "maximum"),
    "a sum in another unit": ("lat_sum_ns=sum(ns", "lat_sum_ns=sum(ns // 1000", "latency-sum"),
    "percentiles by number": ("waits.percentiles(at_most=max(waits_ns))", "{99.0: 1}", "plug-in"),
    "always final": ("final=self._ended and exit_code == 0", "final=True", "too-final"),
    "never final": ("final=self._ended and exit_code == 0", "final=False", "not-final"),
    "a result that is used up": ("return HostResult(",
        "self._all = self._all[:-1]\n        return HostResult(",
                                 "asked-twice"),
    "no samples": ("if now_s == self._sampled_s:", "if True:", "no-samples"),
    "no result": ("if not self._all:", "if True:", "no-result"),
    "a clock in the result": ("tool_version=self._version",
        "tool_version=str(__import__('time').time_ns())", "chunks"),
    "state that readers share": ("self._all: list[tuple[int, int]] = []", "self._all = SHARED",
        "chunks"),
}  # fmt: skip


def planted(folder: Path, name: str, *changes: tuple[str, str, str]) -> Any:
    """The class of a copy of the example with other code in a file of it."""
    package = f"planted_{re.sub('[^a-z]', '_', name.lower())}"
    shutil.copytree(PACKAGE / "benchtui_ddsync", folder / package)
    for file, right, wrong in changes:
        path = folder / package / file
        text = path.read_text()
        assert right in text
        path.write_text(text.replace(right, wrong) + "\n\nSHARED: list[tuple[int, int]] = []\n")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{package}.workload").DdSync
    finally:
        sys.path.remove(str(folder))


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_named(name: str, tmp_path: Path) -> None:
    right, wrong, code = PLANTED[name]
    with pytest.raises(ContractError) as told:
        replay(planted(tmp_path, name, ("reader.py", right, wrong)), PROFILE, RECORDED)
    assert code in told.value.codes <= set(CODES), str(told.value)
    assert "load generator ddsync" in str(told.value)


def test_a_search_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    kind = planted(
        tmp_path,
        "searched",
        ("workload.py", "minimum_version =", "searched = True\n    minimum_version ="),
    )
    with pytest.raises(ContractError) as told:
        replay(kind, PROFILE, RECORDED)
    assert told.value.codes == {"capacity"}


def test_a_check_of_a_target_with_a_command_that_is_not_required_is_named(tmp_path: Path) -> None:
    asks = "lambda *_: [__import__('tui').workloads.base.TargetCheck('store', ('ask',), 'ask')]"
    kind = planted(
        tmp_path,
        "asks",
        ("workload.py", "minimum_version =", f"target_checks = {asks}\n    minimum_version ="),
    )
    with pytest.raises(ContractError) as told:
        replay(kind, PROFILE, RECORDED)
    assert told.value.codes == {"target-check"}


def test_a_plan_that_breaks_the_contract_is_named(tmp_path: Path) -> None:
    kind = planted(
        tmp_path, "steps", ("workload.py", 'directions=["write"]', 'directions=("write",)')
    )
    with pytest.raises(ContractError) as told:
        replay(kind, PROFILE, RECORDED)
    assert told.value.codes == {"plug-in"} and "directions" in str(told.value)


def test_sound_output_gives_plan_samples_and_record(tmp_path: Path) -> None:
    found = replay(
        planted(tmp_path, "sound"),
        PROFILE,
        {"a": RECORDED, "b": Output(RECORDED.read_bytes(), b"", 0)},
    )
    assert [host.name for host in found.plan.hosts] == ["a", "b"]
    writes = RECORDED.read_text().count("copied")
    assert found.record.steps[0].results.aggregate["write"].ios == 2 * writes
    assert sum(sample.dirs["write"].ios for sample in found.read["a"].samples) == writes


def test_the_kit_needs_no_test_framework(tmp_path: Path) -> None:
    code = "import sys, tui.testing; print('pytest' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "False"
