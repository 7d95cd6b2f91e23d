"""The exact recurrent network (S0.3): any semiautomaton, one step per letter, for words of any length.

There is one hidden unit for every pair of a letter and the state it was read in, and one for the start. Unit (a, q)
is relu([letter is a] + [state was q] − 1), and the state was q if some unit that leads to q was on: all numbers are
0 or 1, so nothing is ever rounded.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from glassformer.automata import Machine, finite
from glassformer.automata import machine as machine_of
from glassformer.nn.recurrent import Recurrent


def recurrent_network(machine: Machine | str) -> Recurrent:
    """The network whose hidden units are the transitions of the machine, or of the one that a spec names."""
    machine = machine_of(machine) if isinstance(machine, str) else finite(machine)
    letters, states = len(machine.symbols), len(machine.states)
    leads_to = torch.tensor(
        [*machine.delta.ravel(), machine.start]
    )  # unit (a, q) is number a·states + q; start is last
    arrives = F.one_hot(leads_to, states).float()  # [unit, state]
    needs_letter = torch.eye(letters).repeat_interleave(states, dim=0)  # [unit, letter]
    needs_state = torch.eye(states).repeat(letters, 1)  # [unit, state]

    network = Recurrent(vocab=letters, hidden=len(leads_to), outputs=states)
    network.load_state_dict(
        {
            "embed.weight": torch.eye(letters),
            "rnn.weight_ih_l0": F.pad(needs_letter, (0, 0, 0, 1)),
            "rnn.weight_hh_l0": F.pad(needs_state @ arrives.T, (0, 0, 0, 1)),
            "rnn.bias_ih_l0": torch.full((len(leads_to),), -1.0),
            "rnn.bias_hh_l0": torch.zeros(len(leads_to)),
            "start": torch.eye(len(leads_to))[-1],
            "unembed.weight": arrives.T,
            "unembed.bias": torch.zeros(states),
        }
    )
    return network.eval()
