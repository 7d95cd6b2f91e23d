"""A report as one file that opens from disk without a network: style, views and values lie in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from glassformer.ui.web.bundle import noscript, script, style

HTML = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body class="glassformer-root">
<main id="page">{noscript}</main>
<script type="application/json" id="values">{values}</script>
<script>
"use strict";
{script}
</script>
</body>
</html>
"""


def report_page(values: Mapping[str, Any], title: str) -> str:
    """The whole page. Values cannot end the script that holds them, whatever letters a machine has."""
    safe = json.dumps(values, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", "\\u2028")
    return HTML.format(title=escape(title), style=style(), noscript=noscript(), values=safe, script=script("report"))
