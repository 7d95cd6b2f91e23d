"""Draws the pictures of the documentation from real models: python docs/make_pictures.py"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import glassformer
from glassformer.algebra import decompose
from glassformer.report.cascade import draw_cascade
from glassformer.report.svg import BLUE, ORANGE, PALE, PAPER, box, circle, page, text

CELL, GAP, LEFT = 5, 26, 10


def pattern_panel(pattern: np.ndarray, left: float, top: float, title: str) -> list[str]:
    """One attention pattern: rows ask, columns are asked; the future is left blank."""
    n = len(pattern)
    shade = f'<path d="M{left} {top} L{left} {top + n * CELL} L{left + n * CELL} {top + n * CELL} Z" fill="{PALE}"/>'
    cells = [box(left + k * CELL, top + q * CELL, CELL, CELL, BLUE) for q, k in np.argwhere(pattern > 0.5)]
    return [shade, *cells, text(left + n * CELL / 2, top - 10, title, 12, "middle")]


def abab() -> str:
    """The five patterns of (ab)* on a word that goes wrong, and the answer after every letter."""
    built = glassformer.compile("regex:(ab)*", length=32, method="log")
    word = "ab" * 11 + "b" + "ab" * 4 + "a"
    trace = built.model.trace(built.tokens(built.machine.encode(word)[None]))
    labels = built.run(word)[1]
    side = (len(word) + 1) * CELL
    drawn = []
    for layer in range(built.certificate.layers):
        pattern = trace[f"blocks.{layer}.attn.hook_pattern"][0, 0].numpy()
        left = LEFT + layer * (side + GAP)
        drawn += pattern_panel(pattern, left, 40, f"layer {layer} looks {2**layer} back")
    width = 2 * LEFT + built.certificate.layers * (side + GAP) - GAP
    step = (width - 2 * LEFT - 110) / len(word)
    below = 40 + side + 44
    drawn += [text(LEFT, below, "word", 12), text(LEFT, below + 26, "in the language?", 12)]
    for t, (letter, accepted) in enumerate(zip(word, labels, strict=True)):
        x = LEFT + 110 + (t + 0.5) * step
        drawn.append(text(x, below, letter, 14, "middle"))
        fill, edge = (BLUE, BLUE) if accepted else (PAPER, ORANGE)
        drawn.append(circle(x, below + 22, 5, fill, edge))
    return page(width, below + 44, drawn, "Five attention patterns of a transformer built for (ab)*")


if __name__ == "__main__":
    images = Path(__file__).parent / "images"
    images.mkdir(exist_ok=True)
    (images / "abab.svg").write_text(abab())
    gridworld = decompose(glassformer.machine("gridworld(4)"))
    (images / "gridworld-cascade.svg").write_text(draw_cascade(gridworld, "gridworld(4)"))
