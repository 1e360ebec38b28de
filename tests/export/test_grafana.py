"""The Grafana dashboard: what its panels ask for is what we write.

With real databases that answer.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from line_protocol_parser import parse_line

from tests.lab.sshd import free_port
from tests.patience import PATIENCE_S, wait_until
from tui.export.save import export
from tui.export.stream import follow
from tui.model.exporter import ExportSource, load
from tui.model.plain_data import parse_utc

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana" / "benchtui.json"
METRIC = re.compile(r"\b(benchtui_\w+)\{([^}]*)\}")


@pytest.fixture(scope="module")
def dashboard() -> Any:
    return json.loads(DASHBOARD.read_text())


def expressions(dashboard: Any) -> dict[str, str]:
    """Every expression of every panel, its variables as "All" makes them."""
    found = {}
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            text = re.sub(r"\$(run|profile|step|direction|host)\b", ".*", target["expr"])
            found[f"{panel['title']} {target['refId']}"] = text.replace("$__range", "1h")
    return found


def exported(source: ExportSource) -> dict[str, set[str]]:
    """Every metric that line protocol and OpenMetrics make, with the names of its labels."""
    found: dict[str, set[str]] = {}
    (lines,) = load("influx").files(source)
    for line in b"".join(lines.parts).decode().splitlines():
        point = parse_line(line)
        for name in point["fields"]:
            found.setdefault(f"{point['measurement']}_{name}", set()).update(point["tags"])
    for name in ("openmetrics", "openmetrics-series"):
        (file,) = load(name).files(source)
        for metric, labels in re.findall(
            r"^(\w+)\{([^}]*)\}", b"".join(file.parts).decode(), re.MULTILINE
        ):
            found.setdefault(metric, set()).update(re.findall(r'(\w+)="', labels))
    return found


def test_every_panel_asks_for_what_is_exported(dashboard: Any, plain: ExportSource) -> None:
    known = exported(plain)
    asked = [match for text in expressions(dashboard).values() for match in METRIC.findall(text)]
    assert len(asked) >= 10
    for metric, selector in asked:
        assert metric in known
        assert set(re.findall(r'(\w+)=~?"', selector)) <= known[metric], f"labels of {metric}"


def test_every_variable_is_a_label_and_is_used(dashboard: Any, plain: ExportSource) -> None:
    queries = {
        each["name"]: each["query"]
        for each in dashboard["templating"]["list"]
        if each["type"] == "query"
    }
    labels = {
        name: re.fullmatch(r"label_values\((\w+).*, (\w+)\)", query["query"])
        for name, query in queries.items()
    }
    for name, match in labels.items():
        assert match is not None and match[2] in exported(plain)[match[1]]
        assert f"${name}" in json.dumps(dashboard["panels"])


# -- real databases, from Debian's packages: unpacked, not installed, so that no service is started


def program(name: str, package: str, folder: Path) -> Path:
    """A database's program: the installed one, else that of the package."""
    if found := shutil.which(name):
        return Path(found)
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        pytest.skip(f"no {name} on this machine, and no Debian to have it from")
    fetched = subprocess.run(
        ["apt-get", "download", package], cwd=folder, capture_output=True, check=False
    )
    packages = sorted(folder.glob(f"{package}_*.deb"))
    if fetched.returncode or not packages:
        pytest.skip(f"no {name} on this machine, and {package} cannot be had")
    subprocess.run(["dpkg-deb", "-x", packages[0], folder / "root"], check=True)
    return folder / "root" / "usr" / "bin" / name


