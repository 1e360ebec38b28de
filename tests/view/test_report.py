"""Reports: what they say of every kind of run, that nothing in them is markup but ours, and that
one opens anywhere.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.app.search_maker import search_in
from tests.capacity.test_compared import scaled
from tests.patience import PATIENCE_S
from tests.samples.matrices import line
from tests.samples.records import run as run_of
from tests.samples.records import step
from tui.library.build import build_record
from tui.library.load import load_record
from tui.metrics.histogram import Histogram
from tui.metrics.series import SHARES
from tui.model.record import RunRecord
from tui.model.rundir import MARKS_FILE
from tui.record.matrix import tables_of
from tui.view.document import Chart, DocumentTable, Report, escaped, markdown_of
from tui.view.host_load import by_second
from tui.view.matrix_chart import series_of
from tui.view.objection_catalogue import objections_to
from tui.view.report.content import ReportedRun, report_of
from tui.view.report.heat import HeatCounts, heat_of, patches_of
from tui.view.report.overview import is_edited_since
from tui.view.report.run_charts import sweep_chart
from tui.view.report.side_by_side import Versus
from tui.view.report.step_charts import points_of, reading_note, tail_curve
from tui.view.report.tables import objection_blocks
from tui.view.report.write import html_of, source_at, written

RUNS = Path(__file__).parents[1] / "data" / "runs"
HOSTILE = "<script>alert(1)</script>'\"&amp;|`${x}`"
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


class Page(HTMLParser):
    """The elements of a page: names with attributes, and the text outside of styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.text).split())


def source(run: str) -> ReportedRun:
    return ReportedRun(load_record(RUNS / run), RUNS / run)


def changed(run: str, **changes: Any) -> RunRecord:
    return RunRecord.model_validate(json.loads((RUNS / run / "run.json").read_text()) | changes)


@pytest.fixture(scope="module")
def plain() -> str:
    return html_of(report_of([source("plain")], "made by a test"))


def test_commands_that_are_left_out_are_counted() -> None:
    record = load_record(RUNS / "plain")
    first = record.provenance.commands[0]
    record.provenance.commands = [
        first.model_copy(update={"argv": ["fio", str(number)]}) for number in range(203)
    ]
    text = markdown_of(report_of([ReportedRun(record)]))
    assert "fio 199" in text and "fio 200" not in text
    assert "and 3 more commands, see run.json" in text


def test_a_version_that_is_known_of_some_hosts_is_of_those_alone() -> None:
    record = load_record(RUNS / "plain")
    assert "fio-3.33 on every host" in markdown_of(report_of([ReportedRun(record)]))
    del record.provenance.tool_versions["h2"]
    text = markdown_of(report_of([ReportedRun(record)]))
    assert "on every host" not in text and "fio-3.33: h1" in text and "unknown: h2" in text


def test_the_first_screen_answers_what_on_what_and_whether_it_holds(plain: str) -> None:
    said = Page(plain).said
    begin = said[: said.index("What was run")]
    for text in (
        "Ten seconds of mixed random I/O",
        "29.8 k IOPS",
        "Valid",
        "2 hosts: h1, h2",
        "/mnt/test/t",
        "2026-11-22",
    ):
        assert text in begin
    assert "no published results for this profile" in begin


def test_a_report_has_every_chart_with_a_name_and_runs_no_script(plain: str) -> None:
    page = Page(plain)
    drawn = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert len(drawn) == page.count("figure") == 9
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in drawn)
    assert page.wrong == []
    assert page.open == []
    assert not {"script", "iframe", "object", "img", "form"} & {tag for tag, _ in page.tags}
    assert not [attrs for _, attrs in page.tags if any(name.startswith("on") for name in attrs)]
    links = [
        value or ""
        for _, attrs in page.tags
        for name, value in attrs.items()
        if name in ("href", "src")
    ]
    assert all(link.startswith(("#", "data:,")) for link in links)
    assert "@import" not in plain
    assert "url(" not in plain


def test_each_objection_is_in_the_report_with_its_evidence() -> None:
    record = load_record(RUNS / "plain")
    found = [answer for answer in objections_to(record) if answer.standing != "n/a"]
    (table,) = (each for each in objection_blocks(record) if isinstance(each, DocumentTable))
    assert [row[0] for row in table.rows] == [answer.objection.claim for answer in found]
    assert all(said.text in str(row[2]) for row, answer in zip(table.rows, found, strict=True)
               for said in answer.evidence if said.weight in ("for", "doubt"))  # fmt: skip
    assert list(objection_blocks(changed("plain", steps=[], matrix=None))) == []


