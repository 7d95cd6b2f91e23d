"""A report as one file that opens from disk without a network: style, views and values lie in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from glassformer.ui.web.bundle import noscript, script, style

HTML = Template(Path(__file__).with_name("report.html").read_text("utf-8"))


def report_page(values: Mapping[str, Any], title: str) -> str:
    """The whole page. Values cannot end the script that holds them, whatever letters a machine has."""
    safe = json.dumps(values, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", "\\u2028")
    return HTML.substitute(
        title=escape(title), style=style(), noscript=noscript(), values=safe, script=script("report")
    )