@contextmanager
def running(
    command: list[str | Path], folder: Path, ready: str, env: dict[str, str] | None = None
) -> Iterator[None]:
    """Have a database run until it answers at `ready`, and end it afterwards."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env
        )

    def answers() -> bool:
        assert process.poll() is None, (folder / "log").read_text()[-2000:]
        with suppress(URLError, ConnectionError):
            return bool(urlopen(ready, timeout=5).status < 300)
        return False

    try:
        wait_until(answers, "the database answers", PATIENCE_S)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def asked(url: str, **parameters: object) -> Any:
    with urlopen(f"{url}?{urlencode(parameters)}", timeout=PATIENCE_S) as answer:
        return json.loads(answer.read())


def silent_panels(url: str, dashboard: Any, source: ExportSource) -> list[str]:
    """The panels that a database has nothing for, over the time of the run."""
    begun = parse_utc(source.record.created_utc or "")
    assert begun is not None
    span = {
        "start": begun.timestamp(),
        "end": begun.timestamp() + (source.record.duration_s or 0) + 60,
        "step": "1",
    }
    return [
        title
        for title, text in expressions(dashboard).items()
        if not asked(f"{url}/api/v1/query_range", query=text, **span)["data"]["result"]
    ]


@pytest.mark.slow
def test_victoria_metrics_answers_every_panel(
    plain: ExportSource, dashboard: Any, tmp_path: Path
) -> None:
    binary = program("victoria-metrics", "victoria-metrics", tmp_path)
    url = f"http://127.0.0.1:{free_port()}"
    address = f"-httpListenAddr={url.removeprefix('http://')}"
    command: list[str | Path] = [
        binary,
        f"-storageDataPath={tmp_path}/data",
        address,
        "-retentionPeriod=100y",
    ]
    with running(command, tmp_path, f"{url}/health"):
        assert follow(plain.run_dir, "influx", f"{url}/influx/write", print)
        urlopen(f"{url}/internal/force_flush", timeout=PATIENCE_S).close()
        assert silent_panels(url, dashboard, plain) == []


@pytest.mark.slow
def test_prometheus_takes_every_second_and_answers_its_panels(
    plain: ExportSource, dashboard: Any, tmp_path: Path
) -> None:
    binary = program("prometheus", "prometheus", tmp_path)
    (path,) = export(plain, "openmetrics-series", str(tmp_path / "run.om"))
    data = tmp_path / "data"
    backfill: list[str | Path] = [
        binary.with_name("promtool"),
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        path,
        data,
    ]
    subprocess.run(backfill, check=True, capture_output=True)
    (tmp_path / "prometheus.yml").write_text("global: {}\n")
    url = f"http://127.0.0.1:{free_port()}"
    command: list[str | Path] = [
        binary,
        f"--config.file={tmp_path}/prometheus.yml",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={url.removeprefix('http://')}",
    ]
    with running(command, tmp_path, f"{url}/-/ready"):
        # these come by the collector of files, when it is now
        results = [f"Results {letter}" for letter in "ABC"]
        assert silent_panels(url, dashboard, plain) == results
        (series,) = asked(
            f"{url}/api/v1/series", **{"match[]": 'benchtui_iops{host="h1",direction="read"}'}
        )["data"]
    assert series["run"] == plain.record.run_id


@pytest.mark.slow
def test_influxdb_takes_every_line(plain: ExportSource, tmp_path: Path) -> None:
    binary = program("influxd", "influxdb", tmp_path)
    port, rpc = free_port(), free_port()
    settings = {
        "HTTP_BIND_ADDRESS": f"127.0.0.1:{port}",
        "META_DIR": f"{tmp_path}/meta",
        "DATA_DIR": f"{tmp_path}/data",
    }
    settings |= {
        "DATA_WAL_DIR": f"{tmp_path}/wal",
        "BIND_ADDRESS": f"127.0.0.1:{rpc}",
        "REPORTING_DISABLED": "true",
    }
    url = f"http://127.0.0.1:{port}"
    env = {f"INFLUXDB_{name}": value for name, value in settings.items()} | {"HOME": str(tmp_path)}
    with running([binary, "run"], tmp_path, f"{url}/ping", env):
        urlopen(f"{url}/query", b"q=CREATE+DATABASE+bench", timeout=PATIENCE_S).close()
        assert follow(plain.run_dir, "influx", f"{url}/write?db=bench", print)
        query = "SELECT count(iops) FROM benchtui GROUP BY host, direction"
        (result,) = asked(f"{url}/query", db="bench", q=query)["results"]
    counts = {
        (each["tags"]["host"], each["tags"]["direction"]): each["values"][0][1]
        for each in result["series"]
    }
    assert set(counts) == {(host, name) for host in ("", "h1", "h2") for name in ("read", "write")}
    assert all(counts.values())