def test_headings_and_tables_can_be_read_aloud(plain: str) -> None:
    page = Page(plain)
    assert (
        page.count("h1")
        == page.count("main")
        == page.count("title") - plain.count("</title></path>")
        == 1
    )
    assert page.count("table") == page.count("caption") > 3
    heads = [attrs for tag, attrs in page.tags if tag == "th"]
    assert all(attrs.get("scope") in ("col", "row") for attrs in heads)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert page.tags[0] == ("html", {"lang": "en"})


@pytest.mark.parametrize("run", ["sweep", "mdtest", "aborted", "recovered"])
def test_every_kind_of_run_gives_a_report(run: str) -> None:
    found = source(run)
    report = report_of([found])
    page = Page(html_of(report))
    assert page.wrong == []
    assert found.record.run_id in page.said
    assert page.count("svg") == sum(
        isinstance(block, Chart)
        for part in report.runs
        for s in part.sections
        for block in s.blocks
    )
    assert ("aborted" in page.said) == (run == "aborted")
    if run == "mdtest":
        assert "Operations side by side" in page.said
    text = markdown_of(report)
    assert found.record.headline is not None
    assert text.startswith("# ")
    assert "## Findings" in text


def test_a_failed_run_says_that_nothing_was_measured() -> None:
    hosts = json.loads((RUNS / "plain" / "run.json").read_text())["hosts"]
    hosts[0]["problems"] = [
        {"phase": "preflight", "code": "no-space", "message": "h1: 3 GiB are missing"}
    ]
    record = changed(
        "plain",
        steps=[],
        headline=None,
        verdict=None,
        state="failed",
        reason="no space",
        hosts=hosts,
    )
    report = report_of([ReportedRun(record)])
    said = Page(html_of(report)).said
    for text in ("failed, no verdict", "Nothing was measured. no space", "h1: 3 GiB are missing"):
        assert text in said
        assert text in markdown_of(report).replace("\\", "")


def titles(record: RunRecord) -> list[str]:
    parts = report_of([ReportedRun(record)]).runs
    return [
        block.title
        for section in parts[0].sections
        for block in section.blocks
        if isinstance(block, Chart)
    ]


def test_a_run_without_a_journal_has_coarse_percentiles_and_no_heat_map() -> None:
    found = titles(changed("plain", state="imported"))
    assert "Read latency percentiles over time" in found
    assert not [title for title in found if "heat map" in title]


def test_a_suite_shows_a_step_of_each_member() -> None:
    record = changed("sweep", headline=None)
    assert len([title for title in titles(record) if title.startswith("IOPS over time: ")]) == 2
    assert "2 measurements" in Page(html_of(report_of([ReportedRun(record)]))).said


def test_what_hosts_did_is_drawn_over_the_measured_window() -> None:
    steps = json.loads((RUNS / "plain" / "run.json").read_text())["steps"]
    columns = [
        {"name": "cpu.busy", "unit": "percent", "mean": 50, "max": 90, "values": [10, 50, 90, 50]},
        {
            "name": "nic.eth0.rx",
            "unit": "bytes_per_s",
            "mean": 2,
            "max": 3,
            "values": [0, None, 3, 1],
        },
    ]
    host = {
        "start_s": 1.0,
        "end_s": 4.0,
        "t_s": [1.0, 2.0, 3.0, 4.0],
        "interval_s": [1] * 4,
        "columns": columns,
    }
    steps[0]["telemetry"] = [
        {"host": name, "role": role, **host} for name, role in (("h1", "client"), ("s1", "server"))
    ]
    record = changed("plain", steps=steps)
    found = [title for title in titles(record) if title.startswith(("Host ", "Server "))]
    assert found == ["Host CPU", "Host network", "Server CPU", "Server network"]
    assert by_second(record.steps[0].telemetry[0], "cpu.busy") == [50.0, 90.0, 50.0]


