"""Objects of an S3 store in plans: how they are named, that they are put first, what is refused."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from tests.engine.test_matrix import HOSTS
from tests.samples.words import texts
from tests.workloads.fio.fixtures import recording
from tui.cli.shared.launching import ask_for_names
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.preflight.destroy import HostFindings, judge_targets, unnamed_devices
from tui.engine.preflight.preview import HostTargets, Preview, check_names, overwrites
from tui.engine.run.steps import fills_needed
from tui.engine.session.history import fills_of_objects
from tui.model.objects import ObjectSet
from tui.model.plan import Plan, at_once
from tui.model.problem import UsageError
from tui.model.profile import resolve_params
from tui.model.search import Offer
from tui.remote.answers import HostProbe
from tui.testing import Output, replay
from tui.testing.replay import Replayed
from tui.text.problem_texts import problem_text
from tui.view.objections import reason_code
from tui.view.plan import after_text
from tui.workloads.fio.workload import FioWorkload

PRESETS = Path(__file__).parents[3] / "profiles" / "s3"
RECORDED = {
    "endpoint": "127.0.0.1:9000",
    "https": "off",
    "size": "16k",
    "objects": "300",
    "concurrency": "2",
}
STORE = "s3.example.com/bench"
PROFILE = """\
profile: my/objects
title: Objects
tool: fio
params:
  key: {{default: "${{KEY}}", kind: secret}}
