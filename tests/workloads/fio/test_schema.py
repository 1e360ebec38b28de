"""The JSON Schema of profiles refuses the values that `profiles check` refuses, and no others."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tui.model.paths import presets_dir
from tui.model.problem import UsageError
from tui.model.profile import scalar_text
from tui.model.profile_load import load_profile
from tui.model.profile_model import profile_file_schema
from tui.model.yaml_text import load
from tui.workloads.fio.option_table import OWN_OPTIONS, by_name, canonical, option_problem
from tui.workloads.fio.schema import value_schema

NAMES = sorted(
    name
    for name, each in by_name().items()
    if each["type"] != "removed" and canonical(name) not in OWN_OPTIONS
)
TYPED = ("bool", "set", "choice", "int", "size")
"""Types of options whose values the schema knows; of the others it knows that they are one line."""
VALUES: list[Any] = [
    0, 1, 2, 4096, -1, 101, 1 << 62, True, False, None, "", "0", "1", "-1", "4k", "4KiB", "4kb",
    "1.5g", "2g", "0x1f",
    "k",
    "4k,8k", ",8k", "4k,", "1-2", "10-", "(4*1024)", "x", "a#b", "a;b", "two\nlines", "/x", "$x",
    "nan", "none",
    "randread",
    "randread:8", "rnadread",
    "libaio", "external:/x.so", "x.so", "exec", "zipf:1.2", "yes", "true", "no", "seq",
]  # fmt: skip
STRICTER = ("the largest allowed", "the smallest allowed", "memory from a file", "'..'")
"""What `profiles check` says of values that the schema takes: limits of numbers that are written as
text.
"""


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(value_schema(name, by_name()[name]))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_the_schema_and_the_check_agree_on_a_value_of_every_option(value: Any) -> None:
    differing = []
    for name in NAMES:
        told = option_problem(name, scalar_text(value))
        takes = validator(name).is_valid(value)
        if not takes and told is None:
            differing.append(f"{name}: the schema refuses {value!r}")
        if (
            takes
            and told is not None
            and by_name()[name]["type"] in TYPED
            and not any(map(told.__contains__, STRICTER))
        ):
            differing.append(f"{name}: the schema takes {value!r}, but {told}")
    assert differing == []


@cache
def whole() -> Draft202012Validator:
    return Draft202012Validator(profile_file_schema())


PRESETS: list[Path] = sorted(
    path for path in presets_dir().glob("*/*.yaml") if "\nfio:" in path.read_text()
)
WHOLE = [path for path in PRESETS if "extends:" not in path.read_text()]


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_schema_takes_every_preset(path: Path) -> None:
    assert [
        error.message for error in whole().iter_errors(load(path.read_text(), str(path)).data)
    ] == []


@given(
    st.sampled_from(WHOLE),
    st.sampled_from(NAMES),
    st.sampled_from(VALUES),
)
@example(PRESETS[0], "direct", "maybe")
def test_a_preset_with_another_option_is_refused_by_the_check_when_the_schema_refuses_it(
    path: Path, name: str, value: Any
) -> None:
    data = load(path.read_text(), str(path)).data
    next(iter(data["fio"]["jobs"].values()))[name] = value
    if whole().is_valid(data):
        return
    with pytest.raises(UsageError):
        load_profile(json.dumps(data), "x.yaml")
