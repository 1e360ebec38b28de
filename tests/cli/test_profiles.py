from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from select import select

import jsonschema
import pytest
from ruamel.yaml import YAML

from tests.patience import PATIENCE_S
from tui.cli.main import main
from tui.model.inventory import load_inventory

ROOT = Path(__file__).parents[2]
Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *argv: str) -> tuple[int, str, str]:
    """Run the command; return its exit code, stdout and stderr."""
    code = main(argv)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def editor(folder: Path, body: str) -> str:
    """Return an editor: a shell script that gets the file as $1."""
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_list_has_profiles_by_what_they_measure_and_the_users_own_at_the_end(
    home: Path, capsys: Captured
) -> None:
    run(capsys, "profiles", "new", "my/read-iops", "--from", "weka/read-iops")
    code, out, err = run(capsys, "profiles", "list")
    assert (code, err) == (0, "")
    blocks = [
        [" ".join(line.split()) for line in block.splitlines()] for block in out.split("\n\n")
    ]
    assert blocks[0] == ["first look", "demo/quick Ten seconds of mixed random I/O on 64 MiB"]
    (iops,) = (block for block in blocks if block[0] == "IOPS")
    assert "weka/read-iops WEKA read IOPS" in iops
    assert blocks[-1] == ["user-defined", "my/read-iops WEKA read IOPS (read-iops)"]


def test_list_shows_a_broken_file_and_the_others(home: Path, capsys: Captured) -> None:
    folder = home / "profiles"
    folder.mkdir()
    (folder / "x.yaml").write_text("profile: [")
    code, out, _ = run(capsys, "profiles", "list")
    assert code == 0
    (line,) = (line for line in out.splitlines() if line.split()[:1] == ["x"])
    assert f"broken: {folder}/x.yaml:2:1: broken YAML" in line
    assert "demo/quick" in out


def test_list_as_json_is_one_document(home: Path, capsys: Captured) -> None:
    _, out, _ = run(capsys, "profiles", "list", "--json")
    found = {row["tag"]: row for row in json.loads(out)}
    assert found["weka/read-latency"] == {
        "tag": "weka/read-latency", "title": "WEKA read latency", "preset": True, "tool": "fio",
        "headline": "read p99.5 latency", "error": None, "group": "latency",
        "path": str(ROOT / "profiles/weka/read-latency.yaml"),
    }  # fmt: skip


def test_show_prints_the_file_as_it_is(home: Path, capsys: Captured) -> None:
    _, out, _ = run(capsys, "profiles", "show", "demo/quick")
    assert out == (ROOT / "profiles/demo/quick.yaml").read_text()


def test_show_prints_a_job_file_that_fio_takes(
    home: Path, capsys: Captured, tmp_path: Path
) -> None:
    _, out, _ = run(
        capsys, "profiles", "show", "demo/quick", "--fio", "--set", "size=32M", "--set", "direct=no"
    )
    assert {"size=32M", "direct=0", "rw=randrw"} <= set(out.splitlines())
    job = tmp_path / "job.fio"
    job.write_text(out)
    done = subprocess.run(["fio", "--parse-only", job], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_show_as_json_has_the_values_of_the_parameters(home: Path, capsys: Captured) -> None:
    _, out, _ = run(capsys, "profiles", "show", "weka/read-iops", "--json", "--set", "runtime=5m")
    shown = json.loads(out)
    wanted = {"directory": "/mnt/weka/fio", "runtime": 300.0, "size": 4 << 30, "numjobs": 192}
    assert {**shown["values"], **wanted} == shown["values"]
    assert shown["fio"]["jobs"]["read_iops"]["rw"] == "randread"
    assert (shown["preset"], shown["path"]) == (True, str(ROOT / "profiles/weka/read-iops.yaml"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["demo/quik"],
            "unknown profile 'demo/quik' (did you mean 'demo/quick'?); see benchtui profiles list",
        ),
        (
            ["demo/quick", "--fio", "--set", "sise=1"],
            (
                "unknown parameter 'sise' (did you mean 'size'?); "
                "demo/quick has: directory, runtime, size, numjobs, direct"
            ),
        ),
        (["demo/quick", "--fio", "--set", "size"], "--set 'size': expected NAME=VALUE"),
        (
            ["demo/quick", "--set", "size=1M"],
            "--set requires --job or --json; it does not change the YAML",
        ),
    ],
)
def test_show_refuses_in_one_line(
    home: Path, capsys: Captured, arguments: list[str], message: str
) -> None:
    assert run(capsys, "profiles", "show", *arguments) == (2, "", f"benchtui: {message}\n")