def test_unknown_figures_are_dashes() -> None:
    steps = json.loads((RUNS / "plain" / "run.json").read_text())["steps"]
    for part in steps[0]["results"]["aggregate"].values():
        part.update(iops=None, bw_bytes_per_s=None, slat=None, clat=None, lat=None)
    steps[0].update(series=None, timing=None)
    steps[0]["results"]["per_host"] = {}
    record = changed(
        "plain",
        steps=steps,
        created_utc=None,
        duration_s=None,
        target=None,
        provenance={},
        hosts=[],
    )
    said = Page(html_of(report_of([ReportedRun(record)]))).said
    assert "read (clat) – IOPS – – – – – – –" in said
    assert "start unknown" in said


# -- hostile texts


def hostile() -> RunRecord:
    text = (RUNS / "plain" / "run.json").read_text()
    record = json.loads(text.replace('"h1"', json.dumps(HOSTILE)))
    record["notes"] = [{"utc": None, "text": HOSTILE}]
    record["target"] = record["profile"]["title"] = record["profile"]["text"] = HOSTILE
    record["messages"] = [
        {"t_s": 1, "severity": "error", "host": HOSTILE, "text": f"{HOSTILE}\x1b[31m"}
    ]
    record["findings"] = [{"id": "straggler", "severity": "error", "scope": {}, "message": HOSTILE}]
    return RunRecord.model_validate(record)


def test_no_name_or_message_is_markup_in_html() -> None:
    made = html_of(report_of([ReportedRun(hostile())]))
    page = Page(made)
    assert "script" not in {tag for tag, _ in page.tags}
    assert "<script" not in made.lower()
    assert page.wrong == []
    # names, note, target, message, finding: as they were written
    assert page.said.count(HOSTILE) > 8
    assert [
        attrs for tag, attrs in page.tags if tag == "svg" and HOSTILE in (attrs["aria-label"] or "")
    ] == []


def test_no_name_or_message_is_markup_in_markdown() -> None:
    made = markdown_of(report_of([ReportedRun(hostile())]))
    outside = "".join(made.split("```")[::2])
    assert "<script" not in outside.replace("\\<", "")
    assert "\x1b" not in made
    rows = [line for line in made.splitlines() if line.startswith("| ") and "alert" in line]
    heads = [line for line in made.splitlines() if line.startswith("| host | direction")]
    assert rows
    assert {line.replace("\\|", "").count("|") for line in rows if "write" in line} == {
        heads[0].count("|")
    }


def test_a_file_cannot_close_its_fence() -> None:
    record = changed("plain")
    record.profile.text = "a\n```\n# not a heading\n````\n"
    made = markdown_of(report_of([ReportedRun(record)]))
    assert "\n`````\na\n```\n# not a heading\n````\n`````\n" in made


@pytest.mark.parametrize(("text", "shown"), [("a|b", "a\\|b"), ("# x", "\\# x"), ("- x", "\\- x"),
    ("a\nb", "a b"),
                                              ("<b>", "\\<b\\>"), ("@you", "\\@you"),
                                              ("1. x", "1. x")])  # fmt: skip
def test_markdown_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


# -- figures


def test_a_long_series_keeps_its_extremes() -> None:
    values: list[float | None] = [100.0] * 3600
    values[1234], values[2345], values[100:120] = 1.0, 999.0, [None] * 20
    points = points_of(values)
    assert len(points) == 180
    assert min(point.low for point in points if point.low is not None) == 1.0
    assert max(point.high for point in points if point.high is not None) == 999.0
    assert points[5].mean is None
    assert "20 s" in reading_note(3600)
    assert reading_note(60) == ""


def test_the_heat_map_holds_every_io_of_the_series() -> None:
    found = source("plain")
    (step,) = found.record.steps
    heat = heat_of(RUNS / "plain", [step])
    assert set(heat) == {(0, "read"), (0, "write")}
    counted = sum(map(sum, heat[0, "read"].columns))
    assert 0.7 * step.results.aggregate["read"].ios < counted <= step.results.aggregate["read"].ios
    (name,) = [name for name in step.results.aggregate if name == "read"]
    merged = Histogram({i: sum(c[i] for c in heat[0, name].columns) for i in range(1856)})
    whole = step.results.aggregate[name].clat
    assert whole is not None
    assert merged.percentiles((50,))["50"] == pytest.approx(whole.percentiles_ns["50"], rel=0.05)


