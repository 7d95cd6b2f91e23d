"""Claims S0.1 – S0.13: "Transformers learn shortcuts to automata", its definitions and theorems.

Each function's docstring is the claim; it returns what was measured, and whether that agrees.
"""

from __future__ import annotations

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
from glassformer.documents.verdict import Measured, numbered, yes_or_no
from glassformer.errors import InputError
from glassformer.instruments.shortcut import Member, judge
from glassformer.messages import Message
from glassformer.nn import Transformer
from glassformer.operations.attention import FlatSum, LatestMatch


def simulation() -> Measured:
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
    return Message("shortcuts.simulation", machines=len(machines), positions=positions, wrong=wrong), wrong == 0


def memory_unit() -> Measured:
    """The memory unit keeps its state on ⊥ and takes the state q on the letter q; the flip-flop is its one-bit case."""
    right = zoo.flipflop() == zoo.memory(2)
    for n in range(1, 11):
        read, *writes = zoo.memory(n).delta
        right &= bool((read == np.arange(n)).all()) and all((row == q).all() for q, row in enumerate(writes))
    report = verify(compile(zoo.memory(4), 100), words=60)
    seen = Message("shortcuts.memory_unit", wrong=report.wrong, positions=report.positions)
    return seen, right and report.wrong == 0


def recurrent_is_exact() -> Measured:
    """A recurrent network represents any semiautomaton exactly, one step per letter."""
    length, machines = 3000, [machine(spec) for spec in zoo.SPECIMENS]
    wrong = sum(wrong_of_recurrent(each, length) for each in machines)
    return Message("shortcuts.recurrent", machines=len(machines), length=length, wrong=wrong), wrong == 0


def shortcut() -> Measured:
    """A shortcut is a correct solution whose depth is o(T): a family of models is one or not."""
    counter, lengths = zoo.cyclic(5), [8, 16, 32, 64, 128, 256]
    built = {length: compile(counter, length, "log") for length in lengths}
    log = [Member(t, b.certificate.layers, verify(b, words=40).wrong) for t, b in built.items()]
    unrolled = [Member(t, t, wrong_of_recurrent(counter, t)) for t in lengths]  # one layer a letter
    three = [Member(t, 3, verify(cut(b, 3), words=40).wrong) for t, b in built.items()]
    families = {"log_depth": judge(log), "recurrent_network": judge(unrolled), "first_layers": judge(three)}
    judged = [
        Message("shortcuts.judged", family=Message(f"shortcuts.{name}"), shortcut=yes_or_no(v.shortcut), why=v.why)
        for name, v in families.items()
    ]
    return Message("common.verbatim", text=judged), [v.shortcut for v in families.values()] == [True, False, False]


def theorem_1() -> Measured:
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
    sizes = Message("shortcuts.in_bounds" if within else "shortcuts.out_of_bounds")
    return Message("shortcuts.theorem_1", positions=positions, wrong=wrong, sizes=sizes), within and wrong == 0


def length_by_depth() -> Measured:
    """The length handled grows exponentially with the depth."""
    deepest = 8
    built = compile(zoo.cyclic(5), 2**deepest, "log")
    words = chosen_words(built.machine, 2**deepest, 50, seed=4)
    longest = {}
    for depth in range(1, deepest + 1):
        right = (cut(built, depth).states_unchecked(words) == built.machine.run(words)).all(axis=0)
        longest[depth] = int(right.argmin()) if not right.all() else right.size
    lengths = [Message("shortcuts.longest", layers=depth, length=length) for depth, length in longest.items()]
    seen = Message("shortcuts.length_by_depth", words=len(words), lengths=lengths)
    return seen, all(length == 2**depth for depth, length in longest.items())


def transformation_semigroup() -> Measured:
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
    outside = Message("shortcuts.refused" if refused else "shortcuts.taken")
    return Message("shortcuts.semigroup", blocks=compared, wrong=wrong, outside=outside), wrong == 0 and refused


def krohn_rhodes() -> Measured:
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
    sizes = {"machines": len(machines), "positions": positions, "wrong": wrong}
    return Message("shortcuts.krohn_rhodes", **sizes, groups=sorted(factors, key=str)), wrong == 0