def test_check_says_what_is_right_and_all_that_is_wrong(
    home: Path, capsys: Captured, tmp_path: Path
) -> None:
    good, bad = ROOT / "profiles/demo/quick.yaml", tmp_path / "bad.yaml"
    bad.write_text(good.read_text().replace("tool: fio", "tool: foo").replace("bs: 4k", "bss: 4k"))
    code, out, err = run(
        capsys, "profiles", "check", str(bad), str(good), str(tmp_path / "none.yaml")
    )
    assert code == 2
    assert out == f"{good}: ok (demo/quick)\n"
    tool, option, missing = err.splitlines()
    assert (
        tool
        == f"{bad}:6:7: tool: found 'foo'; allowed: 'elbencho', 'fio', 'io500', 'ior', 'mdtest',"
        " 'suite'"
    )
    assert (
        option.startswith(f"{bad}:25:38: unknown fio option 'bss' (did you mean ")
        and "'bs'" in option
    )
    assert missing == f"{tmp_path}/none.yaml: cannot be read: No such file or directory"


def test_check_of_good_files_ends_with_0(home: Path, capsys: Captured) -> None:
    files = [
        str(path)
        for path in sorted((ROOT / "profiles").rglob("*.yaml"))
        if "baselines" not in path.parts
    ]
    code, out, err = run(capsys, "profiles", "check", *files)
    assert (code, err, len(out.splitlines())) == (0, "", len(files))


def test_new_from_a_profile_changes_it_in_a_few_lines(home: Path, capsys: Captured) -> None:
    path = home / "profiles/my/reads.yaml"
    assert run(capsys, "profiles", "new", "my/reads", "--from", "weka/read-iops") == (
        0,
        f"{path}\n",
        "",
    )
    assert run(capsys, "profiles", "check", str(path)) == (0, f"{path}: ok (my/reads)\n", "")
    meant = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert meant == [
        "profile: my/reads",
        "extends: weka/read-iops",
        'title: "WEKA read IOPS (reads)"',
    ]


def test_a_title_with_figures_is_not_kept_where_they_may_change(
    home: Path, capsys: Captured
) -> None:
    run(capsys, "profiles", "new", "my/quick", "--from", "demo/quick")
    text = (home / "profiles/my/quick.yaml").read_text()
    (title,) = (line for line in text.splitlines() if line.startswith("title:"))
    assert "demo/quick" in title and "64" not in title


def test_what_may_be_changed_is_there_as_comments(home: Path, capsys: Captured) -> None:
    run(capsys, "profiles", "new", "my/reads", "--from", "weka/read-iops")
    path = home / "profiles/my/reads.yaml"
    path.write_text(
        re.sub(r"(?m)^# (params:|  \w+:.*)", r"\1", path.read_text()).replace("192 ", "8 ")
    )
    assert run(capsys, "profiles", "check", str(path)) == (0, f"{path}: ok (my/reads)\n", "")
    _, out, _ = run(capsys, "profiles", "show", "my/reads", "--fio")
    assert "numjobs=8" in out.splitlines()


def test_new_with_copy_is_the_whole_profile(home: Path, capsys: Captured) -> None:
    run(capsys, "profiles", "new", "my/reads", "--from", "weka/read-iops", "--copy")
    before = (ROOT / "profiles/weka/read-iops.yaml").read_text()
    text = (home / "profiles/my/reads.yaml").read_text()
    assert text.split("\n", 1)[1] == before.replace("profile: weka/read-iops", "profile: my/reads")


def test_new_without_an_origin_starts_from_the_demo(home: Path, capsys: Captured) -> None:
    run(capsys, "profiles", "new", "my/first")
    _, out, _ = run(capsys, "profiles", "show", "my/first")
    assert "profile: my/first" in out
    assert "Ten seconds" in out