def test_heat_of_columns_is_the_share_of_their_own_ios() -> None:
    columns = [[0] * 1856 for _ in range(3)]
    columns[0][800], columns[1][800], columns[2][800] = 999_990, 10, 10
    columns[0][1200] = 10
    patches = patches_of(HeatCounts(1, columns))
    assert [(patch.column, patch.end, SHARES[patch.weight]) for patch in patches] == [
        (0, 1, 0.0),
        (0, 3, 0.2),
    ]
    # of ten I/Os nothing is said
    assert HeatCounts(1, columns).percentiles((50.0, 99.0))[1] == {50.0: None, 99.0: None}


def test_the_distribution_ends_where_few_ios_are_slower() -> None:
    (step,) = source("plain").record.steps
    curve = tail_curve(step.results.aggregate["read"], "read", "clat")
    assert curve == sorted(curve)
    assert curve[-1][0] <= step.results.aggregate["read"].ios / 10 * 1.0001


def test_a_sweep_is_drawn_with_its_knee() -> None:
    (table,) = tables_of(
        line("numjobs", ["1", "2", "4", "8", "16"], [10e3, 20e3, 38e3, 60e3, 61e3])
    )
    chart = sweep_chart(table, "numjobs", series_of(table, "numjobs"), named=False, left_out=0)
    assert chart.title == "Read IOPS by numjobs"
    assert [row["v"] for row in chart.spec["data"]["values"] if row["k"]] == [60e3]
    assert chart.note == "◆ knee at numjobs=8 (60.0k IOPS); 16 gives +1.7 %."


def test_runs_side_by_side_are_held_against_the_first() -> None:
    made = markdown_of(report_of([source("plain"), source("recovered")]))
    assert "## Side by side" in made
    assert "| figure | A | B |" in made
    assert "| read p99 latency | 553 µs | 88.6 µs |" in made
    assert "not comparable" in made


# -- in a browser


PROBE = """<!doctype html><meta charset="utf-8"><body>
FRAMES
<pre id="out"></pre><script>
addEventListener("load", () => {
  const look = (frame) => {
    const doc = frame.contentDocument, root = doc.documentElement, drawn = [...doc.querySelectorAll("svg")];
    return {page: frame.name, width: root.clientWidth, wide: root.scrollWidth,
            charts: drawn.map((svg) => Math.round(svg.getBoundingClientRect().width)),
            marks: drawn.map((svg) => svg.querySelectorAll("path, text").length)};
  };
  document.getElementById("out").textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(look));
});
</script>"""
WIDTHS = (1280, 400)
KINDS = ("run", "sides", "sweep", "searches", "mdtest")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


def test_an_earlier_text_of_a_profile_is_told_from_a_later_one() -> None:
    first, second = run_of(step(), run_id="A"), run_of(step(), run_id="B")
    first.created_utc, second.created_utc = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    first.profile.sha256, second.profile.sha256 = "a" * 64, "b" * 64
    both = [first, second]
    assert [is_edited_since(each, both) for each in both] == [True, False]
    page = markdown_of(report_of([ReportedRun(each) for each in both]))
    lines = [line for line in page.splitlines() if "edited since" in line]
    assert lines and all("A: " in line for line in lines)
    second.profile.sha256 = first.profile.sha256
    assert not any(is_edited_since(each, both) for each in both)


