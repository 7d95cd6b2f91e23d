"""Claims S0.1 – S0.13: "Transformers learn shortcuts to automata", its definitions and theorems.

Each function's docstring is the claim; it returns what was measured, and whether that agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
import torch

from glassformer.algebra import decompose
from glassformer.automata import Machine, machine, zoo
from glassformer.automata.words import chosen_words
from glassformer.compiler.built import Built
from glassformer.compiler.classification import classify
from glassformer.compiler.constructions.doubling.window import doublings
from glassformer.compiler.description import describe
from glassformer.compiler.elsewhere.recurrent import recurrent_network
from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify
from glassformer.errors import InputError
from glassformer.instruments.shortcut import Member, judge
from glassformer.nn import Transformer
from glassformer.operations.attention import FlatSum, LatestMatch
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
        bits = max(1, doublings(length))
        within &= promised.layers <= bits and promised.heads <= 1
        within &= promised.width <= 2 * n + 4 * bits + 8 and promised.mlp <= 4 * n * n + 4 * n
    said = f"12 random machines, {positions:,} prefixes, {wrong} wrong; layers ≤ ⌈log₂ T⌉, one head, sizes in bounds"
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


def modular_counter() -> tuple[str, bool]:
    """A modular counter is one attention layer (flat sum over the prefix) and an MLP that takes the remainder."""
    built = {m: compile(zoo.cyclic(m), 200, "cascade") for m in range(2, 9)}
    parts = [head.operation for b in built.values() for head in describe(b.model, b.certificate).layers[0].heads]
    flat = all(isinstance(part, FlatSum) for part in parts) and all(b.certificate.layers == 1 for b in built.values())
    reports = [verify(b, words=40) for b in built.values()]
    wrong, positions = sum(r.wrong for r in reports), sum(r.positions for r in reports)
    said = f"C2 … C8, one layer of flat sums each: {'yes' if flat else 'no'}; {wrong} of {positions:,} prefixes wrong"
    return said, flat and wrong == 0


def memory_in_one_layer() -> tuple[str, bool]:
    """A memory unit is one attention layer (attend to the last write: the conditional reset)."""
    built = {n: compile(zoo.memory(n), 200, "cascade") for n in (2, 4, 10)}
    parts = [head.operation for b in built.values() for head in describe(b.model, b.certificate).layers[0].heads]
    resets = all(isinstance(part, LatestMatch) for part in parts)
    one = resets and all(b.certificate.layers == 1 for b in built.values())
    wrong = sum(verify(b, words=40).wrong for b in built.values())
    sizes = ", ".join(map(str, built))
    said = f"memories of {sizes} values, one layer of resets each: {'yes' if one else 'no'}; {wrong} wrong"
    return said, one and wrong == 0


def residual_stream() -> tuple[str, bool]:
    """A cascade needs only the residual stream: each layer reads what the layers below it have written."""
    built = compile(zoo.transformations(3), 100, "cascade")
    told = describe(built.model, built.certificate)
    written, twice, unread = [*told.tokens_write, *told.positions_write], 0, 0
    for layer in told.layers:
        heads = [({*head.query, *head.key, *head.value}, head.writes) for head in layer.heads]
        mlp = [(set(layer.mlp.reads), layer.mlp.writes)] if layer.mlp else []
        for together in (heads, mlp):  # heads read the same stream, the MLP the one after them
            unread += sum(len(reads - set(written)) for reads, _ in together)
            twice += sum(len(set(writes) & set(written)) for _, writes in together)
            written += [name for _, writes in together for name in writes]
    wrong = verify(built, words=40).wrong
    said = (
        f"T3 in {built.certificate.layers} layers over {len(built.certificate.registers)} registers: {unread} are read "
        f"before they are written, {twice} are written twice; {wrong} prefixes wrong"
    )
    return said, not unread and not twice and not wrong


def theorem_2() -> tuple[str, bool]:
    """Theorem 2: solvable semiautomata need a depth that does not grow with T; the MLP width does grow with T."""
    lengths, specs = (64, 256, 1024), ("cyclic(5)", "symmetric(4)", "permutation_reset(3)", "regex:(ab)*")
    same, wrong, widths = True, 0, {}
    for spec in specs:
        built = [compile(spec, length, "cascade", "float64") for length in lengths]
        same &= len({b.certificate.layers for b in built}) == 1
        wrong += sum(verify(b, words=4).wrong for b in built)
        widths[spec] = [b.certificate.mlp for b in built]
    grows = widths["cyclic(5)"] == sorted(set(widths["cyclic(5)"]))
    said = (
        f"{len(specs)} machines at T = {', '.join(f'{length:,}' for length in lengths)}: the same depth: "
        f"{'yes' if same else 'no'}, {wrong} wrong; MLP units of cyclic(5): {', '.join(map(str, widths['cyclic(5)']))}"
    )
    return said, same and grows and wrong == 0


def theorems_3_and_4() -> tuple[str, bool]:
    """Theorem 3: the gridworld needs even less; Theorem 4: A5 and up are beyond constant depth unless TC0 = NC1."""
    walks = {n: compile(zoo.gridworld(n), 200) for n in (4, 9, 20)}
    two = all(built.certificate.layers == 2 for built in walks.values())
    wrong = sum(verify(built, words=10).wrong for built in walks.values())
    cascades = ", ".join(str(decompose(zoo.gridworld(n)).height) for n in walks)
    specs = ("symmetric(3)", "alternating(4)", "symmetric(4)", "alternating(5)", "symmetric(5)", "transformations(5)")
    hard = [spec for spec in specs if not classify(spec).complexity.solvable]
    said = (
        f"gridworld of 4, 9 and 20 cells in 2 layers: {'yes' if two else 'no'}, {wrong} wrong (the cascade takes "
        f"{cascades}); not solvable: {', '.join(hard)}"
    )
    return said, two and wrong == 0 and hard == ["alternating(5)", "symmetric(5)", "transformations(5)"]


CLAIMS: Final[dict[str, Callable[[], tuple[str, bool]]]] = {
    "S0.1": simulation,
    "S0.2": memory_unit,
    "S0.3": recurrent_is_exact,
    "S0.4": shortcut,
    "S0.5": theorem_1,
    "S0.6": length_by_depth,
    "S0.7": transformation_semigroup,
    "S0.8": krohn_rhodes,
    "S0.9": modular_counter,
    "S0.10": memory_in_one_layer,
    "S0.11": residual_stream,
    "S0.12": theorem_2,
    "S0.13": theorems_3_and_4,
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
