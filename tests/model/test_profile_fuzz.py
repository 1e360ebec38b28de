"""Whatever a file holds: a valid profile, or clean lines with file, line and column. Never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tui.model.problem import UsageError
from tui.model.profile import Profile, resolve_options, resolve_params
from tui.model.profile_load import load_profile

PRESETS = sorted((Path(__file__).parents[2] / "profiles").rglob("*.yaml"))
KEYS = [*Profile.model_fields, "global", "jobs", "default", "kind", "rw", "bs", "runtime", "directory", "percentile"]
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["fio", "a/b", "4k", "{size}", "{host}", "{{", "}", "randread", "count", "size", "iops", "read"]),
    st.text(max_size=8),
)  # fmt: skip
DATA = st.dictionaries(
    st.sampled_from(KEYS),
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner)),
)


def judge(text: str) -> None:
    try:
        profile = load_profile(text, "p.yaml")
    except UsageError as error:
        assert error.problems
        for problem in error.problems:
            assert str(problem).startswith(f"p.yaml:{problem.line}:{problem.column}: ")
            assert "\n" not in str(problem)
        return
    assert isinstance(profile, Profile)
    resolve_options(profile, resolve_params(profile, {}), "h", 1)


@settings(max_examples=150, deadline=None)
@given(DATA)
def test_any_data_is_a_profile_or_a_clean_refusal(data: dict[str, Any]) -> None:
    judge(json.dumps(data, ensure_ascii=True))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PRESETS), st.data())
def test_a_damaged_preset_is_a_profile_or_a_clean_refusal(path: Path, data: st.DataObject) -> None:
    """Cut a piece out of a good file and put something else there."""
    text = path.read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 40, len(text))))
    piece = data.draw(st.text(alphabet="a: 0[]{}\n\"'-&*!#%~\t", max_size=10))
    judge(text[:start] + piece + text[end:])