def test_new_files_tell_editors_where_their_schema_is(home: Path, capsys: Captured) -> None:
    run(capsys, "profiles", "new", "my/reads")
    path = home / "profiles/my/reads.yaml"
    modeline = re.match(r"# yaml-language-server: \$schema=(.+)\n", path.read_text())
    assert modeline
    written = (path.parent / modeline[1]).resolve()
    assert written == home / "profiles/.benchtui-profile.schema.json"
    assert json.loads(written.read_text()) == json.loads(run(capsys, "schema", "profile")[1])


def test_an_old_schema_is_renewed(home: Path, capsys: Captured) -> None:
    path = home / "profiles/.benchtui-profile.schema.json"
    path.parent.mkdir()
    path.write_text("{}")
    run(capsys, "profiles", "new", "my/reads")
    assert "properties" in json.loads(path.read_text())


def test_new_never_overwrites(home: Path, capsys: Captured) -> None:
    run(capsys, "profiles", "new", "my/reads")
    code, out, err = run(capsys, "profiles", "new", "my/reads")
    assert (code, out) == (2, "")
    assert (
        err == f"benchtui: profile 'my/reads' exists: {home}/profiles/my/reads.yaml; choose another"
        " name\n"
    )


def test_edit_opens_a_copy_and_leaves_the_preset_alone(
    home: Path, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (ROOT / "profiles/demo/quick.yaml").read_text()
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path, 'sed -i s/16M/8M/ "$1"'))
    code, _, err = run(capsys, "profiles", "edit", "demo/quick")
    own = home / "profiles/demo/quick.yaml"
    assert (code, err) == (0, f"{own}: ok\n")
    assert own.read_text().split("\n", 1)[1] == before.replace("16M", "8M")
    assert (ROOT / "profiles/demo/quick.yaml").read_text() == before


def test_visual_wins_over_editor_and_may_have_arguments(
    home: Path, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "/nonexistent")
    monkeypatch.setenv("VISUAL", editor(tmp_path, 'shift; sed -i s/16M/8M/ "$1"') + " --wait")
    assert run(capsys, "profiles", "edit", "demo/quick")[0] == 0
    assert "8M" in (home / "profiles/demo/quick.yaml").read_text()


def test_edit_without_a_terminal_says_what_is_wrong_once(
    home: Path, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, 'sed -i s/psync/psink/ "$1"'))
    code, _, err = run(capsys, "profiles", "edit", "demo/quick")
    assert code == 2
    place = f"{home}/profiles/demo/quick.yaml:18:15"
    assert err.startswith(f"{place}: ioengine: unknown ioengine 'psink' (did you mean 'psync'?)")


def test_a_broken_profile_can_be_edited_again(
    home: Path, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, 'sed -i s/psync/psink/ "$1"'))
    assert run(capsys, "profiles", "edit", "demo/quick")[0] == 2
    monkeypatch.setenv("VISUAL", editor(tmp_path, 'sed -i s/psink/psync/ "$1"'))
    assert run(capsys, "profiles", "edit", "demo/quick")[0] == 0


def test_an_editor_that_cannot_be_started_is_named(
    home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "/nonexistent/editor")
    code, _, err = run(capsys, "profiles", "edit", "demo/quick")
    assert code == 2
    assert err.startswith("benchtui: cannot start the editor '/nonexistent/editor': ")


def test_on_a_terminal_a_broken_profile_is_offered_again(home: Path, tmp_path: Path) -> None:
    """The editor breaks the file first, and mends it the second time."""
    body = (
        'if grep -q psync "$1"; then sed -i s/psync/psink/ "$1"; else sed -i s/psink/psync/'
        ' "$1"; fi'
    )
    environ = {**os.environ, "VISUAL": editor(tmp_path, body), "BENCHTUI_HOME": str(home)}
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tui", "profiles", "edit", "demo/quick"],
        stdin=side, stdout=subprocess.PIPE, stderr=side, env=environ, cwd=ROOT,
    )  # fmt: skip
    os.close(side)
    assert "unknown ioengine 'psink'" in read_until(terminal, "edit again? [y/N]")
    os.write(terminal, b"y\n")
    assert read_until(terminal, "quick.yaml: ok")
    assert process.wait(PATIENCE_S) == 0
    os.close(terminal)


