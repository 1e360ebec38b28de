"""Latency histograms in fio's buckets, rate series, units and their text forms.

Imports only `tui.model`.
"""

from __future__ import annotations
