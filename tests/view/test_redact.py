"""Redacted reports: no name of the operator's is left, and the same name is always the same
word.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tui.cli.main import main
from tui.judge.wording import message_of
from tui.model.exporter import installed, load
from tui.model.record import RunRecord
from tui.view.report.content import ReportedRun
from tui.view.report.redact import Names, Replacer, redacted
from tui.view.report.write import written

RUN = Path(__file__).parents[1] / "data" / "runs" / "plain"
HOSTS = ("acmedb01.berlin.acme-bank.example", "acmedb02.berlin.acme-bank.example")
SECRETS = (
    *HOSTS,
    *(
        "acmedb01",
        "acme-bank",
        "berlin",
        "ledger",
        "AcmeFiler",
        "10.17.33.4",
        "fe80::1c2d:3eff",
        "02:42:ac:11:00:02",
    ),
    *("3f1b9d7e-0c55-4b9e-9a51-1f0e2b6d7c88", "jdoe", "mallory", "Project Falcon", "falcon"),
)


def renamed() -> dict[str, Any]:
    """Return a run in which everything that can be named is."""
    record: dict[str, Any] = json.loads(named((RUN / "run.json").read_text()))
    record["target"] = "AcmeFiler"
    record["notes"] = [{"utc": None, "text": "Project Falcon, ask mallory"}]
    record["tags"] = {"project": "falcon"}
    record["messages"] = [
        {
            "t_s": 1.0,
            "severity": "warning",
            "host": HOSTS[0],
            "text": f"{HOSTS[0]}: AcmeFiler:/export/ledger is slow",
        },
        {
            "t_s": 2.0,
            "severity": "error",
            "host": None,
            "text": "10.17.33.4 and fe80::1c2d:3eff do not answer jdoe@10.17.33.4",
        },
        {
            "t_s": 3.0,
            "severity": "error",
            "host": None,
            "text": "acmedb01: 02:42:ac:11:00:02 is in ledger",
        },
    ]
    facts = record["hosts"][0]["facts"]
    facts.update(hostname="acmedb01", user="jdoe", boot_id="3f1b9d7e-0c55-4b9e-9a51-1f0e2b6d7c88")
    facts.update(target_source="10.17.33.4:/vol/ledger", target_mount="/mnt/ledger")
    record["findings"] = [
        {
            "id": "straggler",
            "severity": "warning",
            "scope": {"hosts": HOSTS[0]},
            "message": f"{HOSTS[0]} 60 %",
        }
    ]
    record["provenance"]["jump_host"].update(hostname="jump.acme-bank.example", user="jdoe")
    record["attested"] = [
        {
            "id": "cache",
            "question": "Are caches off?",
            "answer": "yes",
            "by": "mallory",
            "utc": None,
        }
    ]
    for each in record["profile"]["job_files"]:
        each["text"] = f"; made for Project Falcon\n{each['text']}"
    record["profile"].update(
        preset=False, tag="acme-bank/ledger", title="End of day of Project Falcon", text="# falcon"
    )
    return record


@pytest.fixture(scope="module")
def source() -> ReportedRun:
    return ReportedRun(RunRecord.model_validate(renamed()), RUN)


@pytest.mark.parametrize("shape", ["html", "md"])
def test_no_name_is_left(source: ReportedRun, shape: Any) -> None:
    text = written([source], shape, redact=True)
    assert [name for name in SECRETS if name.casefold() in text.casefold()] == []
    assert all(
        name.casefold() in written([source], "md").replace("\\", "").casefold()
        for name in SECRETS[:2]
    )


def test_a_host_has_one_name_everywhere(source: ReportedRun) -> None:
    (found,) = redacted([source])
    record = found.record
    assert [host.name for host in record.hosts] == ["host-1", "host-2"]
    assert (
        set(record.steps[0].results.per_host)
        == set(record.provenance.tool_versions)
        == {"host-1", "host-2"}
    )
    assert {column.host for column in record.steps[0].series.columns} == {None, "host-1", "host-2"}  # type: ignore[union-attr]
    assert record.findings[0].message == "host-1 60 %"
    assert record.messages[0].text == "host-1: target-1:/export/dir-1 is slow"
    assert str(record.messages[2].text).startswith("host-1: address-")
    assert record.hosts[0].facts["target_mount"] == "/mnt/dir-1"


def test_figures_and_facts_of_hardware_stay(source: ReportedRun) -> None:
    (found,) = redacted([source])
    assert found.record.headline == source.record.headline
    before, after = (each.record.steps[0].results.aggregate["read"] for each in (source, found))
    assert (after.iops, after.clat, after.lat) == (before.iops, before.clat, before.lat)
    assert found.record.hosts[0].facts["cpu_model"] == source.record.hosts[0].facts["cpu_model"]
    assert "notes" in renamed()
    assert (found.record.notes, found.record.tags) == ([], {})


def test_words_of_ones_own_are_hidden_too(source: ReportedRun) -> None:
    text = written([source], "md", words=["Xeon(R)"], redact=True)
    assert "Xeon" not in text
    assert "name-1" in text


def test_runs_of_one_report_share_their_names(source: ReportedRun) -> None:
    first, second = redacted([source, source])
    assert [host.name for host in first.record.hosts] == [host.name for host in second.record.hosts]
    assert (first.record.run_id, second.record.run_id) == ("run-1", "run-2")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/dev/nvme0n1", "/dev/nvme0n1"),
        ("/mnt/test/fio", "/mnt/test/fio"),
        ("nic.eth0.rx of vm.dirty_ratio", "nic.eth0.rx of vm.dirty_ratio"),
        ("fio-3.36 at 12:30:05", "fio-3.36 at 12:30:05"),
        ("lost at 127.0.0.1", "lost at 127.0.0.1"),
        ("to nas.acme.com", "to server-1"),
        ("/sys/devices/system/cpu/cpu0 of a CPU", "/sys/devices/system/cpu/cpu0 of a CPU"),
        ("/dev/mapper/acme-vg", "/dev/mapper/dir-1"),
        ("2001:db8::7 and 2001:db8::7", "address-1 and address-1"),
        ("/home/jdoe/run", "/home/dir-1/run"),
        ("filename=/mnt/x1/benchtui-demo.$jobnum", "filename=/mnt/d1/benchtui-demo.$jobnum"),
        (
            "cannot reach 10.99.33.4:22 nor filer.acme.bank",
            "cannot reach address-1:22 nor server-1",
        ),
        ("v2:10.99.33.4:3300/0 and user:10.99.33.4.", "v2:address-1:3300/0 and user:address-1."),
        ("[2001:db8::7]:6789 and addr:2001:db8::7", "[address-1]:6789 and addr:address-1"),
        ("jdoe@filer.acme.com lost", "user-1@server-1 lost"),
        ("mon1,mon2:6789,mon3:/ledger", "server-1,server-2:6789,server-3:/dir-1"),
        ("10.1.2.3@o2ib:10.1.2.4@tcp1:/acme", "address-1@o2ib:address-2@tcp1:/dir-1"),
        ("//filer01/acme is slow", "//server-1/dir-1 is slow"),
        (
            "GET https://jdoe:key@acme.corp:80/ledger?token=1 failed",
            "GET https://user-1@server-1:80/dir-1 failed",
        ),
        ("http://127.0.0.1:9090/metrics", "http://127.0.0.1:9090/dir-1"),
        ("iqn.2003-01.org.acme.filer:sn.42 and nqn.2014-08.com.acme:nvme:eod", "id-1 and id-2"),
        (
            "read.iops, client-cpu.host and job.fio of an m5.xlarge",
            "read.iops, client-cpu.host and job.fio of an m5.xlarge",
        ),
        ("via http://jdoe:a@b@proxy/x", "via http://user-1@server-1/d1"),
    ],
)
def test_texts_without_names(text: str, shown: str) -> None:
    assert Replacer(Names(tools={"fio"})).text(text) == shown


@pytest.mark.parametrize(
    ("fstype", "mounted", "hidden"),
    [
        ("ceph", "192.168.7.9:6789,192.168.7.10:6789:/ledger", ["192.168.7", "ledger"]),
        ("ceph", "mona,monb:6789:/", ["mona", "monb"]),
        (
            "ceph",
            "eod@3f1b9d7e-0c55-4b9e-9a51-1f0e2b6d7c99.acmefs=/",
            ["eod", "3f1b9d7e-", "acmefs"],
        ),
        ("cifs", "//filer01.acme.bank/eod", ["filer01", "acme", "eod"]),
        ("wekafs", "wekabe01/acmefs", ["wekabe01", "acmefs"]),
        ("wekafs", "default", []),
        ("lustre", "10.1.2.3@o2ib:10.1.2.4@o2ib:/acmefs", ["10.1.2", "acmefs"]),
        ("lustre", "mgs1.acme.bank@tcp:/scratch", ["mgs1", "acme"]),
        ("zfs", "tank/acme/eod", ["tank", "acme", "eod"]),
        ("fuse.juicefs", "JuiceFS:acmefs", ["acmefs"]),
        ("nfs4", "[fe80::1c2d]:/vol/eod", ["1c2d]", "eod"]),
    ],
)
def test_what_a_target_is_mounted_from_is_hidden_everywhere(
    fstype: str, mounted: str, hidden: list[str]
) -> None:
    record = json.loads((RUN / "run.json").read_text())
    record["hosts"][0]["facts"].update(
        target_fstype=fstype,
        target_source=mounted,
        target_mount_options="rw,username=mallory,fs=acmevol,vers=4.2",
    )
    words = [each for each in hidden if len(each) > 3 and each.isalnum()]
    said = f"{mounted} is slow, {' and '.join(words)} too, mallory"
    record["messages"] = [{"t_s": 1.0, "severity": "warning", "host": None, "text": said}]
    (found,) = redacted([ReportedRun(RunRecord.model_validate(record), RUN)])
    left = found.record.to_json()
    assert [each for each in (*hidden, "mallory", "acmevol") if each in left] == []
    facts = found.record.hosts[0].facts
    assert facts["target_fstype"] == fstype
    assert str(facts["target_mount_options"]).startswith("rw,username=") and "vers=4.2" in str(
        facts
    )


def test_what_stands_for_a_name_is_no_name_itself() -> None:
    names = Names()
    for name, kind in (("user", "user"), ("host", "host"), ("h7", "host")):
        names.give(name, kind)
    assert (
        Replacer(names).text("the user of host and h7, jdoe@h7")
        == "the user-1 of host-1 and host-2, user-2@host-2"
    )


def test_what_a_preset_cites_stays() -> None:
    record = json.loads((RUN / "run.json").read_text())
    cited = {"document": "https://docs.acme-storage.io/testing", "text": "see docs.acme-storage.io"}
    record["profile"].update(preset=True, source=cited)
    (found,) = redacted([ReportedRun(RunRecord.model_validate(record), RUN)])
    assert found.record.profile.source == cited


# -- exports: every format that there is


def named(text: str) -> str:
    """Return a text of the run with hosts and paths that name somebody."""
    for plain, name in zip(("h1", "h2"), HOSTS, strict=True):
        text = (
            text.replace(f'"{plain}"', f'"{name}"')
            .replace(f".{plain}.", f".{name}.")
            .replace(f"/{plain}/", f"/{name}/")
        )
    return text.replace("/mnt/test/t", "/mnt/ledger/eod")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run with its plan and journal, which name everybody too."""
    run_dir = tmp_path_factory.mktemp("named") / "20260101T000000Z-acme-bank-ledger-7f3a"
    run_dir.mkdir()
    for path in RUN.glob("*.json*"):
        (run_dir / path.name).write_text(named(path.read_text()))
    (run_dir / "run.json").write_text(json.dumps(renamed() | {"run_id": run_dir.name}))
    return run_dir


