"""How fast are machines simulated? Against automata-lib, and against a plain NumPy loop over positions.

    python benchmarks/simulate.py

All take turns in one run; read the ratios.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from automata.fa.dfa import DFA

from glassformer.automata import Machine, machine


def numpy_loop(machine: Machine, words: np.ndarray) -> np.ndarray:
    """What one would write without this library: all words in step, one position after the other."""
    state = np.full(len(words), machine.start)
    seen = np.empty(words.shape, dtype=np.intp)
    for t in range(words.shape[1]):
        state = machine.delta[words[:, t], state]
        seen[:, t] = state
    return seen


def automata_lib(machine: Machine) -> Callable[[list[str]], list[list[str]]]:
    transitions = {
        state: {symbol: machine.states[machine.delta[a, q]] for a, symbol in enumerate(machine.symbols)}
        for q, state in enumerate(machine.states)
    }
    dfa = DFA(
        states=set(machine.states),
        input_symbols=set(machine.symbols),
        transitions=transitions,
        initial_state=machine.states[machine.start],
        final_states=set(machine.states),
    )
    return lambda words: [list(dfa.read_input_stepwise(word))[1:] for word in words]


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def faster(ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 15) -> float:
    """How many times longer they take: the best of several rounds each, taking turns (other load only adds)."""
    times = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    return min(theirs for _, theirs in times) / min(ours for ours, _ in times)


def main(quick: bool) -> None:
    rng = np.random.default_rng(0)
    size, long = (64, 2**14) if quick else (1024, 2**20)
    print(f"{'machine':16}{'words × letters':>24}  {'run() is faster than':28}{'times':>8}")

    def row(name: str, words: np.ndarray, peer: str, times: float) -> None:
        shape = f"{words.shape[0]:,} × {words.shape[1]:,} {words.dtype}"
        print(f"{name:16}{shape:>24}  {peer:28}{times:>7.1f}×")

    for spec, letters in itertools.product(("parity", "gridworld(9)", "symmetric(5)"), (np.uint8, np.int64)):
        made = machine(spec)
        words = rng.integers(0, len(made.symbols), (size, size), dtype=letters)
        few = words[:32]  # automata-lib takes its time: a part, scaled up
        step_all = automata_lib(made)
        texts = [made.join(word) for word in few]
        assert [[made.states[q] for q in word] for word in made.run(few)] == step_all(texts)
        run, loop = partial(made.run, words), partial(numpy_loop, made, words)
        assert (run() == loop()).all()
        row(spec, words, "automata-lib, stepping", faster(run, partial(step_all, texts)) * len(words) / len(few))
        row(spec, words, "a NumPy loop", faster(run, loop))

    for spec in ("parity", "random(16)", "symmetric(5)"):
        for length in (2**12, long):
            made = machine(spec)
            word = rng.integers(0, len(made.symbols), (1, length), dtype=np.uint8)
            run, loop = partial(made.run, word), partial(numpy_loop, made, word)
            assert (run() == loop()).all()
            row(spec, word, "a NumPy loop", faster(run, loop, 5))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smaller run that only shows that it works")
    main(parser.parse_args().quick)
