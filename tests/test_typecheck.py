"""While the tests run, wrong types and sizes that do not agree are errors in every function of the package."""

import numpy as np
import pytest
import torch

from glassformer.automata import machine
from glassformer.instruments.circuits import Overlap
from glassformer.nn.attention import affine
from glassformer.operations.stream import Form


def test_a_wrong_type_is_an_error_in_functions_methods_and_data_classes() -> None:
    with pytest.raises(TypeError, match="spec"):
        machine(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="start"):
        machine("parity").run("11", start=np.zeros(2))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="known"):
        Overlap(1, "many", 1)  # type: ignore[arg-type]


def test_sizes_of_one_name_must_agree_in_a_call_and_may_differ_in_the_next() -> None:
    affine(torch.zeros(1, 2, 3), torch.zeros(3, 4), torch.zeros(4))
    affine(torch.zeros(1, 2, 5), torch.zeros(5, 6), torch.zeros(6))
    with pytest.raises(TypeError, match="weight"):
        affine(torch.zeros(1, 2, 3), torch.zeros(4, 3), torch.zeros(3))
    with pytest.raises(TypeError, match="constant"):
        Form(torch.zeros(4, 3), torch.zeros(2))


@pytest.mark.usefixtures("types_unchecked")
def test_what_a_user_may_do_wrong_can_be_tried_without() -> None:
    assert Overlap(1, "many", 1).known == "many"  # type: ignore[arg-type, comparison-overlap]
