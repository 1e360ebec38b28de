"""Objects of S3 in plans of elbencho: how they are named, that they are put first, what is
refused, and what command lines on buckets import as.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.engine.test_matrix import HOSTS
from tests.workloads.elbencho.recorded import DATA
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.preflight.preview import overwrites
from tui.engine.preflight.rules import check_targets
from tui.model.host_record import ObjectsLeft
from tui.model.objects import ObjectSet
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.remote.answers import HostProbe, ToolFacts
from tui.text.objects import left_texts, objects_text
from tui.view.plan import after_text
from tui.workloads.elbencho.jobimport import import_job
from tui.workloads.elbencho.options import OBJECT_PHASES
from tui.workloads.elbencho.workload import ElbenchoWorkload

PRESETS = Path(__file__).parents[3] / "profiles" / "elbencho"
STORE = "s3.example.com/bench"
PROFILE = """\
profile: my/objects
title: Objects
tool: elbencho
params:
  key_id: {{default: "${{AWS_ACCESS_KEY_ID}}", kind: secret}}
  key: {{default: "${{OTHER}}", kind: secret}}
elbencho:
  endpoint: s3.example.com
  bucket: {bucket}
  prefix: "{prefix}"
  key_id: "{{key_id}}"
  key: "{{key}}"
  {more}
  phase: {phase}
  options: {{threads: 2, dirs: 3, files: 4, size: 64k, block: 64k, {options}}}
{prepare}
headline: {{metric: {metric}, direction: {direction}}}
"""
HEADLINES = {
    "write": ("ops", "write-objects"),
    "read": ("ops", "read-objects"),
    "stat": ("ops", "head"),
    "rmobjects": ("iops", "trim"),
    "mkbuckets": ("ops", "mkbuckets"),
    "rmbuckets": ("ops", "rmbuckets"),
    "rmfiles": ("ops", "rmfiles"),
}
SECRETS = {"AWS_ACCESS_KEY_ID": "verypublic", "AWS_SECRET_ACCESS_KEY": "verysecret"}
PUT_FIRST = "prepare: {precondition: {fill: 1, rounds: 0}}"


def preset(name: str, hosts: int = 1, **params: str) -> Plan:
    return build_plan(
        Catalogue(PRESETS).load_file(PRESETS / f"{name}.yaml"),
        Choices(HOSTS[:hosts], overrides=params),
    )


def own(tmp_path: Path, phase: str, hosts: int = 1, /, **changed: str) -> Plan:
    given = {"bucket": "bench", "prefix": "", "more": "", "options": "", "prepare": "", **changed}
    metric, direction = HEADLINES[phase]
    text = PROFILE.format(phase=phase, metric=metric, direction=direction, **given)
    (tmp_path / "objects.yaml").write_text(text)
    return build_plan(Catalogue(tmp_path).load("my/objects"), Choices(HOSTS[:hosts]))


def test_hosts_whose_names_are_in_the_prefix_have_one_set_of_objects_each() -> None:
    tasks = preset("s3-put", 2, size="16k", objects="5", threads="2").steps[0].tasks
    assert [task.objects for task in tasks] == [
        [ObjectSet(STORE, f"benchtui/{host}/r*/d*/r*-f*", 10, 16384, ("put",))]
        for host in ("h1", "h2")
    ]
    assert not any("--rankoffset" in task.job_file for task in tasks)


def test_hosts_that_share_a_prefix_have_ranks_of_their_own(tmp_path: Path) -> None:
    first, second = own(tmp_path, "write", 2).steps[0].tasks
    assert [each.names for each in second.objects] == ["r2/d*/r2-f*", "r3/d*/r3-f*"]
    assert [each.count for each in first.objects] == [12, 12]
    assert "--rankoffset 2" in second.job_file and "--rankoffset" not in first.job_file


def test_keys_are_the_names_of_variables_and_are_in_no_command(tmp_path: Path) -> None:
    plan = own(tmp_path, "write")
    task = plan.steps[0].tasks[0]
    lines = task.job_file.splitlines()
    assert 'export AWS_SECRET_ACCESS_KEY="${OTHER}"' in lines
    assert not any("AWS" in line or "OTHER" in line for line in lines if "export" not in line)
    assert sorted(plan.secrets) == ["AWS_ACCESS_KEY_ID", "OTHER"]


def test_a_suite_puts_its_objects_again_before_they_are_asked_for() -> None:
    plan = preset("s3-small", 2)
    does = [(step.is_fill, step.tasks[0].objects[0].does[0]) for step in plan.steps]
    assert does == [
        (False, "put"), (True, "put"), (False, "head"), (False, "get"), (False, "delete"),
    ]  # fmt: skip
    fill = plan.steps[1].tasks[0].job_file
    assert "--write" in fill and "--infloop" not in fill and "--timelimit" not in fill


def test_deletes_of_objects_that_nothing_puts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a DELETE of a missing object counts as successful"):
        own(tmp_path, "rmobjects")
    assert own(tmp_path, "rmobjects", prepare=PUT_FIRST).steps[0].is_fill


def test_a_bucket_is_named_before_it_is_written_or_removed_and_not_to_be_read(
    tmp_path: Path,
) -> None:
    changed = {
        phase: own(tmp_path, phase, prepare=PUT_FIRST if phase == "rmobjects" else "")
        for phase in OBJECT_PHASES
    }
    assert {phase for phase, plan in changed.items() if not overwrites(plan)} == {"read", "stat"}


def test_two_hosts_do_not_remove_the_same_bucket(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="h1 and h2 use the same objects"):
        own(tmp_path, "rmbuckets", 2)
    assert own(tmp_path, "rmbuckets", 2, bucket='"bench-{host}"').steps


def test_a_bucket_is_asked_for_with_one_attempt_unless_the_run_makes_it(tmp_path: Path) -> None:
    workload = ElbenchoWorkload()
    (check,) = workload.target_checks(own(tmp_path, "write").steps)
    assert (check.target, check.words[:2]) == (STORE, ("sh", "-c"))
    assert "AWS_MAX_ATTEMPTS=1" in check.words[2] and "--s3statdirs" in check.words[2]
    assert workload.target_checks(own(tmp_path, "mkbuckets").steps) == []
    said = "Message: {} HTTP Error Code: {} (x) Request ID:"
    codes = [
        problem and problem[0]
        for status in (-1, 404, 403)
        for problem in [workload.target_problem(check, said.format("m", status))]
    ]
    assert codes == ["elbencho-no-answer", "elbencho-http-status", None]


@pytest.mark.parametrize(
    ("tools", "asked"), [(("elbencho",), [SECRETS]), ((), [])]
)  # without the command there is nothing to ask with
def test_a_host_asks_with_the_secrets_of_the_run_and_messages_hold_none(
    tools: tuple[str, ...], asked: list[dict[str, str]]
) -> None:
    given: list[dict[str, str]] = []

    async def ask(call: Any) -> Any:
        given.append(call.keywords["environ"])
        return f"Message: not with {SECRETS['AWS_SECRET_ACCESS_KEY']} HTTP Error Code: -1 (x)"

    found = HostProbe({}, {name: ToolFacts(f"/bin/{name}", "3.1", (3, 1)) for name in tools})
    told = asyncio.run(check_targets(preset("s3-put"), "h1", ask, found, SECRETS))
    assert given == asked
    assert [code for code, _ in told] == ["elbencho-no-answer"] * len(asked)
    assert not [text for _, text in told if "verysecret" in text]


@pytest.mark.parametrize(("changed", "told"), [
    ({"more": "https: on"}, "never checks certificates"),
    ({"more": "key_id: AKIAPLAIN"}, "benchtui never stores secrets"),
    ({"more": "directory: /data"}, "cannot be used with 'directory' or 'file'"),
    ({"bucket": "s3://bench/x"}, "bucket: found"),
    ({"prefix": "a%RAND%"}, "prefix: found"),
    ({"options": "direct: 1"}, "applies to files only"),
    ({"options": "s3ignoreerrors: 1"}, "s3ignoreerrors is not supported"),
    ({"options": "s3multidel: 100"}, "s3multidel is not supported"),
    ({"options": "s3key: AKIAPLAIN"}, "benchtui never stores secrets"),
    ({"options": "s3aclput: 1"}, "only object and bucket phases are"),
])  # fmt: skip
def test_what_cannot_be_planned_is_refused_in_a_line(
    tmp_path: Path, changed: dict[str, str], told: str
) -> None:
    with pytest.raises(UsageError) as refused:
        if "key_id" in changed.get("more", ""):
            text = PROFILE.replace('key_id: "{{key_id}}"', "key_id: AKIAPLAIN")
            fields = {"bucket": "b1", "prefix": "", "more": "", "options": "", "prepare": ""}
            (tmp_path / "objects.yaml").write_text(
                text.format(phase="write", metric="iops", direction="write", **fields)
            )
            Catalogue(tmp_path).load("my/objects")
        else:
            own(tmp_path, "write", **changed)
    assert told in str(refused.value) and "AKIAPLAIN" not in str(refused.value)


def test_phases_of_files_and_of_objects_are_distinguished(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="phase rmfiles does not apply to objects in a bucket"):
        own(tmp_path, "rmfiles")


def test_the_bucket_itself_is_no_object_in_words(tmp_path: Path) -> None:
    left = [ObjectsLeft(store=STORE, names=names, count=4, bytes=4096) for names in ("", "r*-f*")]
    assert left_texts(left[:1]) == [f"{STORE}: the bucket itself"]
    assert "up to 4 objects" in left_texts(left)[0]
    (made,) = own(tmp_path, "mkbuckets").objects
    assert objects_text(made) == "puts the bucket itself"
    assert after_text(own(tmp_path, "read")) == "objects remain unchanged"


# -- output that was kept


@pytest.mark.parametrize("kept", ["s3-objects.json", "s3-objects.err"])
def test_kept_output_has_the_directions_of_requests(kept: str) -> None:
    text = (DATA / kept).read_text()
    found = ElbenchoWorkload().import_output(text, kept)
    counts = [{name: part.ios for name, part in each.result.dirs.items()} for each in found]
    assert counts == [
        {"write": counts[0]["write"], "write-objects": 400},
        {"head": 400},
        {"read": counts[2]["read"], "read-objects": 400},
        {"trim": 400},
    ]
    assert all(job.objects for each in found for job in each.loads)


# -- command lines


LINE = (
    "elbencho --s3endpoints https://s3.example.com:9000 --s3key AKIAPLAIN --s3secret PLAIN"
    " --s3objprefix x/ -d -w --stat -r -F -D -t 2 -n 3 -N 4 -s 10m -b 5m --direct s3://bench"
)


def test_a_command_line_on_a_bucket_is_a_profile_for_each_phase_without_its_keys() -> None:
    found = import_job(LINE, "job.sh")
    texts = [text for _, text in found.profiles]
    phases = [text.partition("  phase: ")[2].split()[0] for text in texts[1:]]
    assert phases == ["mkbuckets", "write", "stat", "read", "rmobjects", "rmbuckets"]
    assert [text for text in texts if "fill: 1" in text] == [texts[5]]
    assert all('https: "insecure"' in text and "${AWS_ACCESS_KEY_ID}" in text for text in texts[1:])
    told = [each.message for each in found.messages]
    assert "PLAIN" not in "".join([*texts, *told])
    assert any(line.startswith("--direct is dropped") for line in told)


@pytest.mark.parametrize(("line", "told"), [
    ("elbencho -w -s 1m s3://bench", "no endpoint"),
    ("elbencho --s3endpoints http://a,http://b -w -s 1m bench", "only one endpoint is supported"),
    ("elbencho --s3endpoints a -w -s 1m b1 b2", "one bucket is supported"),
    ("elbencho --s3endpoints a -w -s 1m s3://bench/object", "single objects are not supported"),
    ("elbencho --s3endpoints a --s3multidel 100 bench", "s3multidel is not supported"),
])  # fmt: skip
def test_a_command_line_without_a_place_in_a_profile_is_refused(line: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        import_job(line, "job.sh")
    assert told in str(refused.value)
