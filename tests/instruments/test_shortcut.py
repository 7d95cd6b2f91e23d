import math

import pytest

from glassformer.errors import InputError
from glassformer.instruments.shortcut import Member, judge

LENGTHS = [8, 16, 32, 64, 128, 256, 512]


@pytest.mark.parametrize("depth", [lambda t: 3, lambda t: math.ceil(math.log2(t)), lambda t: math.isqrt(t)])
def test_depth_that_grows_more_slowly_than_the_length_is_a_shortcut(depth: object) -> None:
    assert judge([Member(t, depth(t), 0) for t in LENGTHS]).shortcut  # type: ignore[operator]


@pytest.mark.parametrize("depth", [lambda t: t, lambda t: t // 2, lambda t: t * t])
def test_depth_that_keeps_up_with_the_length_is_not(depth: object) -> None:
    assert not judge([Member(t, depth(t), 0) for t in LENGTHS]).shortcut  # type: ignore[operator]


def test_one_mistake_is_enough_to_be_no_shortcut() -> None:
    verdict = judge([Member(t, 3, int(t == 64)) for t in LENGTHS])
    assert not verdict.shortcut
    assert "wrong at 1 position of length 64; depth grows like T^" in str(verdict.why)
    assert abs(verdict.growth) < 1e-9  # a constant depth; the fit is in floating point


def test_no_layers_at_all_are_constant_depth() -> None:
    verdict = judge([Member(t, 0, 0) for t in LENGTHS])
    assert (verdict.shortcut, round(verdict.growth, 6)) == (True, 0)


def test_models_of_the_same_length_twice_do_not_spoil_the_fit() -> None:
    verdict = judge([Member(t, math.ceil(math.log2(t)), 0) for t in (8, 64, 512, 512, 512)])
    assert verdict.shortcut
    with pytest.raises(InputError, match="at least three lengths"):
        judge([Member(8, 3, 0), Member(64, 4, 0), Member(64, 5, 0)])


def test_too_short_a_family_is_no_evidence() -> None:
    with pytest.raises(InputError, match="at least three lengths"):
        judge([Member(8, 3, 0), Member(16, 4, 0), Member(32, 5, 0)])
