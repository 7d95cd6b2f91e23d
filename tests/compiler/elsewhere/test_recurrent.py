import torch
from hypothesis import given
from hypothesis import strategies as st

from glassformer.compiler.elsewhere.recurrent import recurrent_network
from strategies import machines, words


@given(st.data())
def test_the_recurrent_network_follows_any_machine_for_any_length(data: st.DataObject) -> None:
    made = data.draw(machines())
    word = data.draw(words(made, max_length=60).filter(len))
    with torch.no_grad():
        states = recurrent_network(made)(torch.from_numpy(word)[None]).argmax(-1)[0]
    assert states.tolist() == made.run(word).tolist()


@given(machines())
def test_it_has_one_unit_for_each_transition_and_one_for_the_start(made: object) -> None:
    network = recurrent_network(made)  # type: ignore[arg-type]
    assert network.rnn.hidden_size == made.delta.size + 1  # type: ignore[attr-defined]


def test_a_spec_names_its_machine() -> None:
    assert recurrent_network("parity").rnn.hidden_size == 5
