"""The few marks that notebook HTML is made of. Every text is escaped; colours are those of the text around it."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np
from jaxtyping import Float

from glassformer.messages import Message

CELL: Final = "border:1px solid rgba(128,128,128,.45);padding:2px 8px;text-align:left;vertical-align:top"
BLUE: Final = (31, 131, 196)
"""Between the blues of light and dark pages: it can be seen on both."""


def whole(*parts: str) -> str:
    """Everything that is shown of one thing."""
    return f'<div class="glassformer-shown" style="overflow-x:auto">{"".join(parts)}</div>'


def on_paper(svg: str) -> str:
    """A drawing with colours of its own, on white in light and dark."""
    return f'<div style="background:#ffffff;border-radius:6px;overflow-x:auto;max-width:780px">{svg}</div>'


@dataclass(frozen=True)
class Markup:
    """Marks with words in them, in one language; what is no message is shown as it is."""

    language: str

    def text(self, words: object) -> str:
        """Words in the language, escaped."""
        return escape(words.in_language(self.language) if isinstance(words, Message) else str(words))

    def heading(self, kind: object, words: object) -> str:
        """What it is, and the first thing to know about it."""
        return f'<p style="margin:4px 0"><b>{self.text(kind)}</b> · {self.text(words)}</p>'

    def sentence(self, words: object) -> str:
        """A line of text."""
        return f'<p style="margin:4px 0">{self.text(words)}</p>'

    def table(self, columns: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
        """A table; without columns, the first cell of each row is its head."""
        head = "".join(f'<th style="{CELL}">{self.text(name)}</th>' for name in columns)
        body = "".join(
            "<tr>" + "".join(f'<td style="{CELL}">{self.text(cell)}</td>' for cell in row) + "</tr>" for row in rows
        )
        top = f"<thead><tr>{head}</tr></thead>" if columns else ""
        return f'<table style="border-collapse:collapse;margin:6px 0;color:inherit">{top}<tbody>{body}</tbody></table>'

    def folded(self, words: object, content: str) -> str:
        """Something to open."""
        return f'<details style="margin:4px 0"><summary>{self.text(words)}</summary>{content}</details>'

    def shade(self, weights: Float[np.ndarray, "row column"], words: object, size: int) -> str:
        """Weights from 0 to 1 as an image of as many pixels: the larger, the less is seen through."""
        rows, columns = weights.shape
        pixels = np.empty((rows, columns, 4), dtype=np.uint8)
        pixels[..., :3] = BLUE
        pixels[..., 3] = np.clip(np.round(weights * 255), 0, 255)
        data = base64.b64encode(_png(pixels)).decode()
        style = "image-rendering:pixelated;border:1px solid rgba(128,128,128,.45)"
        return (
            f'<img src="data:image/png;base64,{data}" width="{size}" height="{size}" alt="{self.text(words)}" '
            f'title="{self.text(words)}" style="{style}">'
        )


def _png(pixels: np.ndarray) -> bytes:
    height, width, _ = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, 4 * width)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b"")]
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
