"""Whatever a job file holds: profiles that load, or clean lines with file and line. Never a
traceback.

A few hundred cases each time; 10,000 with ``make soak`` (marked slow).
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tui.model.problem import UsageError
from tui.model.profile import Profile, resolve_params
from tui.model.profile_load import load_profile
from tui.workloads.fio.jobfile import render
from tui.workloads.fio.jobimport import import_job
from tui.workloads.fio.option_table import by_name

MANY = settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
ENVIRON = {"SIZE": "1G", "DIR": "/mnt/t", "ODD": "{x}: #", "EMPTY": ""}
VALUES = st.one_of(
    st.sampled_from([
        "4k", "1", "0", "60", "4KiB", "1.5g", "1h30m", "50%", "randrw", "/mnt/t", "/dev/sdb",
        "/a:/b", "a\\:b", "psync",
        "null", "${SIZE}", "${DIR}/x", "${ODD}", "${EMPTY}", "${GONE}", "$jobname.$jobnum", "{",
            "}}", "{host}",
        "x ; y", "~", "yes", "filecreate", "external:/x.so", "4k,8k", "zipf:1.2", "$ncpus", "010",
        "1e3", "a: b", "- a",
        "'", '"',
    ]),
    st.integers().map(str),
    st.text(max_size=12),
)  # fmt: skip
NAMES = st.one_of(
    st.sampled_from(
        [
            "rw",
            "bs",
            "blocksize",
            "size",
            "runtime",
            "time_based",
            "stonewall",
            "directory",
            "filename",
        ]
    ),
    st.sampled_from(
        [
            *sorted(by_name()),
            "include",
            "brand_new",
            "wait_for",
            "exec_prerun",
            "-x",
            "global",
            "name",
        ]
    ),
    st.text(max_size=6),
)
LINES = st.one_of(
    st.tuples(NAMES, st.sampled_from(["=", " = ", ""]), VALUES).map("".join),
    st.sampled_from(
        ["[global]", "[global2]", "[a]", "[b c]", "[a/b:c]", "[/dev/sdb]", "[]", "[x", "; note", ""]
    ),
    st.text(max_size=15),
)
FILES = st.lists(LINES, max_size=14).map("\n".join)
SENSIBLE = st.lists(
    st.one_of(
        st.sampled_from(["[global]", "[a]", "[a]", "[b c]", "[a/b:c]", "[/dev/sdb]", "stonewall",
            "time_based"]),
        st.tuples(st.sampled_from(["rw", "bs", "size", "runtime", "directory", "filename",
            "numjobs", "comment"]),
                  st.just("="), VALUES).map("".join),
    ),
    max_size=14,
).map(lambda lines: "\n".join(["[global]", "ioengine=psync", "size=1m", *lines,
    "[z]"]))  # fmt: skip


def judge(text: str) -> None:
    try:
        found = import_job(text, "x.fio", "my/x", ENVIRON)
    except UsageError as error:
        assert error.problems
        for problem in error.problems:
            assert str(problem).startswith(f"x.fio:{problem.line}: ")
            assert "\n" not in str(problem)
            assert problem.line is not None
            assert 1 <= problem.line <= text.count("\n") + 1
        return
    assert found.profiles
    for tag, written in found.profiles:
        profile = load_profile(written, "x.yaml")
        assert isinstance(profile, Profile)
        assert profile.profile == tag
        if profile.tool == "fio":
            render(profile, resolve_params(profile, {}), "local", 1, None)


@given(FILES)
def test_any_file_is_profiles_or_a_clean_refusal(text: str) -> None:
    judge(text)


@given(SENSIBLE)
def test_a_file_that_is_nearly_right_is_profiles_or_a_clean_refusal(text: str) -> None:
    judge(text)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@MANY
@given(FILES)
def test_10_000_times_any_file(text: str) -> None:
    judge(text)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@MANY
@given(SENSIBLE)
def test_10_000_times_a_file_that_is_nearly_right(text: str) -> None:
    judge(text)
