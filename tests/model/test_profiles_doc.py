"""The pages about profiles say what the code does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from tests.model.test_profile_load import GOOD
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.model.address import HostAddress
from tui.model.problem import UsageError
from tui.model.profile import ParamKind, resolve_params
from tui.model.profile_load import load_profile
from tui.workloads.fio import option_table as fio_options
from tui.workloads.fio.body import resolve_options

ROOT = Path(__file__).parents[2]
PAGES = ("profiles.md", "matrices.md", "preconditioning.md", "fio-options.md", "profile-errors.md")
TEXT = "".join((ROOT / "docs" / name).read_text() for name in PAGES)
# What makes the good profile of the rules' tests into one of the broken ones of the tables.
MISTAKES = [
    ("title: A test", "titel: x"), ("tool: fio\n", ""), ("tool: fio", "tool: fio\nversion: x"),
    ("tool: fio", "tool: fio\ndrop_caches: maybe"), ("profile: test/x", "profile: Reads"),
    ("default: 4G", "default: 4Q"), ("  size:", "  depth: {default: 1, kind: count}\n  size:"),
    ("  size:", "  numjobs: {default: 1, kind: count}\n  size:"),
    ("a: {", "a: {numjobs: '{siz}', "),
    ("a: {", "a: {iodpeth: 4, "),
    (
        "  size: {default: 4G, kind: size}\nfio:\n  global: {",
        '  block: {default: 4k, kind: size}\n  size: {default: 4G, kind: size}\nfio:\n  global: {bs: "{block}", ',
    ),
    ("psync", "libaoi"), ("randread", "randraed"), ("a: {", "a: {rwmixread: 101, "),
    ("a: {", "a: {ramp_time: 1h30m, "), ("a: {", "a: {stonewall: 1, "),
        ("a: {", "a: {blocksize: 8k, "),
    ('bs: 4k, time_based: 1, runtime: "{runtime}"', "time_based: 1"),
    ('bs: 4k, time_based: 1, runtime: "{runtime}"', "runtime: 0"),
    ('directory: "{directory}/{host}"', 'comm: "{directory}"'),
    ("a: {", "a: {filename: /dev/sdb, "),
    ("direction: read", "direction: write"), ("tool: fio",
        "tool: fio\nsweep: {grid: {sise: [1G]}}"),
    ("tool: fio", "tool: fio\nrepeat: {until: soon}"), ("tool: fio", "tool: fio\nwarmup: a while"),
    ("{layout: true}", "{precondition: {rounds: 3}}"),
    ("tool: fio", "attest: [{id: Cache Off, question: Is it?}]\ntool: fio"),
    ("{default: 4G, kind: size", "{default: 4G, kind: size, spread: true"),
    ("tool: fio", "tool: fio\ncapacity:\n  limits: ['p99 = 2ms']"),
    ("tool: fio", "tool: fio\ncapacity:\n  limits: ['p99 < 2ms']\n  over: [iodeph]"),
    ("tool: fio", "tool: fio\nmdtest: {directory: /mnt/t, ranks_per_host: 1, items: 1}"),
]  # fmt: skip


def lines_of(call: Callable[[], object]) -> list[str]:
    try:
        call()
    except UsageError as error:
        return str(error).splitlines()
    return []


def all_refusals() -> set[str]:
    """What the loader and the launch say to every mistake of the tables."""
    found: set[str] = set()
    for text in ("a: [1", "a: 1\nb: 2\na: 3\n", *(GOOD.replace(old, new) for old, new in MISTAKES)):
        found.update(lines_of(lambda text=text: load_profile(text, "x.yaml")))  # type: ignore[misc]
    catalogue = Catalogue(ROOT / "none")
    for text in (
        "profile: a/b\nextends: demo/quik\n",
        "profile: a/b\nextends: demo/quick\nparams: {runtme: 30s}\n",
    ):
        found.update(lines_of(lambda text=text: catalogue.load_text(text, Path("x.yaml"))))  # type: ignore[misc]
    demo = ROOT / "profiles" / "demo" / "quick.yaml"
    profile = load_profile(demo.read_text(), str(demo))
    for given in ({"sise": "4G"}, {"runtime": "0"}, {"directory": "data"}):
        found.update(lines_of(lambda given=given: resolve_params(profile, given)))  # type: ignore[misc]
    mix = GOOD.replace("test/x", "my/x").replace("a: {", 'a: {rwmixread: "{mix}", ')
    mix = mix.replace("  size:", "  mix: {default: 70, kind: count}\n  size:")
    own = load_profile(mix, "x.yaml")
    found.update(
        lines_of(lambda: resolve_options(own, resolve_params(own, {"mix": "170"}), "h", 1))
    )
    return found


def test_the_examples_are_profiles_that_can_be_planned(tmp_path: Path) -> None:
    """Each is loaded with what it extends or holds, and planned for two hosts."""
    catalogue = Catalogue(tmp_path / "none")
    examples = re.findall(r"```yaml\n(.*?)```", TEXT, re.S)
    assert len(examples) >= 8
    for example in examples:
        loaded = catalogue.load_text(example, Path("docs/profiles.md"))
        plan = build_plan(loaded, Choices(hosts=[HostAddress(name="h1"), HostAddress(name="h2")]))
        assert plan.steps, loaded.profile.profile


def test_the_example_to_start_from_is_what_is_said_about_it() -> None:
    example = re.search(r"```yaml\n(profile: my/mix-70-30.*?)```", TEXT, re.S)
    assert example
    assert load_profile(example[1], "docs/profiles.md").body.jobs["mix"]["rwmixread"] == 70


def test_every_kind_of_parameter_is_in_the_reference() -> None:
    for kind in get_args(ParamKind):
        assert f"`{kind}`" in TEXT, kind


def test_every_option_that_is_refused_is_in_the_reference() -> None:
    for name in (*fio_options.OWN_OPTIONS, *fio_options.FIXED_VALUES):
        assert f"`{name}`" in TEXT, name


def test_every_message_of_the_tables_is_what_is_said() -> None:
    said = all_refusals()
    tables = (ROOT / "docs" / "profile-errors.md").read_text()
    messages = re.findall(r"^\| .* \| `(.+)` \|$", tables, re.M)
    assert len(messages) > 20
    patterns = {message: ".*".join(map(re.escape, message.split("..."))) for message in messages}
    assert [
        m
        for m, pattern in patterns.items()
        if not any(re.fullmatch(pattern, line) for line in said)
    ] == []
