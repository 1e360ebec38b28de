"""Draw Vega-Lite charts as SVG with vl-convert: no browser, no script, no network.

The colours come from the page's CSS.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from tui.model.extras import load_library
from tui.text.plot import AxisTicks

Spec = dict[str, Any]
WIDTH, HEIGHT = 560, 200
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
FONT = 11.5
COLORS = {
    "read": "var(--read)",
    "write": "var(--write)",
    "trim": "var(--trim)",
    "mixed": "var(--mixed)",
    "sync": "var(--sync)",
    "both": "var(--mixed)",
}
SERIES = tuple(f"var(--s{number})" for number in range(1, 9))
HEAT = tuple(f"var(--h{number})" for number in range(1, 7))
MUTED, INK, WARN, GOOD = "var(--muted)", "var(--ink)", "var(--warn)", "var(--good)"
CONFIG: Spec = {
    "font": "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif",
    "background": None,
    "autosize": {"type": "fit-x", "contains": "padding"},
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "gridColor": "var(--grid)",
        "domainColor": "var(--axis)",
        "tickColor": "var(--axis)",
        "labelFontSize": FONT,
        "titleFontSize": FONT,
        "titleFontWeight": "normal",
        "labelFlush": False,
        "titlePadding": 8,
    },
    "axisX": {"grid": False},
    "legend": {
        "labelColor": INK,
        "titleColor": MUTED,
        "labelFontSize": FONT,
        "titleFontSize": FONT,
        "titleFontWeight": "normal",
        "orient": "top",
        "symbolStrokeWidth": 3,
        "symbolType": "stroke",
        "columnPadding": 14,
        "columns": 6,
    },
    "text": {"fontSize": FONT, "fill": INK},
    "header": {"labelColor": INK, "labelFontSize": FONT},
}
DURATION = (
    "datum.value >= 1e9 ? datum.value / 1e9 + ' s' : datum.value >= 1e6 ? datum.value / 1e6 + ' ms'"
    " : datum.value >= 1e3 ? datum.value / 1e3 + ' µs' : datum.value + ' ns'"
)


def marked_axis(ticks: AxisTicks, title: str | None = None) -> Spec:
    """Return an axis with these ticks and labels."""
    positions, labels = list(ticks.positions), list(ticks.labels)
    return {
        "values": positions,
        "labelExpr": f"{_array(labels)}[indexof({positions}, datum.value)]",
        "title": title,
    }


def _array(texts: Sequence[str]) -> str:
    """Return texts as an array literal of Vega's expression language."""
    quoted = (text.replace("\\", "\\\\").replace("'", "\\'") for text in texts)
    return "[" + ", ".join(f"'{text}'" for text in quoted) + "]"


def latency_axis(lowest: float, highest: float, title: str | None = None) -> Spec:
    """Return a logarithmic axis for latencies in ns.

    It has ticks at 1, 2 and 5 of each decade, only at 1 for a wide range.
    """
    powers = range(2, 12)
    wide = highest / max(lowest, 1.0) > 300
    marks = [factor * 10**power for power in powers for factor in ((1,) if wide else (1, 2, 5))]
    return {
        "values": [mark for mark in marks if lowest <= mark <= highest],
        "labelExpr": DURATION,
        "title": title,
    }


def colors_of(names: Sequence[str]) -> Spec:
    """Return a colour scale for names.

    Directions have fixed colours; other names get colours in turn.
    """
    places = {
        name: COLORS.get(name) or SERIES[place % len(SERIES)] for place, name in enumerate(names)
    }
    return {"domain": list(places), "range": list(places.values())}


def layers(*found: Spec, height: int = HEIGHT, **more: Any) -> Spec:
    """Return a chart with several layers."""
    return {"width": WIDTH, "height": height, "layer": list(found), **more}


def svg_of(spec: Spec, alt: str) -> str:
    """Return a chart as an SVG element that fills the width of the page.

    `alt` describes it to screen readers.
    """
    vl_convert = load_library("vl_convert", "an HTML report with charts")
    return cleaned(vl_convert.vegalite_to_svg({"config": CONFIG, "padding": 4, **spec}), alt)


def cleaned(text: str, alt: str) -> str:
    """Return a drawn SVG prepared for the page.

    It is made smaller and gets a name for screen readers; descriptions become tooltips.
    """
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(text)
    for name in ("width", "height", "version", "class"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", alt)
    for element in list(root.iter()):
        _clean(element)
    return ElementTree.tostring(root, encoding="unicode").replace("\n", " ")


USELESS = {
    "stroke-miterlimit",
    "pointer-events",
    "aria-hidden",
    "aria-roledescription",
    "class",
    f"{{{XLINK}}}href",
}
PLACES = {"d", "transform", "x", "y", "x1", "y1", "x2", "y2", "width", "height"}
FRACTION = re.compile(r"-?(?<!\d)\d+\.\d{2,}(?:e-?\d+)?")
IDLE = {"opacity": "1", "stroke-width": "1", "transform": "translate(0,0)", "font-weight": "normal"}


def _clean(element: ElementTree.Element) -> None:
    label = element.get("aria-label")
    if element.get("role") != "img":
        element.attrib.pop("role", None)
        element.attrib.pop("aria-label", None)
        if label:
            tooltip = ElementTree.SubElement(element, f"{{{SVG}}}title")
            tooltip.text = label
    for name in USELESS & element.attrib.keys():
        del element.attrib[name]
    for name, value in IDLE.items():
        if element.get(name) == value:
            del element.attrib[name]
    for name in PLACES & element.attrib.keys():
        element.set(name, FRACTION.sub(_tenth, element.get(name, "")))
    if element.get("fill") in HEAT:
        element.set("shape-rendering", "crispEdges")  # no seams between its cells
    element.attrib.pop("font-family", None)
    _join(element)


def _join(parent: ElementTree.Element) -> None:
    """Join neighbouring shapes of one style into a path: a heat map has thousands of cells."""
    before: ElementTree.Element | None = None
    for child in list(parent):
        if child.tag != f"{{{SVG}}}path" or len(child) or child.get("aria-label"):
            before = None
        elif before is not None and _style(child) == _style(before):
            before.set("d", f"{before.get('d', '')}{child.get('d', '')}")
            parent.remove(child)
        else:
            before = child


def _style(path: ElementTree.Element) -> dict[str, str]:
    return {
        name: value
        for name, value in path.attrib.items()
        if name not in ("d", "aria-label", "role")
    }


def _tenth(found: re.Match[str]) -> str:
    """Return a coordinate rounded to a tenth of a pixel.

    More digits are invisible and double the file size.
    """
    return f"{float(found[0]):.1f}".removesuffix(".0")