def chromium(folder: Path, *arguments: str) -> str:
    """Run Chromium without a network; returns what it printed. Nothing may stand on its console."""
    assert CHROMIUM is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run",
             "--allow-file-access-from-files", "--host-resolver-rules=MAP * ~NOTFOUND",
             "--proxy-server=127.0.0.1:9",
             "--enable-logging=stderr", f"--user-data-dir={folder / 'user'}"]  # fmt: skip
    done = subprocess.run(
        [CHROMIUM, *flags, *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
        check=False, cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    shutil.rmtree(folder / "user", ignore_errors=True)
    assert "CONSOLE" not in done.stderr
    return done.stdout


def looked_at(folder: Path, pages: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return what Chromium makes of pages: of each what it is in frames as wide as WIDTHS."""
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    frames = [
        f'<iframe name="{name}" style="width:{width}px;height:900px" src="{name}.html"></iframe>'
        for name in pages
        for width in WIDTHS
    ]
    (folder / "probe.html").write_text(PROBE.replace("FRAMES", "\n".join(frames)))
    seen = chromium(folder, "--dump-dom", f"file://{folder}/probe.html")
    found: list[dict[str, Any]] = json.loads(
        seen.partition('<pre id="out">')[2].partition("</pre>")[0]
    )
    return {name: [each for each in found if each["page"] == name] for name in pages}


def is_whole(found: list[dict[str, Any]], charts: int) -> None:
    """Check that all charts of a page are drawn at each width, and that nothing scrolls sideways
    but what has to.
    """
    assert len(found) == len(WIDTHS)
    for each, width in zip(found, WIDTHS, strict=True):
        assert each["wide"] <= each["width"] <= width
        assert len(each["charts"]) == charts > 0
        assert min(each["charts"]) > 300 and min(each["marks"]) > 5


def pages_of_pdf(folder: Path, page: str) -> int:
    """Print a page and return how many sheets it takes."""
    chromium(
        folder,
        "--no-pdf-header-footer",
        f"--print-to-pdf={folder}/r.pdf",
        f"file://{folder}/{page}.html",
    )
    pdf = (folder / "r.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    return pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ")


def reported(kind: str, folder: Path) -> Report:
    """Return the report of one kind of run, with as few charts as it can have."""
    if kind == "run":
        return report_of([source("plain")])
    if kind == "sides":
        records = [
            run_of(step(1e4 * (1 - place % 2 / 5), seed=place, count=0)) for place in range(1, 5)
        ]
        return report_of([ReportedRun(record) for record in records], versus=Versus((2, 2)))
    if kind == "searches":
        maker = search_in(folder).measure_points().skip(*range(7, 12))
        record = build_record(maker.finish().run_dir)
        return report_of([ReportedRun(record), ReportedRun(scaled(record, 0.8))])
    return report_of([ReportedRun(load_record(RUNS / kind))])


def charts_in(report: Report) -> int:
    blocks = [block for run in report.runs for section in run.sections for block in section.blocks]
    return sum(isinstance(block, Chart) for block in [*blocks, *report.compared])


@pytest.fixture(scope="module")
def shown(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, Report], dict[str, list[dict[str, Any]]], Path]:
    """A report of each kind, what Chromium makes of it, and the folder of the pages."""
    folder = tmp_path_factory.mktemp("shown")
    reports = {kind: reported(kind, folder) for kind in KINDS}
    return (
        reports,
        looked_at(folder, {kind: html_of(report) for kind, report in reports.items()}),
        folder,
    )


@needs_chromium
@pytest.mark.parametrize("kind", KINDS)
def test_chromium_shows_every_kind_of_report_whole_on_a_screen_and_on_a_phone(
    kind: str, shown: Any
) -> None:
    reports, found, _ = shown
    is_whole(found[kind], charts_in(reports[kind]))


@needs_chromium
def test_chromium_prints_a_report(shown: Any) -> None:
    assert 2 <= pages_of_pdf(shown[2], "run") <= 12


@needs_chromium
@pytest.mark.slow
def test_chromium_shows_64_hosts_for_an_hour_on_a_screen_a_phone_and_paper(tmp_path: Path) -> None:
    from tests.long.bench.large_run import LARGEST, make_run

    run_dir = tmp_path / "large"
    make_run(run_dir)
    report = report_of([ReportedRun(load_record(run_dir), run_dir)])
    text = html_of(report)
    assert len(text.encode()) <= LARGEST
    is_whole(looked_at(tmp_path, {"page": text})["page"], charts_in(report))
    assert 2 <= pages_of_pdf(tmp_path, "page") <= 40


def test_what_people_call_a_run_and_its_criteria_are_reported(tmp_path: Path) -> None:
    shutil.copytree(RUNS / "plain", tmp_path / "run")
    (tmp_path / "run" / MARKS_FILE).write_text(
        '{"title": "before the upgrade", "tags": {"rack": "b7"}}'
    )
    found, _ = source_at(tmp_path / "run", tmp_path)
    found.record.criteria.append("read.p99 > 1us")
    text = written([found], "md")
    assert "before the upgrade" in text
    assert "rack=b7" in text.replace("\\", "")
    assert "| read.p99 \\> 1us |  | 553 µs | broken |" in text
    assert "before the upgrade" not in written([found], "md", redact=True)


def test_written_markdown_needs_no_chart_library() -> None:
    assert written([source("plain")], "md").startswith("# Ten seconds of mixed random")