def texts_of(path: Path) -> Iterator[str]:
    """Yield what a file holds: of a workbook every part, of columns the values and the bytes."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as book:
            yield from (f"{name} {book.read(name).decode()}" for name in book.namelist())
    else:
        yield path.read_bytes().decode(errors="replace")
        yield pd.read_parquet(path).to_csv() if path.suffix == ".parquet" else ""


@pytest.mark.parametrize("name", installed())
def test_no_export_has_a_name_in_it(
    name: str, kept: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["export", str(kept), name, "-o", f"{tmp_path}/out/", "--redact"])
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    if load(name).reads_files:
        assert (code, written) == (
            2,
            [],
        ) and f"{name} cannot be redacted" in capsys.readouterr().err
        return
    if name == "io500-answers":
        assert (code, written) == (2, []) and "no IO500 result" in capsys.readouterr().err
        return
    assert code == 0 and written
    said = [
        f"{path.relative_to(tmp_path)} {text}".casefold()
        for path in written
        for text in texts_of(path)
    ]
    assert sum(map(len, said)) > 200
    assert [(each, text[:40]) for each in SECRETS for text in said if each.casefold() in text] == []


def test_the_same_exports_name_everybody_unless_asked(
    kept: Path, home: Path, tmp_path: Path
) -> None:
    for name in ("xlsx", "csv"):
        assert main(["export", str(kept), name, "-o", f"{tmp_path}/{name}/"]) == 0
        texts = [
            text
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
            for text in texts_of(path)
        ]
        assert all(any(host in text for text in texts) for host in HOSTS)


def test_a_word_that_is_hidden_is_redacted_in_exports(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(kept), "influx", "--hide", "read"]) == 0
    assert "host=host-1" in capsys.readouterr().out


def test_names_in_what_findings_are_made_of_are_hidden() -> None:
    record = json.loads((RUN / "run.json").read_text())
    name = record["hosts"][0]["name"]
    slow = {"direction": "read", "counted": "IOPS", "median": 90.0, "shares": [[name, 0.5]]}
    fact = {"fact": "links.mtu", "groups": [[9000, [name]], [None, ["h-of-nobody"]]]}
    record["findings"] = [
        {"id": "straggler", "severity": "warning", "code": "rate", "operands": slow},
        {
            "id": "host-differences",
            "severity": "warning",
            "code": "differ",
            "operands": {"what": [{"code": "fact", "operands": fact}], "count": 1},
        },
    ]
    (found,) = redacted([ReportedRun(RunRecord.model_validate(record), RUN)])
    texts = [message_of(each) for each in found.record.findings]
    assert [name in text for text in texts] == [False, False]
    assert "host-1 at 50 %" in texts[0] and "9000 on host-1" in texts[1]
