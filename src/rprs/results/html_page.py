"""An HTML page in one file that can be mailed: it loads nothing and runs nothing."""

from __future__ import annotations

from rprs.results.one_line import one_line
from rprs.results.panes import html_text

__all__ = ["html_page"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def html_page(title: str, style: str, body: str) -> str:
    """The page; its security policy forbids all requests and scripts. The title is escaped here, the body is HTML."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html_text(one_line(title))}</title>
<style>
{style.rstrip()}
</style>
</head>
<body>
{body}
</body>
</html>
"""