fio:
  global: {{ioengine: http, http_mode: s3, http_host: s3.example.com, http_s3_key: "{{key}}", bs: 64k}}
  jobs: {{a: {{{job}}}}}
{prepare}
headline: {{metric: iops, direction: {direction}}}
"""
TOGETHER = """\
profile: my/suite
title: Objects of two roles
tool: suite
roles: {deleters: 1, getters: rest}
suite: [{together: [{profile: my/get, role: getters}, {profile: my/delete, role: deleters}]}]
"""
NAMES = 'filename_format: "/bench/{host}/$jobnum.$filenum", filesize: 64k, nrfiles: 5, numjobs: 2'
PUT_FIRST = "prepare: {precondition: {fill: 1, rounds: 0}}"


def preset(name: str, hosts: int = 1, **params: str) -> Plan:
    return build_plan(
        Catalogue(PRESETS).load_file(PRESETS / f"{name}.yaml"),
        Choices(HOSTS[:hosts], overrides=params),
    )


def own(
    tmp_path: Path, job: str, prepare: str = PUT_FIRST, hosts: int = 1, direction: str = "read"
) -> Plan:
    (tmp_path / "objects.yaml").write_text(
        PROFILE.format(job=job, prepare=prepare, direction=direction)
    )
    return build_plan(Catalogue(tmp_path).load("my/objects"), Choices(HOSTS[:hosts]))


def does(plan: Plan) -> list[tuple[str, ...]]:
    return [step.tasks[0].objects[0].does for step in plan.steps]


def test_each_host_and_connection_has_objects_of_its_own() -> None:
    plan = preset("put", 2, size="1M", objects="100", concurrency="16")
    assert [task.objects for task in plan.steps[0].tasks] == [
        [ObjectSet(STORE, f"benchtui/{host}/*.*_0_1048576", 1600, 1 << 20, ("put",))]
        for host in ("h1", "h2")
    ]
    assert {task.writes_bytes for task in plan.steps[0].tasks} == {1600 << 20}


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("put", [("put",)]),
        ("get", [("put",), ("get",)]),
        ("delete", [("put",), ("delete",)]),
        ("all", [("put",), ("put",), ("get",), ("delete",)]),
    ],
)
def test_objects_are_put_before_they_are_got_or_deleted(
    name: str, order: list[tuple[str, ...]]
) -> None:
    plan = preset(name)
    assert does(plan) == order
    for step in plan.steps:
        needed = order[step.index] != ("put",)
        assert [fill.tasks[0].objects[0].key for fill in fills_needed(plan.steps, step)] == (
            [step.tasks[0].objects[0].key] if needed else []
        )


def test_deleted_objects_are_put_again_before_each_repetition() -> None:
    loaded = Catalogue(PRESETS).load_file(PRESETS / "delete.yaml")
    assert does(build_plan(loaded, Choices(HOSTS[:1], repeat=2))) == [("put",), ("delete",)] * 2
    whole = Catalogue(PRESETS).load_file(PRESETS / "all.yaml")
    assert (
        does(build_plan(whole, Choices(HOSTS[:1], repeat=2)))
        == [("put",), ("put",), ("get",), ("delete",)] * 2
    )


def test_a_resumed_run_puts_the_objects_of_what_it_measures_again() -> None:
    plan = preset("all")
    get, delete = plan.steps[2], plan.steps[3]
    assert fills_of_objects(plan, [get]) == fills_of_objects(plan, [delete]) == [plan.steps[1]]
    assert fills_of_objects(plan, [plan.steps[0]]) == []


def test_deletes_cannot_be_searched() -> None:
    loaded = Catalogue(PRESETS).load_file(PRESETS / "delete.yaml").profile
    with pytest.raises(UsageError, match="each object is deleted only once"):
        FioWorkload().pace(
            loaded, resolve_params(loaded, {}), HOSTS[:1], {"h1": 1}, Offer(10.0, 5.0)
        )


def test_what_ends_with_its_objects_is_as_far_as_their_bytes() -> None:
    bounds = [
        step.bound_bytes
        for step in preset("all", 2, size="64k", objects="10", concurrency="2").steps
    ]
    assert bounds == [40 << 16, 40 << 16, None, 40 << 16]


def test_a_fill_puts_what_the_load_uses_over_the_same_connections() -> None:
    fill = (
        preset("get", size="64k", objects="7", concurrency="3")
        .steps[0]
        .tasks[0]
        .job_file.splitlines()
    )
    assert {"rw=write", "bs=64k", "filesize=64k", "nrfiles=7", "numjobs=3"} <= set(fill)
    assert {"http_s3_key=${AWS_SECRET_ACCESS_KEY}", "https=on"} <= set(fill)
    assert not [line for line in fill if line.startswith(("runtime", "time_based"))]


def test_steps_on_objects_name_their_requests(tmp_path: Path) -> None:
    plan = preset("all")
    assert [step.does for step in plan.steps] == ["PUT", "PUT", "GET", "DELETE"]
    assert own(tmp_path, f"{NAMES}, rw: randrw").steps[-1].requests == {
        "read": "GET", "write": "PUT"
    }  # fmt: skip


@pytest.mark.parametrize(
    "job", [f"rw: randread, {NAMES}", f"rw: trim, {NAMES}", f"rw: randrw, {NAMES}"]
)
def test_objects_that_nothing_puts_are_not_measured(tmp_path: Path, job: str) -> None:
    direction = "trim" if "trim" in job else "read"
    with pytest.raises(
        UsageError, match="fio counts GETs and DELETEs of missing objects as successful"
    ):
        own(tmp_path, job, prepare="", direction=direction)
    assert own(tmp_path, job, direction=direction).steps[0].is_fill


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ("rw: write, fsync: 1, " + NAMES, "fsync: objects cannot be flushed"),
        ("rw: write, end_fsync: 1, " + NAMES, "end_fsync: objects cannot be flushed"),
        ("rw: randread, direct: 1, " + NAMES, "direct: it applies to files only"),
        ("rw: trimwrite, " + NAMES, "rw: fio sends every PUT after its first DELETE as a DELETE"),
        ("rw: trim, time_based: 1, runtime: 5, " + NAMES, "time_based: would delete objects twice"),
        ("rw: trim, loops: 2, " + NAMES, "loops: would delete objects twice"),
        ("rw: trim, io_size: 640k, " + NAMES, "io_size: would delete objects twice"),
        ("rw: trim, io_limit: 640k, " + NAMES, "io_size: would delete objects twice"),
        (
            "rw: randtrim, rw_sequencer: identical, " + NAMES,
            "rw_sequencer: would delete objects twice",
        ),
        (
            "rw: randtrim, percentage_random: 50, " + NAMES,
            "percentage_random: would delete objects twice",
        ),
        (
            "rw: trim, zonemode: strided, zonesize: 64k, zonerange: 128k, " + NAMES,
            "zonemode: would delete",
        ),
        ("rw: trim:64k, " + NAMES, "rw: would delete objects twice"),
        ("rw: write, http_verbose: 1, " + NAMES, "http_verbose: it prints request headers"),
        (
            "rw: randread, http_object_mode: range, " + NAMES,
            "http_object_mode: range is not supported",
        ),
        (
            "rw: write, bssplit: 4k/50:8k/50, " + NAMES,
            "bssplit: all objects of a job must have the same size",
        ),
        ("rw: write, http_pass: open, " + NAMES, "http_pass: benchtui never stores secrets"),
    ],
)
def test_what_the_engine_fails_at_or_miscounts_is_refused(
    tmp_path: Path, job: str, told: str
) -> None:
    direction = "trim" if "trim" in job else "write" if "write" in job else "read"
    with pytest.raises(UsageError) as refused:
        own(tmp_path, job, direction=direction)
    assert told in str(refused.value)


def test_a_written_secret_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        own(tmp_path, "rw: write, http_pass: geheim, " + NAMES, direction="write")
    assert "geheim" not in str(refused.value)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("size: 64k", "http requires filename or filename_format"),
        ('filename: "/bench/o", size: 640k, numjobs: 2', "its 2 workers use the same objects"),
        (
            'filename_format: "/bench/$filenum", filesize: 64k, nrfiles: 2, numjobs: 2',
            "needs $jobnum",
        ),
        (
            'filename_format: "/bench/$jobnum", filesize: 64k, nrfiles: 2, numjobs: 2',
            "needs $filenum",
        ),
        ('filename: "/bench/o"', "size or filesize is required"),
        ('filename: "/bench/o", size: 100k', "is not a multiple of the object size"),
        (
            'filename: "/bench/$o", size: 64k',
            "use no variables except $jobname, $jobnum and $filenum",
        ),
    ],
)
def test_objects_whose_names_or_number_are_unsure_are_refused(
    tmp_path: Path, names: str, told: str
) -> None:
    with pytest.raises(UsageError) as refused:
        own(tmp_path, f"rw: write, {names}", direction="write")
    assert told in str(refused.value)


def test_workers_that_share_a_name_use_parts_of_their_own(tmp_path: Path) -> None:
    job = 'rw: write, filename: "/bench/{host}", size: 640k, numjobs: 2, offset_increment: 640k'
    assert own(tmp_path, job, direction="write").steps[0].tasks[0].objects == [
        ObjectSet(STORE, "h1_*_65536", 20, 65536, ("put",))
    ]


def test_hosts_do_not_overwrite_each_others_objects(tmp_path: Path) -> None:
    shared = NAMES.replace("{host}", "all")
    with pytest.raises(UsageError, match="h1 and h2 use the same objects"):
        own(tmp_path, f"rw: write, {shared}", hosts=2, direction="write")
    read = own(tmp_path, f"rw: randread, {shared}", hosts=2)
    assert [step.hosts for step in read.steps] == [
        ["h1"],
        ["h1", "h2"],
    ], "the first host puts what both get"


def test_patterns_that_fit_the_same_object_are_the_same_objects(tmp_path: Path) -> None:
    job = (
        'rw: write, filename: "/bench/x", filesize: 40k, bs: 4k}, b: {rw: write, bs: 4k, filesize:'
        " 4k, "
    )
    with pytest.raises(UsageError, match="two jobs of h1 use the same objects"):
        own(tmp_path, job + 'filename_format: "/bench/x"', direction="write")


@pytest.mark.parametrize("deletes", ["all", "{host}"])
def test_roles_do_not_delete_what_another_role_gets_at_the_same_time(
    tmp_path: Path, deletes: str
) -> None:
    for name, rw, host in (("get", "randread", "all"), ("delete", "trim", deletes)):
        job = f"rw: {rw}, {NAMES.replace('{host}', host)}"
        text = PROFILE.format(job=job, prepare=PUT_FIRST, direction=rw.removeprefix("rand"))
        (tmp_path / f"{name}.yaml").write_text(text.replace("my/objects", f"my/{name}"))
    (tmp_path / "suite.yaml").write_text(TOGETHER)
    loaded = Catalogue(tmp_path).load("my/suite")
    if deletes == "all":
        with pytest.raises(UsageError, match=r"h[12] and h[12] use the same objects"):
            build_plan(loaded, Choices(HOSTS[:2]))
    else:
        assert len(list(at_once(build_plan(loaded, Choices(HOSTS[:2])).steps))[-1]) == 2


@pytest.mark.parametrize(
    ("deleted", "told"), [("100", "objects remain in"), ("1000", "the last step deletes")]
)
def test_a_plan_that_deletes_fewer_objects_than_it_puts_says_that_objects_stay(
    tmp_path: Path, deleted: str, told: str
) -> None:
    for name in ("put", "delete"):
        text = (PRESETS / f"{name}.yaml").read_text()
        (tmp_path / f"{name}.yaml").write_text(text.replace("profile: s3/", "profile: my/"))
    members = (
        "[{profile: my/put, set: {objects: 1000}}, {profile: my/delete, set: {objects:"
        f" {deleted}}}}}]"
    )
    (tmp_path / "both.yaml").write_text(
        f"profile: my/both\ntitle: Both\ntool: suite\nsuite: {members}\n"
    )
    assert after_text(
        build_plan(Catalogue(tmp_path).load("my/both"), Choices(HOSTS[:1]))
    ).startswith(told)


def test_a_bucket_must_be_named_to_put_into_it_or_delete_from_it() -> None:
    for name in ("put", "get", "delete", "all"):
        plan = preset(name)
        assert overwrites(plan) and unnamed_devices(plan) == [STORE]
        found = list(judge_targets(plan, "h1", HostFindings(HostProbe({}, {}))))
        assert [(code, STORE in problem_text(told)) for code, told in found] == [
            ("destroy-not-confirmed", True)
        ]


def test_only_the_bucket_of_the_run_can_be_named() -> None:
    from msgspec.structs import replace

    plan = preset("put")
    named = replace(plan, destroy=(STORE,))
    check_names(named)
    assert list(judge_targets(named, "h1", HostFindings(HostProbe({}, {})))) == []
    with pytest.raises(UsageError, match="not a target of this run"):
        check_names(replace(plan, destroy=("s3.example.com/other",)))


def test_objects_are_shown_before_the_name_of_their_bucket_is_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = tuple(
        HostTargets(task.host, objects=tuple(task.objects))
        for task in preset("put", 2).steps[0].tasks
    )
    monkeypatch.setattr("sys.stdin", StringIO(f"{STORE}\n"))
    assert ask_for_names(Preview(hosts, (STORE,))) == (STORE,)
    shown = capsys.readouterr().err.splitlines()
    assert [(line.split(":")[0], f"benchtui/{line[:2]}/" in line) for line in shown[:2]] == [
        ("h1", True),
        ("h2", True),
    ]


def test_a_host_needs_a_fio_with_the_engine_and_is_told_where_it_is_from() -> None:
    wanted = FioWorkload().requirements(preset("get").steps)
    assert [need.trial_args for need in wanted if need.trial_of == "ioengine http"] == [
        ("--enghelp=http",)
    ]
    assert all(need.source for need in wanted if need.trial_args)
    assert [need.trial_of for need in FioWorkload().extras()] == ["ioengine http"]


JOB = """\
[global]
ioengine=http
http_s3_key=${KEY}
direct=1
filename=/bench/object
bs=4k
size=64k
[create]
rw=write
[trim]
stonewall
rw=trim
"""


def test_an_imported_job_file_leaves_out_what_is_about_files_and_puts_its_objects_first() -> None:
    found = FioWorkload().import_job(JOB, "s3.fio", "my/s3", {})
    texts = dict(found.profiles)
    assert [tag for tag, text in texts.items() if "precondition: {fill: 1" in text] == ["my/s3-2"]
    assert not any("direct:" in text for text in texts.values())
    assert [
        each.line for each in found.messages if each.message.startswith("direct is dropped")
    ] == [4]


def recorded(name: str, of: str, **params: str) -> Replayed:
    printed = recording(f"s3/{name}")
    output = Output(printed.stdout, printed.stderr, printed.exit_code or 0)
    return replay(FioWorkload, PRESETS / f"{of}.yaml", {"local": output}, {**RECORDED, **params})


@pytest.mark.parametrize(
    ("name", "direction", "ios"),
    [("put", "write", 600), ("get", "read", None), ("delete", "trim", 600)],
)
def test_recorded_output_keeps_the_contract(name: str, direction: str, ios: int | None) -> None:
    found = recorded(name, name, **({"runtime": "3s"} if name == "get" else {}))
    result = found.record.steps[0].results.aggregate[direction]
    assert ios in (None, result.ios) and result.lat is not None and result.lat.n == result.ios
    moot = {
        "storage-traffic",
        "direct-io",
        "working-set",
        "no-flush",
        "io-limit",
        "target-full",
        "other-traffic",
    }
    assert {reason_code(found.record, name) for name in moot} == {"objects"}


def problems(name: str, of: str) -> dict[str, str]:
    printed = recording(f"s3/{name}")
    plan = preset(of, 1, **RECORDED)
    reader = FioWorkload().reader("h1", plan.steps[-1], "measure", "clat")
    reader.feed_stderr(printed.stderr)
    reader.feed(printed.stdout)
    return dict(texts("fio", reader.problems(printed.exit_code)))


@pytest.mark.parametrize(
    ("name", "of", "told"),
    [
        ("put-403", "put", "PUT failed with HTTP 403: wrong keys"),
        ("put-503", "put", "PUT failed with HTTP 503: the store is overloaded"),
        ("get-503", "get", "GET failed with HTTP 503: the store is overloaded"),
    ],
)
def test_a_refused_request_is_identified_by_its_status(name: str, of: str, told: str) -> None:
    found = problems(name, of)
    assert found["fio-http-status"].startswith(told)
    assert "fio-error-5" not in found, "said once"


def test_fio_itself_takes_gets_of_missing_objects_for_done() -> None:
    found = recorded("get-404", "get", runtime="3s")
    assert found.record.steps[0].results.aggregate["read"].ios > 1000
    assert "tool-errors" not in {each.id for each in found.record.findings}


def test_a_bucket_is_asked_for_with_the_keys_in_the_environment_only() -> None:
    workload = FioWorkload()
    plan = preset("put", 1, https="insecure")
    (check,) = workload.target_checks(plan.steps)
    assert (check.target, check.needs) == (STORE, "fio")
    assert check.words[-2:] == (f"https://{STORE}", "us-east-1")
    assert 'key="${AWS_SECRET_ACCESS_KEY}"' in check.words[2] and "-sSIk" in check.words[2]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("HTTP 404", "fio-http-status"),
        ("curl: (7) Failed to connect to h port 9: Couldn't connect HTTP 000", "fio-no-answer"),
        ("HTTP 200", None),
        ("HTTP 403", None),
        ("curl: (60) SSL certificate problem HTTP 000", None),
        ("curl: option --aws-sigv4: is unknown", None),
        ("still running after 60s", None),
    ],
)
def test_only_404_and_no_connection_mean_that_a_bucket_cannot_be_used(
    said: str, code: str | None
) -> None:
    workload = FioWorkload()
    (check,) = workload.target_checks(preset("put", 1).steps)
    found = workload.target_problem(check, said)
    assert (found and found[0]) == code
