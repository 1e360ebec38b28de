"""Whatever a file holds: a valid profile, or clean lines with file, line and column. Never a
traceback.

A few hundred cases each time; 10,000 with ``make soak`` (marked slow).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tui.engine.inputs.profiles import Catalogue
from tui.model.problem import UsageError
from tui.model.profile import Profile, resolve_params
from tui.model.profile_model import whole
from tui.workloads.fio.body import resolve_options

FOLDER = Path(__file__).parents[2] / "profiles"
PRESETS = [path for path in sorted(FOLDER.rglob("*.yaml")) if "baselines" not in path.parts]
NAMES = [field.alias or name for name, field in whole().model_fields.items()]
KEYS = [
    *NAMES, "global", "jobs", "default", "kind", "rw", "bs", "runtime", "directory", "percentile",
    "grid", "points",
    "set", "until", "min", "max", "spread", "items", "ranks_per_host", "metric", "size",
]  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["fio", "a/b", "4k", "{size}", "{host}", "{{", "}", "randread", "count", "size",
        "iops", "read",
                     "mdtest", "suite", "demo/quick", "5%", "10s", "all", "create", "ops"]),
    st.text(max_size=8),
)  # fmt: skip
DATA = st.dictionaries(
    st.sampled_from(KEYS),
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    ),
)


MANY = settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
NOWHERE = Catalogue(Path(tempfile.gettempdir()) / "benchtui-no-such-folder")


def judge(text: str) -> None:
    """Load a text as the catalogue does, with what it extends and holds.

    What loads can be rendered.
    """
    try:
        profile = NOWHERE.load_text(text, Path("p.yaml")).profile
        assert isinstance(profile, Profile)
        params = resolve_params(profile, {})
    except UsageError as error:
        assert error.problems
        for problem in error.problems:
            assert str(problem).startswith(f"p.yaml:{problem.line}:{problem.column}: ")
            assert "\n" not in str(problem)
        return
    resolve_options(profile, params, "h", 1)


def judge_damaged(path: Path, data: st.DataObject) -> None:
    """Cut a piece out of a good file and put something else there."""
    text = path.read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 40, len(text))))
    piece = data.draw(st.text(alphabet="a: 0[]{}\n\"'-&*!#%~\t", max_size=10))
    judge(text[:start] + piece + text[end:])


@given(DATA)
def test_any_data_is_a_profile_or_a_clean_refusal(data: dict[str, Any]) -> None:
    judge(json.dumps(data, ensure_ascii=True))


@given(st.sampled_from(PRESETS), st.data())
def test_a_damaged_preset_is_a_profile_or_a_clean_refusal(path: Path, data: st.DataObject) -> None:
    judge_damaged(path, data)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@MANY
@given(DATA)
def test_10_000_times_any_data(data: dict[str, Any]) -> None:
    judge(json.dumps(data, ensure_ascii=True))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@MANY
@given(st.sampled_from(PRESETS), st.data())
def test_10_000_times_a_damaged_preset(path: Path, data: st.DataObject) -> None:
    judge_damaged(path, data)
