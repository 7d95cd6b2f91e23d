"""What the tests of all machine files share."""

import numpy as np
import pytest

from glassformer.automata import Machine
from glassformer.automata.formats import loads
from glassformer.errors import InputError

EVEN = Machine(("even", "odd"), ("a", "b"), np.array([[1, 0], [0, 1]]), 0, ("yes", "no"))
ENDS_IN_A = Machine(("no", "yes"), ("a", "b"), np.array([[1, 1], [0, 0]]), 0, (False, True))


def refusal(text: str, kind: str) -> str:
    """Why a text is no machine."""
    with pytest.raises(InputError) as caught:
        loads(text, kind, f"m.{kind}")
    return str(caught.value)
