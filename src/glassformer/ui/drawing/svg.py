"""The few marks that all drawings are made of, as SVG text; in Okabe and Ito's colours, which all eyes tell apart."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape
from typing import Final

INK: Final = "#222222"
GREY: Final = "#666666"
PAPER: Final = "#ffffff"
PALE: Final = "#e8eef4"
BLUE: Final = "#0072b2"
ORANGE: Final = "#d55e00"
TITLE: Final = 16
"""The size of titles, which are bold."""


def width_of(words: str, size: float, bold: bool = False) -> float:
    """Room for words, also where the reader's font is a wide one; Korean letters are as wide as high."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in words)
    return size * ((0.66 if bold else 0.58) * (len(words) - wide) + wide)


def fitted(words: str, size: float, room: float) -> str:
    """Words cut short, if they take more room than there is."""
    while width_of(words, size) > room and len(words) > 1:
        words = words[:-2] + "…"
    return words


def title_width(title: str) -> float:
    """Room for a title."""
    return width_of(title, TITLE, bold=True) + 20


def page(width: float, height: float, marks: Iterable[str], title: str) -> str:
    """A whole drawing."""
    frame = f'<rect width="{width:g}" height="{height:g}" fill="{PAPER}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img"><title>{escape(title)}</title>{frame}{"".join(marks)}</svg>\n'
    )


def text(
    x: float, y: float, words: str, size: int = 13, anchor: str = "start", colour: str = INK, bold: bool = False
) -> str:
    """Words at a place: anchor start, middle or end."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-family="sans-serif" font-size="{size}"{weight} text-anchor="{anchor}" '
        f'fill="{colour}">{escape(words)}</text>'
    )


def rising(x: float, y: float, mark: str) -> str:
    """A mark turned about a place by 45°, so that words rise to the right."""
    return f'<g transform="rotate(-45 {x:g} {y:g})">{mark}</g>'


def box(x: float, y: float, width: float, height: float, fill: str, corner: float = 0) -> str:
    """A rectangle."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{corner:g}" fill="{fill}"/>'


def circle(x: float, y: float, radius: float, fill: str, edge: str) -> str:
    """A circle."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}" stroke="{edge}" stroke-width="1.5"/>'


def arrow_down(x: float, top: float, bottom: float) -> str:
    """A line with its head below."""
    return (
        f'<path d="M{x:g} {top:g} V{bottom - 7:g}" stroke="{GREY}" stroke-width="1.5"/>'
        f'<path d="M{x - 5:g} {bottom - 8:g} L{x:g} {bottom:g} L{x + 5:g} {bottom - 8:g} Z" fill="{GREY}"/>'
    )


def line(points: Iterable[tuple[float, float]], colour: str, width: float = 2, dashes: str = "") -> str:
    """Straight lines from point to point."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'
