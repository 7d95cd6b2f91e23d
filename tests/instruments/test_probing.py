"""What can be read off vectors, where it is known."""

import numpy as np
import pytest

from glassformer.errors import InputError
from glassformer.instruments.identity import Sample
from glassformer.instruments.probing import nearest, probe_layers


def sample() -> Sample:
    """Vectors that tell the token, the place, both, or nothing."""
    rng = np.random.default_rng(0)
    tokens, places = rng.integers(0, 8, 2000), rng.integers(0, 5, 2000)
    of_token, of_place = rng.normal(size=(8, 20)) * 3, rng.normal(size=(5, 20)) * 3
    noise = 0.2 * rng.normal(size=(2000, 20))
    vectors = {
        "token": of_token[tokens] + noise,
        "place": of_place[places] + noise,
        "both": of_token[tokens] + of_place[places] + noise,
        "nothing": noise,
    }
    return Sample(tokens, places, vectors)


def test_what_vectors_tell_is_recovered_and_the_control_finds_nothing() -> None:
    found = {each.layer: each for each in probe_layers(sample())}
    for layer, token, place in (("token", 1, 0), ("place", 0, 1), ("both", 1, 1), ("nothing", 0, 0)):
        told = found[layer]
        assert (told.token_nearest > 0.95) == bool(token)
        assert (told.token_probe > 0.95) == bool(token)
        assert (told.place_nearest > 0.95) == bool(place)
        assert (told.place_probe > 0.95) == bool(place)
        assert told.token_control < 0.25  # one in eight by chance
        assert told.place_control < 0.3  # one in five by chance


def test_the_control_for_places_is_what_the_token_tells() -> None:
    made = sample()
    (told,) = probe_layers(Sample(made.labels, made.labels % 3, {"nothing": made.vectors["nothing"]}))
    assert told.place_control == 1.0
    assert told.place_probe < 0.6


def test_the_nearest_is_another_vector() -> None:
    vectors = np.random.default_rng(0).normal(size=(3000, 4))
    found = nearest(vectors)
    assert (found != np.arange(3000)).all()
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for i in (0, 1500, 2999):
        cosines = units @ units[i]
        cosines[i] = -2
        assert found[i] == cosines.argmax()


def test_dead_vectors_are_taken_as_they_come() -> None:
    made = sample()
    (told,) = probe_layers(Sample(made.labels, made.places, {"dead": np.zeros((2000, 20))}))
    assert told.token_probe < 0.25


def test_vectors_that_are_not_finite_are_refused() -> None:
    made = sample()
    made.vectors["both"][7, 3] = np.nan
    with pytest.raises(InputError, match="some of the vectors are not finite"):
        probe_layers(made)


def test_too_few_vectors_are_refused() -> None:
    with pytest.raises(InputError, match="four vectors"):
        probe_layers(Sample(np.zeros(2, dtype=int), np.zeros(2, dtype=int), {"x": np.zeros((2, 3))}))
