"""What a load generator of another package returns or raises is held to its contract, and told with
its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import BaseModel, create_model, field_validator

from tests.workloads.plugins.conftest import PACKAGE
from tui import workloads
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.metrics.registry import BOTH
from tui.model import tool
from tui.model.address import HostAddress
from tui.model.event import (
    Buckets,
    DirectionResult,
    DirectionSample,
    HostResult,
    LatencyResult,
    Sample,
    decode,
    encode,
)
from tui.model.plain_data import plain
from tui.model.plan import HostTask, Plan, Provider, Step
from tui.model.plugin import PLUGIN_FAILED, PluginError
from tui.model.problem import UsageError
from tui.model.profile_model import profile_file_schema
from tui.model.search import Offer
from tui.remote.fan_out import host_error
from tui.testing.replay import standing_in
from tui.testing.streams import Read, check_figures
from tui.workloads.base import Paced
from tui.workloads.contract import types

H1 = HostAddress("h1")
STEP = Step(0, "s", "ddsync", {}, [HostTask("h1", 1, "", [])], 2.0)
PRINTED = (
    b"version dd 9\nat 100\n512 bytes copied, 0.001 s\nat 101\n512 bytes copied, 0.002 s\nat"
    b" 102\nend\n"
)


def part(**changes: Any) -> DirectionSample:
    own: dict[str, Any] = {
        "ios": 1,
        "bytes": 512,
        "lat_sum_ns": 900,
        "lat_max_ns": 900,
        "lat": Buckets([128], [1]),
    }
    return DirectionSample(**{**own, **changes})


def sample(**changes: Any) -> Sample:
    own: dict[str, Any] = {
        "host": "h1",
        "step": 0,
        "phase": "measure",
        "host_time_ms": 5,
        "interval_s": 1.0,
    }
    return Sample(t=0.0, **{**own, "dirs": {"write": part()}, **changes})


def latency(**changes: Any) -> LatencyResult:
    own: dict[str, Any] = {
        "n": 1,
        "min_ns": 900,
        "max_ns": 900,
        "mean_ns": 900.0,
        "stddev_ns": 0.0,
        "buckets": Buckets([128], [1]),
    }
    return LatencyResult(**{**own, **changes})


def result(**changes: Any) -> HostResult:
    clat = changes.pop("clat", latency())
    write = DirectionResult(1, 512, 1.0, 1.0, 512.0, clat=clat)
    return HostResult(t=0.0, **{"host": "h1", "step": 0, "dirs": {"write": write}, **changes})


def reader_of(known: Any, **methods: Callable[..., Any]) -> Any:
    """The reader that the engine gets of a copy of the example with other methods."""
    reading = known().reader("h1", STEP, "measure", "clat")
    kind = type(
        "Reading", (type(reading),), {name: staticmethod(made) for name, made in methods.items()}
    )
    own = type(
        "Own", (known,), {"reader": lambda _, *words: kind(words[0], words[1].index, words[2])}
    )
    with standing_in(own):
        return workloads.of(STEP).reader("h1", STEP, "measure", "clat")


WRONG_SAMPLES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "0.lat is no buckets": (
        {"dirs": {"write": part(lat={})}},
        ["dirs['write'].lat", "found {} (dict)", "Buckets"],
    ),
    "lat of an unknown bucket": (
        {"dirs": {"write": part(lat=Buckets([1856], [1]))}},
        [".lat.idx[0]", "1856"],
    ),
    "buckets not ascending": (
        {"dirs": {"write": part(lat=Buckets([7, 5], [1, 1]))}},
        [".lat.idx", "ascending"],
    ),
    "buckets of other lengths": (
        {"dirs": {"write": part(lat=Buckets([5], [1, 1]))}},
        [".lat", "2"],
    ),
    "a count below 0": ({"dirs": {"write": part(ios=-1)}}, [".ios", "-1"]),
    "a count that is no integer": (
        {"dirs": {"write": part(bytes=512.0)}},
        [".bytes", "512.0 (float)"],
    ),
    "a count in a histogram below 0": (
        {"dirs": {"write": part(lat=Buckets([5], [-1]))}},
        [".lat.n[0]", "-1"],
    ),
    "dirs is a list": ({"dirs": [part()]}, [".dirs", "list"]),
    "a direction is no sample": (
        {"dirs": {"write": {"ios": 1}}},
        [".dirs['write']", "DirectionSample"],
    ),
    "no interval": ({"interval_s": 0.0}, [".interval_s", "more than 0"]),
    "an endless interval": ({"interval_s": float("inf")}, [".interval_s", "inf"]),
    "a time that is no integer": ({"host_time_ms": 5.5}, [".host_time_ms", "5.5"]),
    "a phase that is none": ({"phase": "measuring"}, [".phase", "measuring"]),
    "of another host": ({"host": "h2"}, ["'h2'", "'h1'"]),
    "of another step": ({"step": 3}, ["step 3"]),
    "of another phase": ({"phase": "layout"}, ["'layout'"]),
    "a percentile that is none": (
        {"dirs": {"write": part(printed_ns={"p99": 5})}},
        [".printed_ns", "p99"],
    ),
}


@pytest.mark.parametrize("case", WRONG_SAMPLES)
def test_a_sample_that_breaks_the_contract_is_reported_with_the_plug_in(
    known: Any, case: str
) -> None:
    changes, words = WRONG_SAMPLES[case]
    reader = reader_of(known, feed=lambda _: [sample(**changes)])
    with pytest.raises(PluginError) as told:
        reader.feed(b"x")
    assert all(
        word in str(told.value)
        for word in ["plug-in ddsync (", "feed[0]" if "of " not in case[:3] else "", *words]
    )
    assert "\n" not in str(told.value)


WRONG_RESULTS = {
    "no HostResult": ({"write": 1}, "dict"),
    "percentiles as numbers": (result(clat=latency(percentiles_ns={99.0: 5})), "percentiles_ns"),
    "buckets that count otherwise": (result(clat=latency(n=2)), ".buckets"),
    "a mean beyond the maximum": (result(clat=latency(mean_ns=1e9)), "mean_ns"),
    "a mean that is no number": (result(clat=latency(mean_ns=float("nan"))), "mean_ns"),
    "of another host": (result(host="h9"), "'h9'"),
    "errors as texts": (result(errors=["EIO"]), ".errors[0]"),
}


@pytest.mark.parametrize("case", WRONG_RESULTS)
def test_a_result_that_breaks_the_contract_is_reported_with_the_plug_in(
    known: Any, case: str
) -> None:
    value, word = WRONG_RESULTS[case]
    with pytest.raises(PluginError, match=r"plug-in ddsync \(.*result") as told:
        reader_of(known, result=lambda _: value).result(0)
    assert word in str(told.value)


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("feed", None),
        ("feed", [("fatal", "no severity")]),
        ("feed_stderr", ["a line"]),
        ("flush", "text"),
        ("problems", [("code",)]),
        ("problems", {"code": "message"}),
    ],
)
def test_other_answers_of_a_reader_are_held_to_their_types(
    known: Any, method: str, value: object
) -> None:
    reader = reader_of(known, **{method: lambda *_: value})
    with pytest.raises(PluginError, match=rf"plug-in ddsync \(.*\): {method}"):
        getattr(reader, method)(*([] if method == "flush" else [b"x"]))


def test_both_directions_are_checked_in_every_sample() -> None:
    right = {"read": part(), "write": part(), BOTH: part(ios=2, bytes=1024)}
    samples = [
        sample(host_time_ms=5000, dirs=right),
        sample(host_time_ms=6000, dirs=right | {BOTH: part(ios=99)}),
    ]
    found = check_figures(Read(items=[*samples]), STEP, "h1")
    assert "joint" in {mistake.code for mistake in found}


@pytest.mark.parametrize("method", ["feed", "feed_stderr", "flush", "result", "problems"])
@pytest.mark.parametrize("error", [KeyError("x"), RecursionError("deep"), SystemExit(3)])
def test_what_a_reader_raises_is_the_plug_ins_fault_by_name(
    known: Any, method: str, error: BaseException
) -> None:
    def fails(*_: object) -> None:
        raise error

    reader = reader_of(known, **{method: fails})
    with pytest.raises(PluginError, match=rf"plug-in ddsync \(.*\): {method} failed: ") as told:
        getattr(reader, method)(*([] if method == "flush" else [b"x"]))
    assert host_error("h1", told.value).code == PLUGIN_FAILED


def test_a_sound_reader_is_left_alone(known: Any) -> None:
    with standing_in(known):
        reader = workloads.of(STEP).reader("h1", STEP, "measure", "clat")
        bare = known().reader("h1", STEP, "measure", "clat")
    assert [*reader.feed(PRINTED), *reader.flush()] == [*bare.feed(PRINTED), *bare.flush()]
    assert (reader.result(0), reader.problems(0)) == (bare.result(0), bare.problems(0))


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=4
    )
)
def test_whatever_is_in_a_field_of_a_sample_is_sound_or_told_and_sound_ones_can_be_journalled(
    value: Any,
) -> None:
    rule = types().rule(Sample)
    for name in ("host_time_ms", "interval_s", "dirs", "ramp", "jobs", "host"):
        made = replace(sample(), **{name: value})
        if not rule(made):
            assert decode(encode(made)) == plain(made)


# -- planning


def plan_of(kind: Any, tmp_path: Path) -> Plan:
    path = tmp_path / "p.yaml"
    path.write_text((PACKAGE / "synced-writes.yaml").read_text())
    with standing_in(kind):
        return build_plan(Catalogue(tmp_path).load(str(path)), Choices([H1]))


def other(known: Any, **methods: Any) -> Any:
    return type("Own", (known,), methods)


def wrong_steps(known: Any) -> Iterator[tuple[str, Any]]:
    plain = known.build_steps
    yield "no list", lambda *_: None
    yield "found 0 steps", lambda *_: []
    yield "found 2 steps", lambda *words: plain(*words) * 2
    yield "tool", lambda *words: [replace(plain(*words)[0], tool="dd")]
    yield "tasks", lambda *words: [replace(plain(*words)[0], tasks=[])]
    yield "argv", lambda *words: [replace(plain(*words)[0], tasks=[HostTask("h1", 1, "", "sh")])]  # type: ignore[arg-type]
    yield "KeyError", lambda *_: dict[str, Any]()["x"]


def test_a_plan_that_breaks_the_contract_is_refused_with_the_plug_in(
    known: Any, tmp_path: Path
) -> None:
    for word, method in wrong_steps(known):
        with pytest.raises(PluginError, match=r"plug-in ddsync \(.*build_steps") as told:
            plan_of(other(known, build_steps=method), tmp_path)
        assert word in str(told.value) or word == "no list"


def test_a_paced_step_is_held_to_its_type(known: Any) -> None:
    made = other(known, searched=True, pace=lambda *_: Paced(step={}))  # type: ignore[arg-type]
    with standing_in(made), pytest.raises(PluginError, match=r"plug-in ddsync \(.*pace\.step"):
        workloads.get("ddsync").pace(None, {}, [H1], {}, Offer(5.0, 1.0))  # type: ignore[arg-type]


class Crashing(BaseModel):
    """A part of a profile whose validator fails."""

    directory: str = ""

    @field_validator("directory")
    @classmethod
    def fails(cls, value: str) -> str:
        """Fail as code does."""
        raise KeyError(value)


@pytest.mark.parametrize(
    ("methods", "word"),
    [
        ({"problems": lambda *_: iter([1 / 0])}, "problems failed: ZeroDivisionError"),
        ({"problems": lambda *_: ["a text"]}, "problems"),
        ({"body": lambda _: Crashing}, "its profile model failed: KeyError"),
        ({"body": lambda _: {}}, "body"),
        ({"stand_in": 5}, "stand_in"),
        ({"searched": "yes"}, "searched"),
        ({"body": None}, "body"),
    ],
)
def test_what_fails_while_a_profile_is_loaded_is_the_plug_ins_by_name(
    known: Any, tmp_path: Path, methods: dict[str, Any], word: str
) -> None:
    with pytest.raises(PluginError) as told:
        plan_of(other(known, **methods), tmp_path)
    assert "plug-in ddsync (" in str(told.value) and word in str(told.value)


def fails(*_: Any) -> Any:
    raise RuntimeError("of the plug-in")


UNKNOWN_TYPE = {"__module__": __name__, "__annotations__": {"directory": "NoSuchType"}}
SPOILED: dict[str, dict[str, Any]] = {
    "it cannot be made": {"__init__": fails},
    "body raises": {"body": fails},
    "body returns no model": {"body": lambda _: {}},
    "body is missing": {"body": None},
    "its model names what is not there": {
        "body": lambda _: type("Body", (BaseModel,), UNKNOWN_TYPE)
    },
    "its model has no schema": {
        "body": lambda _: create_model("Body", directory=(Callable[[Unschemed], str], ...))
    },
    "an attribute raises": {"stand_in": property(fails), "body": fails},
    "its schema cannot be described": {"describe": fails, "problems": fails},
}


class Unschemed:
    """A type that pydantic knows nothing of."""


@pytest.mark.parametrize("case", SPOILED)
def test_a_plug_in_that_fails_spoils_only_its_own_profiles(
    known: Any, tmp_path: Path, case: str
) -> None:
    own = tmp_path / "p.yaml"
    own.write_text((PACKAGE / "synced-writes.yaml").read_text())
    catalogue = Catalogue(tmp_path)
    with standing_in(other(known, **SPOILED[case])):
        assert [each.error for each in catalogue.list() if each.path != own and each.error] == []
        assert catalogue.load("demo/quick").preset
        assert "fio" in profile_file_schema()["properties"]
        with pytest.raises(UsageError) as told:
            catalogue.load(str(own))
        assert "ddsync" in str(told.value) and tool.provider("ddsync").text() in str(told.value)


def test_a_plug_in_called_as_a_key_of_profiles_spoils_none(known: Any, tmp_path: Path) -> None:
    with standing_in(other(known, name="params")):
        assert Catalogue(tmp_path).load("demo/quick").preset
        assert "params" in profile_file_schema()["properties"]


def test_a_plan_says_which_package_brought_the_load_generator(known: Any, tmp_path: Path) -> None:
    (step,) = plan_of(known, tmp_path).steps
    assert step.provider == Provider("benchtui_ddsync.workload:DdSync")


def test_load_generators_of_benchtui_are_called_directly() -> None:
    for name in workloads.names():
        assert type(workloads.get(name)) is type(tool.load(name))


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        (
            Provider("a.b:C", "benchtui-gone", "1.2"),
            ["'gone'", "benchtui-gone 1.2", "a.b:C", "install benchtui-gone"],
        ),
        (None, ["'gone'"]),
    ],
)
def test_a_load_generator_that_is_not_installed_is_reported_with_its_package(
    provider: Provider | None, words: list[str]
) -> None:
    with pytest.raises(UsageError) as told:
        workloads.of(replace(STEP, tool="gone", provider=provider))
    assert all(word in str(told.value) for word in words)
