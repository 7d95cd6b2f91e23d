"""Claims S0.1 – S0.13: "Transformers learn shortcuts to automata", its definitions, Theorem 1 and the algebra.

Each function's docstring is the claim; it returns what was measured, and whether that agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
import torch

from glassformer.algebra import classify, decompose
from glassformer.algebra.depth import doubling
from glassformer.automata import Machine, machine, zoo
from glassformer.compiler.build import Built, compile
from glassformer.compiler.recurrent import recurrent_network
from glassformer.compiler.shortcut import Member, judge
from glassformer.compiler.verification import chosen_words, verify
from glassformer.errors import InputError
from glassformer.nn import Transformer
from glassformer.wording import counted


def simulation() -> tuple[str, bool]:
    """To simulate a semiautomaton (states, letters, moves; no final states) is to give the state after every prefix."""
    rng, positions, wrong = np.random.default_rng(1), 0, 0
    machines = [machine(spec) for spec in zoo.SPECIMENS]
    for each in machines:
        word = rng.integers(0, len(each.symbols), 700)
        state, one_by_one = each.start, []
        for letter in word.tolist():
            state = int(each.delta[letter, state])
            one_by_one.append(state)
        for simulated in (each.run(word), each.scan(word)):
            positions, wrong = positions + len(word), wrong + int((simulated != np.array(one_by_one)).sum())
    return (
        f"{len(machines)} machines, {positions:,} prefixes, {wrong} wrong, by steps and by composing maps",
        wrong == 0,
    )


def memory_unit() -> tuple[str, bool]:
    """The memory unit keeps its state on ⊥ and takes the state q on the letter q; the flip-flop is its one-bit case."""
    right = zoo.flipflop() == zoo.memory(2)
    for n in range(1, 11):
        read, *writes = zoo.memory(n).delta
        right &= bool((read == np.arange(n)).all()) and all((row == q).all() for q, row in enumerate(writes))
    report = verify(compile(zoo.memory(4), 100), words=60)
    said = f"memory(1 … 10) as defined; built for 4 values: {report.wrong} of {report.positions:,} prefixes wrong"
    return said, right and report.wrong == 0


def recurrent_is_exact() -> tuple[str, bool]:
    """A recurrent network represents any semiautomaton exactly, one step per letter."""
    length, machines = 3000, [machine(spec) for spec in zoo.SPECIMENS]
    wrong = sum(wrong_of_recurrent(each, length) for each in machines)
    return f"{len(machines)} machines, 4 words of {length:,} letters each, {wrong} steps wrong", wrong == 0


def shortcut() -> tuple[str, bool]:
    """A shortcut is a correct solution whose depth is o(T): a family of models is one or not."""
    counter, lengths = zoo.cyclic(5), [8, 16, 32, 64, 128, 256]
    built = {length: compile(counter, length, "log") for length in lengths}
    log = [Member(t, b.certificate.layers, verify(b, words=40).wrong) for t, b in built.items()]
    unrolled = [Member(t, t, wrong_of_recurrent(counter, t)) for t in lengths]  # one layer a letter
    three = [Member(t, 3, verify(cut(b, 3), words=40).wrong) for t, b in built.items()]
    verdicts = {"log depth": judge(log), "recurrent": judge(unrolled), "first 3 layers": judge(three)}
    said = "; ".join(f"{name}: {'yes' if v.shortcut else 'no'} ({v.why})" for name, v in verdicts.items())
    return said, [v.shortcut for v in verdicts.values()] == [True, False, False]


def theorem_1() -> tuple[str, bool]:
    """Depth O(log T) suffices for every semiautomaton, width O(|Q|) and MLP O(|Q|²), by divide and conquer."""
    wrong, positions, within = 0, 0, True
    for seed in range(12):
        n, length = 2 + seed % 11, (15, 100, 255)[seed % 3]
        built = compile(zoo.random(n, letters=1 + seed % 5, seed=seed), length, "log")
        report, promised = verify(built, words=40), built.certificate
        wrong, positions = wrong + report.wrong, positions + report.positions
        bits = doubling(length)
        within &= promised.layers <= bits and promised.heads == 1
        within &= promised.width <= 2 * n + 4 * bits + 8 and promised.mlp <= 4 * n * n + 4 * n
    said = f"12 random machines, {positions:,} prefixes, {wrong} wrong; layers = ⌈log₂ T⌉, one head, sizes in bounds"
    return (said if within else f"{wrong} wrong; sizes out of bounds"), within and wrong == 0


def length_by_depth() -> tuple[str, bool]:
    """The length handled grows exponentially with the depth."""
    deepest = 8
    built = compile(zoo.cyclic(5), 2**deepest, "log")
    words = chosen_words(built.machine, 2**deepest, 50, seed=4)
    longest = {}
    for depth in range(1, deepest + 1):
        right = (cut(built, depth).states(words) == built.machine.run(words)).all(axis=0)
        longest[depth] = int(right.argmin()) if not right.all() else right.size
    table = ", ".join(f"{counted(depth, 'layer')}: T = {length}" for depth, length in longest.items())
    return f"{len(words)} words; {table}", all(length == 2**depth for depth, length in longest.items())


def transformation_semigroup() -> tuple[str, bool]:
    """Words compose associatively, so k letters are one letter of a bigger machine; letters outside are an error."""
    rng, compared, wrong = np.random.default_rng(3), 0, 0
    for seed in range(30):
        each = zoo.random(2 + seed % 7, letters=1 + seed % 3, seed=seed)
        k = 1 + seed % 4
        word = rng.integers(0, len(each.symbols), 60 * k)
        blocks = word.reshape(-1, k) @ len(each.symbols) ** np.arange(k - 1, -1, -1)
        differs = each.power(k).run(blocks) != each.run(word)[k - 1 :: k]
        compared, wrong = compared + differs.size, wrong + int(differs.sum())
    refused = all(is_refused(each) for each in (zoo.parity(), zoo.gridworld(4), zoo.random()))
    outside = "refused" if refused else "taken"
    said = f"{compared:,} blocks on power(k), {wrong} wrong; letters outside the alphabet are {outside}"
    return said, wrong == 0 and refused


def krohn_rhodes() -> tuple[str, bool]:
    """Krohn–Rhodes: every finite automaton is emulated by a cascade of simple-group blocks and flip-flop memories."""
    machines = [machine(spec) for spec in zoo.SPECIMENS]
    machines += [zoo.random(1 + seed % 8, letters=1 + seed % 4, seed=seed) for seed in range(60)]
    rng, positions, wrong, factors = np.random.default_rng(5), 0, 0, set()
    for each in machines:
        cascade = decompose(each)
        words = rng.integers(0, len(each.symbols), (4, 60))
        for seen in (cascade.run(words, each.start), cascade.evaluate(words, each.start)):
            positions, wrong = positions + seen.size, wrong + int((seen != each.run(words)).sum())
        factors |= {f for level in cascade.levels for c in level.components for f in c.group.simple_factors}
    blocks = ", ".join(sorted(factors))
    said = f"{len(machines)} cascades, {positions:,} prefixes, {wrong} wrong, stepwise and not; groups: {blocks}"
    return said, wrong == 0


def theorem_2_algebra() -> tuple[str, bool]:
    """Theorem 2, its algebra: solvable semiautomata need a depth that does not grow with T."""
    rng, wrong, depths = np.random.default_rng(6), 0, {}
    for spec in zoo.SPECIMENS:
        each = machine(spec)
        cascade = decompose(each)
        if cascade.depth is None:
            continue
        depths[spec] = cascade.depth
        for length in (64, 512, 2048):  # the same tables and the same steps for all
            words = rng.integers(0, len(each.symbols), (2, length))
            wrong += int((cascade.evaluate(words, each.start) != each.run(words)).sum())
    deepest = max(depths, key=depths.__getitem__)
    said = (
        f"{len(depths)} solvable machines of the zoo, words of 64 to 2,048 letters by the same number of steps, "
        f"{wrong} wrong; the deepest is {deepest}: {depths[deepest]}"
    )
    return said, wrong == 0


def theorems_3_and_4_algebra() -> tuple[str, bool]:
    """Theorems 3 and 4, their algebra: the gridworld has no groups, so needs less; A5 and up are not solvable."""
    grids = {n: classify(zoo.gridworld(n)) for n in (4, 9, 20)}
    free = all(found.complexity.aperiodic for found in grids.values())
    levels = ", ".join(f"gridworld({n}): {found.depth['cascade']} levels" for n, found in grids.items())
    specs = ("symmetric(3)", "alternating(4)", "symmetric(4)", "alternating(5)", "symmetric(5)", "transformations(5)")
    solvable = {spec: bool(classify(spec).complexity.solvable) for spec in specs}
    hard = [spec for spec, is_solvable in solvable.items() if not is_solvable]
    said = f"{levels}, all of memories alone: {'yes' if free else 'no'}; not solvable: {', '.join(hard)}"
    return said, free and hard == ["alternating(5)", "symmetric(5)", "transformations(5)"]


CLAIMS: Final[dict[str, Callable[[], tuple[str, bool]]]] = {
    "S0.1": simulation,
    "S0.2": memory_unit,
    "S0.3": recurrent_is_exact,
    "S0.4": shortcut,
    "S0.5": theorem_1,
    "S0.6": length_by_depth,
    "S0.7": transformation_semigroup,
    "S0.8": krohn_rhodes,
    "S0.12": theorem_2_algebra,
    "S0.13": theorems_3_and_4_algebra,
}


def cut(built: Built, depth: int) -> Built:
    """The same model with its first layers only."""
    config = replace(built.model.config, blocks=built.model.config.blocks[:depth])
    model = Transformer(config)
    model.load_state_dict({name: built.model.state_dict()[name] for name in model.state_dict()})
    return replace(built, model=model.eval())


def wrong_of_recurrent(each: Machine, length: int) -> int:
    """Positions that the exact recurrent network gets wrong on four words."""
    words = chosen_words(each, length, 4, seed=2)
    with torch.no_grad():
        states = recurrent_network(each)(torch.from_numpy(words)).argmax(-1).numpy()
    return int((states != each.run(words)).sum())


def is_refused(each: Machine) -> bool:
    """Whether a letter outside the alphabet is an error and not an answer."""
    try:
        each.run("?")
    except InputError:
        return True
    return False
