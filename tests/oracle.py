"""Reference rows of the algebra: machines that two independent tools agree on."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.automata import Machine

ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "oracle.json").read_text())


def machine_of(row: dict[str, Any]) -> Machine:
    """The machine of a row, whose table is `gens[letter][state]`."""
    delta = np.array(row["gens"])
    letters, states = delta.shape
    return Machine(tuple(map(str, range(states))), tuple("abcdefgh"[:letters]), delta)
