"""Draws the pictures of the documentation from real models: python docs/make_pictures.py"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import glassformer
from glassformer.algebra import decompose
from glassformer.documents.approximation.stages import draw as draw_approximation
from glassformer.instruments.patching import grid, logit_difference, patch, restored
from glassformer.instruments.sites import Site
from glassformer.ui.drawing.cascade import draw_cascade
from glassformer.ui.drawing.heatmap import draw_heatmap
from glassformer.ui.drawing.svg import BLUE, ORANGE, PALE, PAPER, box, circle, page, text

CELL, GAP, LEFT = 5, 26, 10
CASCADES = {"gridworld-cascade.svg": "gridworld(4)", "resettable-cascade.svg": "resettable(3)"}


def pattern_panel(pattern: np.ndarray, left: float, top: float, title: str, cell: float = CELL) -> list[str]:
    """One attention pattern: rows ask, columns are asked; the future is left blank."""
    n = len(pattern)
    seen = [box(left, top + q * cell, (q + 1) * cell, cell, PALE) for q in range(n)]
    cells = [
        box(left + k * cell, top + q * cell, cell, cell, f"{BLUE}{round(255 * pattern[q, k] ** 0.6):02x}")
        for q, k in np.argwhere(pattern > 0.01).tolist()
    ]
    return [*seen, *cells, text(left + n * cell / 2, top - 10, title, 12, "middle")]


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


def resettable() -> str:
    """The two patterns of a resettable counter, and what its registers hold after every letter."""
    built = glassformer.compile("resettable(3)", length=14, method="cascade")
    word = "++0++++0+00+++"
    trace = built.model.trace(built.tokens(built.machine.encode(word)[None]))
    stream = {name: trace[f"blocks.{layer}.hook_resid_post"][0].numpy() for layer, name in enumerate("ab")}
    registers = {register.name: register for register in built.certificate.registers}

    def held(when: str, name: str) -> np.ndarray:
        return stream[when][:, registers[name].columns]

    cell, top, heading = 15, 96, ["", *word]
    side = len(heading) * cell
    titles = ["layer 0: flat sum", "layer 1: the latest reset"]
    patterns = [trace[f"blocks.{layer}.attn.hook_pattern"][0, 0] for layer in range(2)]
    drawn = [text(LEFT, 26, "resettable(3) reads " + word, 16, bold=True)]
    for i, (pattern, title) in enumerate(zip(patterns, titles, strict=True)):
        left = LEFT + 24 + i * (side + 40)
        drawn += [*pattern_panel(pattern.numpy(), left, top, "", cell), text(left, top - 34, title, 12)]
        for t, letter in enumerate(heading):
            middle = left + (t + 0.5) * cell
            drawn.append(text(middle, top - 6, letter or "▸", 12, "middle"))
            drawn.append(text(left - 8, top + (t + 0.5) * cell + 4, letter or "▸", 12, "middle"))
    memory = held("b", "found 1").argmax(-1)
    counts = held("a", "count 1.1.1").argmax(-1)
    before = (memory + counts) % 3
    rows = {
        "+s before this letter, modulo 3": counts[1:],
        "what the latest reset wrote": memory[1:],
        "their sum modulo 3": before[1:],
        "the state after the letter": np.array(built.run(word)[0]),
    }
    below, first = top + side + 44, LEFT + 250
    step = (LEFT + 24 + 2 * side + 60 - first) / len(word)
    for t, letter in enumerate(word):
        drawn.append(
            text(first + (t + 0.5) * step, below, letter, 14, "middle", ORANGE if letter == "0" else BLUE, True)
        )
    for r, (words, values) in enumerate(rows.items(), start=1):
        drawn.append(text(LEFT, below + 26 * r, words, 12))
        drawn += [
            text(first + (t + 0.5) * step, below + 26 * r, str(value), 13, "middle") for t, value in enumerate(values)
        ]
    return page(
        2 * LEFT + 24 + 2 * side + 60, below + 26 * len(rows) + 20, drawn, "The patterns of a resettable counter"
    )


def patched() -> str:
    """What every layer holds at every position of 1011, put into the run on 1111, by a model built for parity."""
    built = glassformer.compile("parity", length=8, method="log")
    model, words = built.model, ("1011", "1111")
    clean, corrupted = (built.tokens(built.machine.encode(word)[None]) for word in words)
    metric = logit_difference(model(clean)[:, -1].argmax(-1), model(corrupted)[:, -1].argmax(-1))
    sites = [Site(f"blocks.{layer}.hook_resid_pre") for layer in range(built.certificate.layers)]
    found = patch(model, corrupted, clean, grid(sites, clean.shape[1]), metric)
    back = restored(found, metric(model(corrupted)), metric(model(clean))).view(len(sites), -1)
    columns = ["start", *("/".join(dict.fromkeys(pair)) for pair in zip(*words, strict=True))]
    rows = [f"layer {layer}" for layer in range(len(sites))]
    return draw_heatmap(back.tolist(), rows, columns, "Part of the answer restored by hook_resid_pre", full=1.0)


def pictures() -> dict[str, str]:
    """All of them, by file name."""
    sort = glassformer.approximate("sort", 1, 2, 1 / 8)
    cascades = {name: decompose(glassformer.machine(spec)) for name, spec in CASCADES.items()}
    return {
        "abab.svg": abab(),
        **{name: draw_cascade(cascades[name], spec) for name, spec in CASCADES.items()},
        "resettable.svg": resettable(),
        "patch.svg": patched(),
        "approximation.svg": draw_approximation(sort, "sort"),
    }


if __name__ == "__main__":
    for name, svg in pictures().items():
        (Path(__file__).parent / "images" / name).write_text(svg)
