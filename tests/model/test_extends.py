"""A profile that extends another one says only what differs."""

from __future__ import annotations

import pytest

from tui.model.problem import UsageError
from tui.model.profile import Profile
from tui.model.profile_load import load_profile

BASE = """\
profile: base/read
version: 4
title: Base
description: A base
tool: fio
params:
  directory: {default: /mnt/t, kind: directory}
  runtime: {default: 300s, kind: duration, help: Measured time}
fio:
  global: {ioengine: psync, directory: "{directory}", runtime: "{runtime}", time_based: 1}
  jobs:
    r: {rw: randread, bs: 4k, numjobs: 8, size: 1G}
headline: {metric: latency, direction: read, percentile: 99}
"""


def find(tag: str) -> tuple[str, str]:
    texts = {
        "base/read": BASE,
        "a/a": "profile: a/a\nextends: b/b\n",
        "b/b": "profile: b/b\nextends: a/a\n",
    }
    if tag not in texts:
        raise UsageError(f"unknown profile '{tag}'")
    return texts[tag], f"{tag}.yaml"


def extending(*lines: str) -> Profile:
    return load_profile(
        "\n".join(["profile: my/read", "extends: base/read", *lines, ""]), "my.yaml", find
    )


def refusal(*lines: str) -> str:
    with pytest.raises(UsageError) as caught:
        extending(*lines)
    return str(caught.value)


def test_two_values_are_changed_in_four_lines() -> None:
    profile = extending("params: {runtime: 60s}", "fio: {jobs: {r: {bs: 8k}}}")
    assert profile.params["runtime"].default == "60s"
    assert profile.params["runtime"].help == "Measured time"
    assert profile.body.jobs["r"] == {"rw": "randread", "bs": "8k", "numjobs": 8, "size": "1G"}


def test_what_is_not_said_is_as_it_is_in_the_base() -> None:
    profile = extending()
    assert (profile.title, profile.tool, profile.body.shared["ioengine"]) == (
        "Base",
        "fio",
        "psync",
    )


def test_name_and_version_are_not_inherited() -> None:
    assert (extending().profile, extending().version) == ("my/read", 1)


def test_a_headline_is_replaced_whole() -> None:
    assert extending("headline: {metric: iops, direction: read}").headline.percentile is None


def test_a_parameter_may_be_added_and_used() -> None:
    profile = extending(
        "params: {bs: {default: 16k, kind: size}}", 'fio: {jobs: {r: {bs: "{bs}"}}}'
    )
    assert profile.body.jobs["r"]["bs"] == "{bs}"


def test_a_value_may_be_taken_away() -> None:
    assert extending("description: ").description is None


def test_a_bad_default_is_found_where_it_is_written() -> None:
    assert refusal("params: {runtime: soon}").startswith("my.yaml:3:")


def test_an_unknown_base_is_an_error_at_its_place() -> None:
    with pytest.raises(UsageError) as caught:
        load_profile("profile: my/x\nextends: base/red\n", "my.yaml", find)
    assert str(caught.value) == "my.yaml:2:10: extends: unknown profile 'base/red'"


def test_profiles_that_extend_each_other_are_an_error() -> None:
    with pytest.raises(UsageError) as caught:
        load_profile("profile: a/a\nextends: b/b\n", "my.yaml", find)
    assert "is a loop" in str(caught.value)


def test_what_else_is_wrong_is_reported_when_the_extended_profile_is_not_there() -> None:
    text = """\
profile: my/x
extends: no/such
titel: x
params: {runtime: 30s}
repeat: many
fio:
  global: {iodeepth: 4}
headline: {metric: speed, direction: read}
"""

    def base(tag: str) -> tuple[str, str]:
        raise UsageError(f"unknown profile '{tag}'")

    with pytest.raises(UsageError) as caught:
        load_profile(text, "x.yaml", base)
    assert [
        (problem.line, problem.message.split(";")[0].split(" (")[0])
        for problem in caught.value.problems
    ] == [
        (2, "extends: unknown profile 'no/such'"),
        (3, "unknown key 'titel'"),
        (5, "repeat: found 'many'"),
        (7, "unknown fio option 'iodeepth'"),
        (8, "headline.metric: found 'speed'"),
    ]
