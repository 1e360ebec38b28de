from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tui.model.problem import UsageError
from tui.model.profile import Profile, resolve_params
from tui.model.profile_load import load_profile
from tui.model.profile_model import profile_file_schema, profile_json_schema
from tui.model.quantities import parse_duration, parse_size
from tui.workloads.fio.body import resolve_options

TEXT = """\
profile: test/x
title: A test
tool: fio
allow_device: true
params:
  directory: {default: /mnt/t, kind: directory}
  device: {default: /dev/nvme0n1, kind: device}
  runtime: {default: 5m, kind: duration}
  size: {default: 4G, kind: size, min: 1M, max: 1T}
  numjobs: {default: 8, kind: count, max: 256}
  theta: {default: 1.2, kind: number}
  direct: {default: true, kind: flag}
  pattern: {default: randread, kind: choice, choices: [randread, randwrite]}
  note: {default: x, kind: text}
fio:
  global:
    ioengine: psync
    directory: "{directory}/{host}"
    runtime: "{runtime}"
    direct: "{direct}"
    thread:
    lat_percentiles: true
  jobs:
    a:
      rw: "{pattern}"
      numjobs: "{numjobs}"
      size: "{size}"
      bs: 4k
      random_distribution: "zipf:{theta}"
      description: "{{literal}} {note}"
      filename_format: f.{host_index}.$jobnum
    b: {rw: randread, filename: "{device}"}
headline: {metric: iops, direction: read}
"""
PROFILE: Profile = load_profile(TEXT, "p.yaml")


def params_refusal(**given: str) -> str:
    with pytest.raises(UsageError) as caught:
        resolve_params(PROFILE, given)
    return str(caught.value)


def test_defaults_are_bytes_seconds_and_plain_values() -> None:
    assert resolve_params(PROFILE, {}) == {
        "directory": "/mnt/t", "device": "/dev/nvme0n1", "runtime": 300.0, "size": 4 << 30,
        "numjobs": 8,
        "theta": 1.2, "direct": True, "pattern": "randread", "note": "x",
    }  # fmt: skip


def test_what_is_given_wins() -> None:
    values = resolve_params(
        PROFILE,
        {
            "directory": "/mnt//u/",
            "runtime": "1h30m",
            "size": "128m",
            "numjobs": "1",
            "direct": "no",
            "theta": "2",
        },
    )
    assert values["directory"] == "/mnt/u"
    assert (values["runtime"], values["size"], values["numjobs"]) == (5400.0, 128 << 20, 1)
    assert (values["direct"], values["theta"]) == (False, 2)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sise", "4G",
            "unknown parameter 'sise' (did you mean 'size'?); test/x has: directory, device, runtime, size, "
                       "numjobs, theta, direct, pattern, note"),
        ("size", "4Q",
            "parameter 'size': '4Q' is not a size; expected bytes as a whole number, or a number with k, m, g, t or "
                       "p (powers of 1024), such as 4k, 128G"),
        ("size", "0", "parameter 'size': '0' is not allowed; must be greater than 0"),
        ("size", "4k", "parameter 'size': '4k' is not allowed; expected at least 1M"),
        ("size", "2T", "parameter 'size': '2T' is not allowed; expected at most 1T"),
        ("runtime", "0", "parameter 'runtime': '0' is not allowed; must be greater than 0"),
        ("runtime", "5min",
            "parameter 'runtime': '5min' is not a duration; expected seconds, or a number with us, ms, s, m, h "
                            "or d, such as 300s, 15m, 1h30m"),
        ("numjobs", "0",
            "parameter 'numjobs': '0' is not a count; expected a whole number of 1 or more"),
        ("numjobs", "1.5",
            "parameter 'numjobs': '1.5' is not a count; expected a whole number of 1 or more"),
        ("numjobs", "257", "parameter 'numjobs': '257' is not allowed; expected at most 256"),
        ("theta", "nan", "parameter 'theta': 'nan' is not a number"),
        ("direct", "perhaps",
            "parameter 'direct': 'perhaps' is not a flag; expected yes, no, true, false, on, off, "
                              "1, 0"),
        ("pattern", "trim",
            "parameter 'pattern': 'trim' is not allowed; expected one of randread, randwrite"),
        ("directory", "mnt/t",
            "parameter 'directory': 'mnt/t' is not an absolute path; it must begin with /"),
        ("directory", "/a;b",
            "parameter 'directory': '/a;b' contains characters that are not allowed in a path: ;"),
        ("device", "/tmp/x",
            "parameter 'device': '/tmp/x' is not a device; it must begin with /dev/"),
        ("device", "/dev/../etc/passwd",
            "parameter 'device': '/dev/../etc/passwd' is not a device; it must begin with /dev/"),
        ("note", "a\nb",
            "parameter 'note': 'a\\nb' is not allowed; expected one printable line without leading or trailing spaces"),
    ],
)  # fmt: skip
def test_a_bad_value_is_refused_with_what_is_allowed(name: str, value: str, message: str) -> None:
    assert params_refusal(**{name: value}) == message