def modular_counter() -> Measured:
    """A modular counter is one attention layer (flat sum over the prefix) and an MLP that takes the remainder."""
    built = {m: compile(zoo.cyclic(m), 200, "cascade") for m in range(2, 9)}
    parts = [head.operation for b in built.values() for head in describe(b.model, b.certificate).layers[0].heads]
    flat = all(isinstance(part, FlatSum) for part in parts) and all(b.certificate.layers == 1 for b in built.values())
    reports = [verify(b, words=40) for b in built.values()]
    wrong, positions = sum(r.wrong for r in reports), sum(r.positions for r in reports)
    seen = Message("shortcuts.counters", flat=yes_or_no(flat), wrong=wrong, positions=positions)
    return seen, flat and wrong == 0


def memory_in_one_layer() -> Measured:
    """A memory unit is one attention layer (attend to the last write: the conditional reset)."""
    built = {n: compile(zoo.memory(n), 200, "cascade") for n in (2, 4, 10)}
    parts = [head.operation for b in built.values() for head in describe(b.model, b.certificate).layers[0].heads]
    resets = all(isinstance(part, LatestMatch) for part in parts)
    one = resets and all(b.certificate.layers == 1 for b in built.values())
    wrong = sum(verify(b, words=40).wrong for b in built.values())
    return Message("shortcuts.memories", sizes=list(built), one=yes_or_no(one), wrong=wrong), one and wrong == 0


def residual_stream() -> Measured:
    """A cascade needs only the residual stream: each layer reads what the layers below it have written."""
    built = compile(zoo.transformations(3), 100, "cascade")
    model = describe(built.model, built.certificate)
    written, twice, unread = [*model.tokens_write, *model.positions_write], 0, 0
    for layer in model.layers:
        heads = [({*head.query, *head.key, *head.value}, head.writes) for head in layer.heads]
        mlp = [(set(layer.mlp.reads), layer.mlp.writes)] if layer.mlp else []
        for together in (heads, mlp):  # heads read the same stream, the MLP the one after them
            unread += sum(len(reads - set(written)) for reads, _ in together)
            twice += sum(len(set(writes) & set(written)) for _, writes in together)
            written += [name for _, writes in together for name in writes]
    wrong = verify(built, words=40).wrong
    sizes = {"layers": built.certificate.layers, "registers": len(built.certificate.registers)}
    seen = Message("shortcuts.residual_stream", **sizes, unread=unread, twice=twice, wrong=wrong)
    return seen, not unread and not twice and not wrong


def theorem_2() -> Measured:
    """Theorem 2: solvable semiautomata need a depth that does not grow with T; the MLP width does grow with T."""
    lengths, specs = (64, 256, 1024), ("cyclic(5)", "symmetric(4)", "permutation_reset(3)", "regex:(ab)*")
    same, wrong, widths = True, 0, {}
    for spec in specs:
        built = [compile(spec, length, "cascade", "float64") for length in lengths]
        same &= len({b.certificate.layers for b in built}) == 1
        wrong += sum(verify(b, words=4).wrong for b in built)
        widths[spec] = [b.certificate.mlp for b in built]
    units = widths["cyclic(5)"]
    grows = units == sorted(set(units))
    sizes = {"machines": len(specs), "lengths": list(lengths), "wrong": wrong, "units": units}
    return Message("shortcuts.theorem_2", **sizes, same=yes_or_no(same)), same and grows and wrong == 0


def theorems_3_and_4() -> Measured:
    """Theorem 3: the gridworld needs even less; Theorem 4: A5 and up are beyond constant depth unless TC0 = NC1."""
    walks = {n: compile(zoo.gridworld(n), 200) for n in (4, 9, 20)}
    two = all(built.certificate.layers == 2 for built in walks.values())
    wrong = sum(verify(built, words=10).wrong for built in walks.values())
    cascades = [decompose(zoo.gridworld(n)).height for n in walks]
    specs = ("symmetric(3)", "alternating(4)", "symmetric(4)", "alternating(5)", "symmetric(5)", "transformations(5)")
    hard = [spec for spec in specs if not classify(spec).complexity.solvable]
    seen = Message("shortcuts.theorem_3", two=yes_or_no(two), wrong=wrong, cascades=cascades, hard=hard)
    return seen, two and wrong == 0 and hard == ["alternating(5)", "symmetric(5)", "transformations(5)"]


CLAIMS: Final = numbered(
    "S0",
    simulation, memory_unit, recurrent_is_exact, shortcut, theorem_1, length_by_depth, transformation_semigroup,
    krohn_rhodes, modular_counter, memory_in_one_layer, residual_stream, theorem_2, theorems_3_and_4
)  # fmt: skip


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
