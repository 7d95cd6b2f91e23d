"""Edges that are cut alone, and the circuits found by it beside those that built models are known to have."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from glassformer.automata import Machine, machine, zoo
from glassformer.automata.words import chosen_words, every_word
from glassformer.compiler.built import Built
from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify
from glassformer.errors import InputError
from glassformer.instruments import sites
from glassformer.instruments.circuits import (
    answers,
    edges_in_weights,
    effects,
    find_circuit,
    is_sufficient,
    prune,
    score,
)
from glassformer.instruments.edges import Edge, Edges
from glassformer.instruments.sites import Site
from glassformer.nn import Config, Transformer
from random_models import randomised

CONFIG = Config.uniform(vocab=5, outputs=4, context=9, width=12, layers=2, heads=2, norm="layer")
TOKENS = torch.tensor([[0, 1, 2, 3, 4, 0], [4, 4, 1, 0, 2, 2], [1, 0, 3, 3, 2, 4]])


def random_model(config: Config = CONFIG) -> Transformer:
    return randomised(Transformer(config))


def all_words(built: Built, length: int | None = None) -> torch.Tensor:
    return built.tokens(every_word(built.machine, length or built.certificate.exact_length))


def test_cutting_no_edge_changes_nothing_and_cutting_all_from_another_input_gives_its_answer() -> None:
    model = random_model()
    graph = Edges(model)
    other = TOKENS.flip(0)
    none, every = graph.cut([]).expand(3, -1, -1), graph.cut(graph.edges).expand(3, -1, -1)
    torch.testing.assert_close(graph.run(TOKENS, none, graph.terms(other)), model(TOKENS))
    torch.testing.assert_close(graph.run(TOKENS, every, graph.terms(other)), model(other))


def test_one_cut_edge_is_the_direct_path_and_no_other() -> None:
    """The MLP of layer 0 is heard by the logits as on another input, and by all else as on this one."""
    model = random_model(Config.uniform(vocab=5, outputs=4, context=9, width=12, layers=2, heads=2, norm="none"))
    graph = Edges(model)
    edge = Edge(Site("blocks.0.hook_mlp_out"), Site("blocks.1.hook_resid_post"))
    instead = graph.terms(TOKENS.flip(0))
    which = graph.writers.index(edge.writer)
    moved = (instead - graph.terms(TOKENS))[which] @ model.unembed.W_U
    cut = graph.cut([edge]).expand(3, -1, -1)
    torch.testing.assert_close(graph.run(TOKENS, cut, instead), model(TOKENS) + moved)


def test_each_row_may_have_its_own_edges_cut() -> None:
    model = random_model()
    graph = Edges(model)
    instead = graph.terms(TOKENS.flip(0))
    chosen = graph.edges[::7][:3]
    together = graph.run(TOKENS, torch.stack([graph.cut([edge]) for edge in chosen]), instead)
    for row, edge in enumerate(chosen):
        alone = graph.run(TOKENS, graph.cut([edge]).expand(3, -1, -1), instead)
        torch.testing.assert_close(together[row], alone[row])


@pytest.mark.parametrize(
    ("spec", "method", "length"),
    [
        ("parity", "log", 8),
        ("parity", "cascade", 6),
        ("cyclic(5)", "cascade", 6),
        ("dihedral(3)", "cascade", 6),
        ("symmetric(3)", "log", 4),
        ("dyck(pairs=1, depth=3)", "log", 8),
        ("random(12, letters=5, seed=1)", "log", 4),
        ("last_symbol(3)", "log", 5),
        ("last_symbol(3)", "cascade", 5),
        ("flipflop", "cascade", 5),
        ("first_symbol(3)", "cascade", 5),
        ("resettable(3)", "cascade", 6),
        ("abab", "cascade", 8),
        ("adder", "cascade", 4),
        ("tomita(4)", "cascade", 8),
        ("threshold(3)", "gridworld", 8),
        ("gridworld(3)", "gridworld", 6),
        ("dyck(pairs=1, depth=3)", "dyck", 10),
        ("regex:(a|b)*abb", "log", 8),  # the last 3 letters tell the state: the second layer needs 1 from 2 back
        ("regex:(a|b)*abbab", "log", 8),
        ("random(3, letters=3, seed=2388)", "auto", 6),
    ],
)
@pytest.mark.usefixtures("types_unchecked")
def test_the_circuit_found_on_a_built_model_is_the_one_in_its_weights(spec: str, method: str, length: int) -> None:
    built = compile(spec, length, method)
    found = [edge for edge, changed in effects(built.model, all_words(built)).items() if changed > 0]
    assert found == edges_in_weights(built.model)


def walk_of_three_cells() -> Machine:
    """Its last 8 letters do not tell the state if, and only if, they are left and right in turn."""
    return Machine(("0", "1", "2"), ("a", "b"), np.array([[0, 0, 1], [1, 2, 2]]))


@pytest.mark.parametrize(
    ("made", "method"),
    [
        (machine("dyck(pairs=2, depth=2)"), "auto"),
        (machine("tomita(7)"), "auto"),
        (machine("random(3, letters=3, seed=2577)"), "auto"),
        (walk_of_three_cells(), "log"),
    ],
    ids=["dyck", "tomita(7)", "random", "walk"],
)
def test_words_chosen_to_go_where_few_go_show_every_wire(made: Machine, method: str) -> None:
    built = compile(made, 16, method)
    words = built.tokens(chosen_words(built.machine, 16, 256, seed=0))
    known = edges_in_weights(built.model)
    found = [edge for edge, changed in effects(built.model, words, among=known).items() if changed > 0]
    assert found == known


def test_what_does_not_lead_alone_is_no_answer() -> None:
    assert answers(torch.tensor([[[1.0, 2.0, 0.0], [2.0, 2.0, 0.0]]])).tolist() == [[1, -1]]


def test_what_was_found_suffices_in_the_way_in_which_it_was_sought() -> None:
    """The mean of what positions say is what they say: cut by means, their edges are not missed; by zeros, they are."""
    built = compile("parity", 8, "log")
    words = all_words(built)
    found = prune(built.model, words, "mean")
    assert not any(edge.writer == Site("hook_pos_embed") for edge in found)
    assert is_sufficient(built.model, words, found, "mean")
    assert not is_sufficient(built.model, words, found, "zero")


def test_a_start_token_that_says_nothing_has_no_answer_that_could_change() -> None:
    built = compile("gridworld(4)", 8, "gridworld")
    words, known = all_words(built)[:2], edges_in_weights(built.model)
    assert (answers(built.model(words))[:, 0] == -1).all()
    assert set(effects(built.model, words[:, :1], among=known).values()) == {0.0}


@pytest.mark.parametrize("kind", ["zero", "mean", "resample"])
def test_more_words_than_fit_at_once_change_nothing(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    built = compile("dihedral(3)", 6, "cascade")
    words, known = all_words(built), edges_in_weights(built.model)
    together = effects(built.model, words, kind, among=known), prune(built.model, words, kind, among=known)
    monkeypatch.setattr(sites, "NUMBERS_AT_ONCE", 2000)
    assert Edges(built.model).rows_at_once(words.shape[1]) < len(words)
    assert (effects(built.model, words, kind, among=known), prune(built.model, words, kind, among=known)) == together
    assert is_sufficient(built.model, words, together[1], kind)


@pytest.mark.parametrize(
    ("spec", "method"),
    [("parity", "log"), ("symmetric(3)", "log"), ("gridworld(3)", "gridworld"), ("dihedral(4)", "cascade")],
)
@pytest.mark.parametrize("length", [3, 5])
def test_a_model_is_built_for_words_that_need_all_of_it(spec: str, method: str, length: int) -> None:
    """Doubling covers 4 or 8 letters, a walk may cross its corridor and come back, and all layers of a cascade work."""
    built = compile(spec, length, method)
    assert built.certificate.exact_length > length
    assert_every_edge_is_found(built)


def test_states_that_no_word_leads_to_make_no_wires() -> None:
    lost = Machine(("even", "odd", "lost"), ("0", "1"), np.array([[0, 1, 2], [1, 0, 1]]))
    built = compile(lost, 8, "cascade")
    assert (built.certificate.layers, verify(built).wrong) == (1, 0)
    assert_every_edge_is_found(built)


@pytest.mark.parametrize("method", ["log", "cascade", "auto"])
def test_a_machine_with_one_answer_makes_no_wires(method: str) -> None:
    built = compile(Machine(("here", "lost"), ("a", "b"), np.array([[0, 1], [0, 0]])), 8, method)
    assert verify(built).wrong == 0
    assert edges_in_weights(built.model) == []


def assert_every_edge_is_found(built: Built) -> None:
    changed = effects(built.model, all_words(built), among=edges_in_weights(built.model))
    assert changed
    assert all(part > 0 for part in changed.values())


@pytest.mark.parametrize("method", ["log", "auto"])
def test_letters_that_all_do_the_same_make_no_edge_but_that_of_the_position(method: str) -> None:
    built = compile(zoo.random(3, letters=2, seed=18), 8, method)
    assert [str(edge) for edge in edges_in_weights(built.model)] == ["hook_pos_embed → blocks.0.hook_resid_post"]
    assert_every_edge_is_found(built)


def test_situations_that_lead_to_the_same_make_no_edges_to_tell_them_apart() -> None:
    """Both tiles turn alike under the letter that resets, so that it need not know which of them it left."""
    built = compile(Machine(("0", "1", "2"), ("a", "b"), np.array([[2, 0, 0], [0, 2, 1]])), 8, "cascade")
    assert verify(built).wrong == 0
    assert_every_edge_is_found(built)


@pytest.mark.parametrize(("spec", "method", "idle"), [("parity", "log", 2), ("gridworld(7)", "gridworld", 23)])
def test_edges_that_shorter_words_do_not_need_are_idle_on_them(spec: str, method: str, idle: int) -> None:
    """What was found is sufficient on every word of that length."""
    built = compile(spec, 5, method)
    words, there = all_words(built, 5), edges_in_weights(built.model)
    found = [edge for edge, changed in effects(built.model, words).items() if changed > 0]
    assert set(found) <= set(there)
    assert len(there) - len(found) == idle
    assert is_sufficient(built.model, words, found)
    assert not is_sufficient(built.model, words, found[:-1])


def test_what_was_found_is_scored_by_what_is_known() -> None:
    edges = Edges(random_model()).edges
    scored = score(edges[:4], edges[1:9])
    assert (scored.precision, scored.recall) == (3 / 4, 3 / 8)


def test_a_circuit_is_found_beside_the_known_one() -> None:
    built = compile("parity", 8, "log")
    known = edges_in_weights(built.model)
    alone = find_circuit(built.model, all_words(built), known=known)
    pruned = find_circuit(built.model, all_words(built), "mean", pruned=True, known=known)
    assert alone.edges == [edge for edge, changed in alone.changes.items() if changed > 0]
    assert (alone.overlap.recall, alone.missed) == (1, [])
    assert pruned.missed == [edge for edge in known if edge not in pruned.edges] != []
    assert alone.is_sufficient
    assert pruned.is_sufficient
    assert find_circuit(built.model, all_words(built)).missed == []


def test_pruning_finds_the_same_edges_as_cutting_each_alone() -> None:
    built = compile("dihedral(3)", 6, "cascade")
    words = all_words(built)
    assert set(prune(built.model, words)) == {edge for edge, part in effects(built.model, words).items() if part > 0}


def test_resampling_does_not_see_edges_that_say_the_same_on_every_word() -> None:
    """Positions are what they are on every word: only taking them away shows that somebody reads them."""
    built = compile("parity", 8, "log")
    words = built.tokens(chosen_words(built.machine, 8, 64, seed=0))
    changed = effects(built.model, words, "resample")
    missed = {edge for edge in edges_in_weights(built.model) if changed[edge] == 0}
    assert missed
    assert all(edge.writer == Site("hook_pos_embed") for edge in missed)


def test_edges_that_do_not_exist_and_models_without_any_are_named() -> None:
    graph = Edges(random_model())
    with pytest.raises(InputError, match=r"hook_resid_mid is nothing that writes; near it are hook_embed"):
        graph.cut([Edge(Site("hook_resid_mid"), graph.readers[0])])
    with pytest.raises(InputError, match=r"reads before blocks.1.hook_mlp_out writes"):
        graph.cut([Edge(Site("blocks.1.hook_mlp_out"), graph.readers[0])])
    with pytest.raises(InputError, match="no layers"):
        Edges(Transformer(replace(CONFIG, blocks=())))
    with pytest.raises(InputError, match="no sum of what was written"):
        Edges(
            Transformer(
                Config.uniform(
                    vocab=5, outputs=4, context=9, width=12, layers=2, heads=2, norm="layer", norm_place="post"
                )
            )
        )
    with pytest.raises(InputError, match="a norm mixes all columns"):
        edges_in_weights(random_model())
    with pytest.raises(InputError, match=r"write its name, and \[0\] for head 0"):
        Site.parse("blocks.0 hook")