def read_until(terminal: int, text: str, deadline_s: float = PATIENCE_S) -> str:
    """Return what a terminal showed up to and with a text."""
    shown = ""
    end = time.monotonic() + deadline_s
    while text not in shown:
        ready, _, _ = select([terminal], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"{text!r} was not shown within {deadline_s} s, but: {shown!r}"
        shown += os.read(terminal, 4096).decode(errors="replace")
    return shown


JOB = """\
[global]
ioengine=psync
directory=/mnt/t
size=${SIZE}
[w]
rw=write
[r]
stonewall
rw=read
percentile_list=50
"""


def job_file(folder: Path, text: str = JOB) -> str:
    path = folder / "Seq.fio"
    path.write_text(text)
    return str(path)


def test_import_makes_profiles_of_a_job_file_and_says_what_it_changed(
    home: Path, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIZE", "64m")
    file = job_file(tmp_path)
    code, out, err = run(capsys, "profiles", "import", file, "--name", "lab/seq")
    paths = [home / f"profiles/lab/seq{part}.yaml" for part in ("", "-1", "-2")]
    assert (code, out.splitlines()) == (0, list(map(str, paths)))
    assert err.splitlines() == [
        (f"{file}:7: stonewall: 2 consecutive steps, one profile each; lab/seq runs them in order"),
        f"{file}:10: percentile_list is dropped: benchtui records a fixed list of percentiles",
    ]
    assert run(capsys, "profiles", "check", *map(str, paths))[0] == 0
    _, shown, _ = run(capsys, "profiles", "show", "lab/seq", "--fio", "--set", "size=1G")
    assert [line for line in shown.splitlines() if line.startswith(("[r", "[w", "rw=",
        "size="))] == [
        "size=1G", "[w]", "rw=write", "size=1G", "[r]", "rw=read",
    ]  # fmt: skip


def test_import_writes_where_it_is_told(home: Path, capsys: Captured, tmp_path: Path) -> None:
    file = job_file(tmp_path, JOB.replace("${SIZE}", "1m").replace("stonewall\n", ""))
    target = tmp_path / "x.yaml"
    assert run(capsys, "profiles", "import", file, "-o", str(target))[:2] == (0, f"{target}\n")
    assert target.read_text().startswith("# Imported from Seq.fio\nprofile: my/seq\n")
    assert target.stat().st_mode & 0o777 == 0o600
    code, out, err = run(capsys, "profiles", "import", file, "-o", str(target))
    assert (code, out, err) == (2, "", f"benchtui: {target} exists; choose another file with -o\n")
    assert run(capsys, "profiles", "import", file, "-o", "-")[1] == target.read_text()


def test_import_never_overwrites_a_profile(home: Path, capsys: Captured, tmp_path: Path) -> None:
    file = job_file(tmp_path, JOB.replace("${SIZE}", "1m"))
    assert run(capsys, "profiles", "import", file)[0] == 0
    code, out, err = run(capsys, "profiles", "import", file)
    assert (code, out) == (2, "")
    assert err.startswith("benchtui: profile 'my/seq' exists: ")


def test_import_says_everything_that_has_no_place_in_a_profile(
    home: Path, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIZE", raising=False)
    file = job_file(tmp_path, JOB + "include more.fio\n")
    assert run(capsys, "profiles", "import", file) == (
        2, "",
        f"benchtui: {file}:11: 'include more.fio': include is not supported; insert the lines of that file\n"
    )  # fmt: skip
    file = job_file(tmp_path)
    _, _, err = run(capsys, "profiles", "import", file)
    assert (
        err
        == f"benchtui: {file}:4: ${{SIZE}} is not set in the environment; set it for the import, as for fio\n"
    )
    assert run(capsys, "profiles", "import", "/nowhere.fio")[0] == 2


PARTS = [
    {"profile": "my/x", "extends": "a/b"},
    {
        "profile": "my/x",
        "extends": "a/b",
        "params": {"size": "4G", "numjobs": {"max": 9}},
        "repeat": {"until": "5%"},
    },
    {
        "profile": "my/x",
        "extends": "a/b",
        "fio": {"global": {"bs": "4k", "direct": True}},
        "pause": 10,
    },
]
WRONG = [
    {"profile": "my/x", "title": "x"},
    {"profile": "my/x", "extends": "a/b", "titel": "x"},
    {"profile": "my/x", "title": "x", "tool": "fio", "params": {"size": "4G"}},
    {"profile": "my/x", "extends": "a/b", "repeat": {"until": "a bit"}},
    {"profile": "my/x", "extends": "a/b", "fio": {"global": {"bs": ["4k"]}}},
]


def test_the_schema_of_a_profile_takes_the_presets(home: Path, capsys: Captured) -> None:
    schema = json.loads(run(capsys, "schema", "profile")[1])
    paths = [path for path in (ROOT / "profiles").rglob("*.yaml") if "baselines" not in path.parts]
    assert len(paths) > 10
    validator = jsonschema.Draft202012Validator(schema)
    for path in paths:
        validator.validate(json.loads(json.dumps(YAML(typ="safe").load(path), default=str)))


def test_the_schema_of_a_profile_knows_what_a_change_may_leave_out(
    home: Path, capsys: Captured
) -> None:
    schema = json.loads(run(capsys, "schema", "profile")[1])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert [part for part in PARTS if not validator.is_valid(part)] == []
    assert [part for part in WRONG if validator.is_valid(part)] == []


def test_the_schema_of_a_profile_offers_fio_s_options_and_words(
    home: Path, capsys: Captured
) -> None:
    options = json.loads(run(capsys, "schema", "profile")[1])["$defs"]["Options"]["properties"]
    assert "randread" in options["rw"]["anyOf"][0]["enum"]
    assert "libaio" in options["ioengine"]["anyOf"][0]["enum"]
    assert "stonewall" not in options


UNKNOWN_OPTIONS = {
    "randrd: 1": False,
    "thinktim: 5": False,
    "stonewall: 1": False,
    "wait_for: a": False,
    "thinktime: 5": True,
    "blocksize: 4k": True,
    "of_it: 1, ioengine: 'external:/opt/e.so'": True,
    "of_it: 1, ioengine: '{engine}'": True,
}


@pytest.mark.parametrize("place", ["global", "job"])
@pytest.mark.parametrize("options", UNKNOWN_OPTIONS)
def test_the_schema_of_a_profile_and_the_check_refuse_the_same_options(
    home: Path, tmp_path: Path, options: str, place: str, capsys: Captured
) -> None:
    shared = "ioengine: psync, directory: /tmp, size: 1m, rw: read"
    fio = {
        "global": f"global: {{{shared}}}, jobs: {{j: {{}}}}",
        "job": f"global: {{}}, jobs: {{j: {{{shared}}}}}",
    }
    text = fio[place].replace("rw: read", f"rw: read, {options}")
    text = text.replace("ioengine: psync, ", "" if "ioengine" in options else "ioengine: psync, ")
    path = tmp_path / "p.yaml"
    path.write_text(
        "profile: my/p\ntitle: P\ntool: fio\nparams: {engine: {default: psync, kind: text}}\n"
        f"fio: {{{text}}}\nheadline: {{metric: iops, direction: read}}\n"
    )
    schema = json.loads(run(capsys, "schema", "profile")[1])
    _, _, said = run(capsys, "profiles", "check", str(path))
    refused = any(word in said for word in ("unknown fio option", "is not allowed in a profile"))
    assert (
        jsonschema.Draft202012Validator(schema).is_valid(YAML(typ="safe").load(path)),
        refused,
    ) == (
        UNKNOWN_OPTIONS[options],
        not UNKNOWN_OPTIONS[options],
    ), said


def test_the_schema_of_an_inventory_takes_what_loads(home: Path, capsys: Captured) -> None:
    text = "hosts: {'h[1-2]': {user: x}, b: null}\ngroups: {g: ['h[1-2]']}\n"
    assert load_inventory(text, "i")
    jsonschema.validate(
        YAML(typ="safe").load(text), json.loads(run(capsys, "schema", "inventory")[1])
    )


def test_the_schema_of_a_run_is_one(home: Path, capsys: Captured) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(run(capsys, "schema", "run")[1]))
