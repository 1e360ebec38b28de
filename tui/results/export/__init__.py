"""Runs in the formats that other tools read: entry points of `benchtui.exporters`, see `tui/model/exporter.py`."""