def test_all_bad_values_come_at_once() -> None:
    assert len(params_refusal(sise="1", size="x", runtime="y").splitlines()) == 3


def test_options_are_texts_that_fio_reads() -> None:
    shared, jobs = resolve_options(PROFILE, resolve_params(PROFILE, {"direct": "no"}), "weka-01", 3)
    assert shared == {
        "ioengine": "psync", "directory": "/mnt/t/weka-01", "runtime": "300s", "direct": "0",
        "thread": "",
        "lat_percentiles": "1",
    }  # fmt: skip
    assert jobs["a"] == {
        "rw": "randread", "numjobs": "8", "size": "4G", "bs": "4k",
        "random_distribution": "zipf:1.2",
        "description": "{literal} x", "filename_format": "f.3.$jobnum",
    }  # fmt: skip


def test_a_colon_in_a_path_does_not_separate_names() -> None:
    values = resolve_params(PROFILE, {"device": "/dev/disk/by-path/pci-0000:00:1f.2"})
    _, jobs = resolve_options(PROFILE, values, "h", 1)
    assert jobs["b"]["filename"] == "/dev/disk/by-path/pci-0000\\:00\\:1f.2"


def test_a_value_holds_no_placeholder() -> None:
    _, jobs = resolve_options(PROFILE, resolve_params(PROFILE, {"note": "{host}"}), "h", 1)
    assert jobs["a"]["description"] == "{literal} {host}"


def test_a_host_name_is_made_fit_for_a_path() -> None:
    shared, _ = resolve_options(PROFILE, resolve_params(PROFILE, {}), "fe80::1%eth0", 1)
    assert shared["directory"] == "/mnt/t/fe80__1_eth0"


def test_a_resolved_value_that_fio_refuses_names_the_parameter() -> None:
    text = TEXT.replace("bs: 4k", 'bs: 4k\n      rwmixread: "{mix}"')
    text = text.replace("  note:", "  mix: {default: 70, kind: count}\n  note:")
    profile = load_profile(text, "p.yaml")
    with pytest.raises(UsageError) as caught:
        resolve_options(profile, resolve_params(profile, {"mix": "170"}), "h", 1)
    assert (
        str(caught.value)
        == "test/x: fio option a.rwmixread (from parameter 'mix'): found '170'; the largest allowed"
        " value is 100"
    )


@given(
    size=st.integers(1 << 20, 1 << 40), runtime=st.integers(1, 10**9), numjobs=st.integers(1, 256)
)
def test_what_was_given_is_what_fio_reads(size: int, runtime: int, numjobs: int) -> None:
    given_values = {"size": str(size), "runtime": f"{runtime}ms", "numjobs": str(numjobs)}
    shared, jobs = resolve_options(PROFILE, resolve_params(PROFILE, given_values), "h", 1)
    assert parse_size(jobs["a"]["size"]) == size
    assert parse_duration(shared["runtime"]) == pytest.approx(runtime / 1000)
    assert jobs["a"]["numjobs"] == str(numjobs)


@given(
    st.dictionaries(st.sampled_from([*PROFILE.params, "sise"]), st.text(max_size=12), max_size=4)
)
def test_any_given_values_resolve_or_are_refused_in_clean_lines(
    given_values: dict[str, str],
) -> None:
    try:
        resolve_options(PROFILE, resolve_params(PROFILE, given_values), "h", 1)
    except UsageError as error:
        assert all(
            "parameter" in str(problem) and "\n" not in str(problem) for problem in error.problems
        )


def test_the_schema_takes_what_the_loader_takes() -> None:
    schema = profile_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(YAML(typ="safe").load(TEXT))), schema)


@pytest.mark.parametrize(
    ("old", "new"), [("title:", "titel:"), ("kind: size,", "kind: bytes,"), ("fio\n", "x\n")]
)
def test_the_schema_refuses_what_the_loader_refuses(old: str, new: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(YAML(typ="safe").load(TEXT.replace(old, new, 1)), profile_json_schema())


@pytest.mark.parametrize(
    ("share", "taken"), [("20%", True), (0.2, True), (20, False), ("wide", False)]
)
def test_the_schema_of_files_takes_a_share_as_a_percentage_or_below_one(
    share: object, taken: bool
) -> None:
    data = {
        "profile": "my/x",
        "extends": "demo/quick",
        "prepare": {"precondition": {"range": share}},
    }
    validator = jsonschema.Draft202012Validator(profile_file_schema())
    assert validator.is_valid(data) is taken


def test_the_schema_explains_every_key() -> None:
    schema = profile_json_schema()
    for definition in [schema, *schema["$defs"].values()]:
        for name, key in definition["properties"].items():
            assert key.get("description"), name
