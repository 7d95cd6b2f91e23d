"""Every part beside its published formula, written out for one query, one key and one number at a time."""

import cmath
import itertools
import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.errors import InputError
from glassformer.nn import scores
from glassformer.nn.scores import FAMILY, WINDOWS, AuxiliaryLoss, Environment, Reach, Sizes, auxiliary_losses, part

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 3, 4, 8, 4
SIZES = Sizes(HEADS, WIDTH, KEYS + 1)
REACH = 3
"""Not the 2 of the library, with which σ would be 1, and σ and σ² the same."""
Vector = list[float]
QKV = tuple[Tensor, Tensor, Tensor]


class Pair(NamedTuple):
    """A query at place t and a key at place i, in head h, which has weights w."""

    q: Vector
    k: Vector
    t: int
    i: int
    h: int
    w: dict[str, Any]


def dot(x: Vector, y: Vector) -> float:
    return sum(a * b for a, b in zip(x, y, strict=True))


def through(x: Vector, W: list[Vector]) -> Vector:
    return [dot(x, [row[j] for row in W]) for j in range(len(W[0]))]


def bent(x: Vector) -> Vector:
    return [math.tanh(a) for a in x]


def rectified(x: Vector, W: list[Vector]) -> Vector:
    return [max(a, 0.0) for a in through(x, W)]


def phi(x: Vector) -> Vector:
    return [a + 1 if a > 0 else math.exp(a) for a in x]


def turned_dot(x: Pair) -> float:
    """Su et al.: Re Σ q k* e^{i(m − n)θ}, where pairs of numbers are complex; which two are a pair is free."""
    half = len(x.q) // 2
    q, k = ([complex(*pair) for pair in zip(y[:half], y[half:], strict=True)] for y in (x.q, x.k))
    turn = [cmath.exp(1j * (x.t - x.i) * 10000 ** (-2 * j / len(x.q))) for j in range(half)]
    return sum((q[j] * k[j].conjugate() * turn[j]).real for j in range(half))


SCORES: dict[str, Callable[[Pair], float]] = {
    "hard": lambda x: dot(x.q, x.k) / math.sqrt(len(x.q)),
    "additive": lambda x: dot(
        x.w["v"], bent([a + b for a, b in zip(through(x.q, x.w["W"]), through(x.k, x.w["U"]), strict=True)])
    ),
    "dot": lambda x: dot(x.q, x.k),
    "general": lambda x: dot(through(x.q, x.w["W"]), x.k),
    "concat": lambda x: dot(x.w["v"], bent(through(x.q + x.k, x.w["W"]))),
    "location": lambda x: through(x.q, x.w["W"])[x.i],
    "decomposable": lambda x: dot(*(rectified(rectified(y, x.w["W"]), x.w["U"]) for y in (x.q, x.k))),
    "intra-temporal": lambda x: dot(through(x.q, x.w["W"]), x.k),
    "structured": lambda x: dot(x.w["w"], bent(through(x.k, x.w["W"]))),
    "scaled dot": lambda x: dot(x.q, x.k) / math.sqrt(len(x.q)),
    "linear": lambda x: math.log(dot(phi(x.q), phi(x.k))),
    "rotary": lambda x: turned_dot(x) / math.sqrt(len(x.q)),
    "alibi": lambda x: dot(x.q, x.k) / math.sqrt(len(x.q)) - 2 ** (-8 * (x.h + 1) / HEADS) * abs(x.t - x.i),
}


def literal(module: scores.Dot, name: str, window: str, x: QKV, env: Environment) -> tuple[Tensor, Tensor]:
    """The weights, and what is read."""
    q, k, v = (y.tolist() for y in x)
    weights, read = (torch.zeros(*x[0].shape[:3], size).double() for size in (x[1].shape[2], x[2].shape[3]))
    mask = torch.ones_like(weights) if env.mask is None else env.mask.expand_as(weights)
    for b, h in itertools.product(range(x[0].shape[0]), range(x[0].shape[1])):
        own = {key: w[h % len(w)].tolist() for key, w in module.named_parameters()}  # hops share W: it is there once
        inner = own if window == "global" else {key[6:]: w for key, w in own.items() if key.startswith("inner.")}
        given = [0.0] * len(k[b][h])
        for row, query in enumerate(q[b][h]):
            t, centre = env.first + row, float(env.first + row)
            seen = [i for i in range(len(k[b][h])) if mask[b, h, row, i]]
            if window == "local-p":
                length = len(k[b][h]) if env.lengths is None else int(env.lengths[b])
                centre = length / (1 + math.exp(-dot(own["v"], bent(through(query, own["W"])))))
            if window != "global":
                seen = [i for i in seen if centre - REACH <= i <= centre + REACH]
            e = {i: math.exp(SCORES[name](Pair(query, k[b][h][i], t, i, h, inner))) for i in seen}
            if name == "intra-temporal":
                before, given = given, [sofar + e.get(i, 0.0) for i, sofar in enumerate(given)]
                e = {i: e[i] / before[i] if before[i] else e[i] for i in seen}
            for i in seen:
                a = float(e[i] == max(e.values())) if name == "hard" else e[i] / sum(e.values())
                if window == "local-p":
                    a *= math.exp(-((i - centre) ** 2) / (2 * (REACH / 2) ** 2))
                weights[b, h, row, i] = a
                for j, value in enumerate(v[b][h][i]):
                    read[b, h, row, j] += a * value
    return weights, read


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape).double().requires_grad_()


def inputs(heads: int, width: int, value: int, queries: int = QUERIES) -> QKV:
    return numbers(BATCH, heads, queries, width), numbers(BATCH, heads, KEYS, width), numbers(BATCH, heads, KEYS, value)


def check_same_gradients(one: Tensor, other: Tensor, to: Iterable[Tensor]) -> None:
    gradients = (torch.autograd.grad(x, list(to), retain_graph=True) for x in (one, other))
    for of_one, of_other in zip(*gradients, strict=True):
        torch.testing.assert_close(of_one, of_other)


def check_reached(gradient: Tensor) -> None:
    assert gradient.isfinite().all()
    assert gradient.flatten(1).any(1).all()


def setting(name: str, window: str, masked: bool) -> tuple[scores.Dot, QKV, Environment]:
    torch.manual_seed(0)
    module = part(name, SIZES, window).double()
    x = inputs(HEADS, WIDTH, 5)
    if not masked:
        return module, x, Environment()
    mask = torch.rand(BATCH, HEADS, QUERIES, KEYS) > 0.4
    mask[1, ..., 6:] = False
    mask[0, :, 1] = False  # this query may see nothing
    return module, x, Environment(mask, first=2, lengths=torch.tensor([8, 6]))


OWN_WEIGHTS = ("hard", "intra-temporal", "structured")
CASES = [(name, window) for name in FAMILY for window in WINDOWS if window == "global" or name not in OWN_WEIGHTS]
UNREACHED = {"hard": (0, 1), "location": (1,), "structured": (0,)}
"""What of queries, keys and values can have no gradient."""


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("name", "window"), CASES)
def test_every_part_is_its_published_formula(
    name: str, window: str, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores.Windowed, "REACH", REACH)
    module, x, env = setting(name, window, masked)
    weights, read = literal(module, name, window, x, env)
    torch.testing.assert_close(module(*x, env), read)
    env.state.clear()
    torch.testing.assert_close(module.weights(x[0], x[1], env), weights)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("name", "window"), CASES)
def test_gradients_are_finite_and_reach_every_parameter_in_every_head(name: str, window: str, masked: bool) -> None:
    module, x, env = setting(name, window, masked)
    lost = (module(*x, env) * torch.randn(BATCH, HEADS, QUERIES, 5)).sum()
    for which, gradient in enumerate(torch.autograd.grad(lost, [*x, *module.parameters()], allow_unused=True)):
        if which in UNREACHED.get(name, ()):
            assert gradient is None
        else:
            check_reached(gradient)


@pytest.mark.parametrize("trained", [False, True])
def test_hard_attention_that_may_see_nothing_reads_nothing(trained: bool) -> None:
    module, x, _ = setting("hard", "global", False)
    mask = torch.tensor([[True], [False]]).repeat(2, KEYS)
    with auxiliary_losses(module, torch.Generator()) if trained else nullcontext() as auxiliary:
        read = module(*x, Environment(mask))
    assert read[:, :, ::2].any()
    assert not read[:, :, 1::2].any()
    if auxiliary is not None:
        assert torch.autograd.grad(auxiliary.total(torch.rand(BATCH, QUERIES).double(), 8), x[0])[0].isfinite().all()


@pytest.mark.parametrize("masked", [False, True])
def test_what_keys_were_given_is_kept_from_step_to_step(masked: bool) -> None:
    module, (q, k, v), env = setting("intra-temporal", "global", masked)
    state, steps = dict[str, Tensor](), []
    for t in range(QUERIES):
        mask = None if env.mask is None else env.mask[:, :, t : t + 1]
        steps.append(module(q[:, :, t : t + 1], k, v, Environment(mask, first=t, state=state)))
    at_once, by_steps = module(q, k, v, env), torch.cat(steps, dim=2)
    torch.testing.assert_close(by_steps, at_once)
    check_same_gradients(by_steps.square().sum(), at_once.square().sum(), [q, k, v, *module.parameters()])


@pytest.mark.parametrize("first", [0, 4, KEYS - 1])
def test_causal_linear_attention_is_the_same_with_weights_and_without(first: int) -> None:
    torch.manual_seed(0)
    module = scores.Linear(Sizes(HEADS, 2, KEYS))
    x = inputs(HEADS, 2, 3, KEYS - first)  # with as few numbers, sums are less than weights
    env = Environment(torch.ones(KEYS, KEYS).bool().tril()[first:], causal=True, first=first)
    without, written = module(*x, env), module.read(module.weights(x[0], x[1], env), x[2], env)
    torch.testing.assert_close(without, literal(module, "linear", "global", x, env)[1])
    torch.testing.assert_close(without, written)
    check_same_gradients(without.square().sum(), written.square().sum(), x)


def test_concat_is_additive_with_both_matrices_side_by_side() -> None:
    additive, x, env = setting("additive", "global", True)
    concat = scores.Concat(SIZES).double()
    weights = dict(additive.named_parameters())
    concat.load_state_dict({"W": torch.cat([weights["W"], weights["U"]], dim=1), "v": weights["v"]})
    torch.testing.assert_close(concat(*x, env), additive(*x, env))


@pytest.mark.parametrize("masked", [False, True])
def test_scaled_dot_products_are_those_of_torch(masked: bool) -> None:
    module, (q, k, v), _ = setting("scaled dot", "global", False)
    mask = torch.rand(BATCH, 1, QUERIES, KEYS) > torch.arange(KEYS) / KEYS if masked else None  # key 0 is always seen
    torch.testing.assert_close(module(q, k, v, Environment(mask)), F.scaled_dot_product_attention(q, k, v, mask))


@pytest.mark.parametrize("looked_at", [False, True])
def test_several_heads_are_those_of_torch(looked_at: bool) -> None:
    torch.manual_seed(0)
    width = HEADS * WIDTH
    module = scores.MultiHead(scores.ScaledDot(SIZES), width).double()
    peer = nn.MultiheadAttention(width, HEADS, bias=False, batch_first=True).double()
    with torch.no_grad():
        parts = [weight.permute(0, 2, 1).flatten(0, 1) for weight in (module.W_Q, module.W_K, module.W_V)]
        peer.in_proj_weight.copy_(torch.cat(parts))
        peer.out_proj.weight.copy_(module.W_O.flatten(0, 1).T)
    q, k, v = inputs(1, width, width)
    mask = torch.ones(QUERIES, KEYS).bool().tril(2)
    read, weights = peer(q[:, 0], k[:, 0], v[:, 0], attn_mask=~mask, average_attn_weights=False)
    if looked_at:
        torch.testing.assert_close(module.weights(q, k, Environment(mask)), weights)
    torch.testing.assert_close(module(q, k, v, Environment(mask))[:, 0], read)


@pytest.mark.parametrize("name", ["scaled dot", "additive"])
@pytest.mark.parametrize("groups", [4, 2, 1])
def test_heads_of_a_group_share_keys_and_values(groups: int, name: str) -> None:
    """Query heads are grouped in their order: the first 4 / groups of them read the first keys and values."""
    torch.manual_seed(0)
    heads, width = 4, 5
    module = scores.MultiHead(part(name, Sizes(heads, WIDTH, KEYS)), width, groups).double()
    x = inputs(1, width, width)

    def lifted(y: Tensor, weights: list[list[Vector]]) -> Tensor:
        of = [weights[h * len(weights) // heads] for h in range(heads)]
        rows = [[[through(row, W) for row in y[b, 0].tolist()] for W in of] for b in range(BATCH)]
        return torch.tensor(rows, dtype=torch.float64)

    assert len(module.W_K) == len(module.W_V) == groups
    q, k, v = (lifted(y, W.tolist()) for y, W in zip(x, (module.W_Q, module.W_K, module.W_V), strict=True))
    _, read = literal(module.inner, name, "global", (q, k, v), Environment())
    found = module(*x, Environment())
    for b, t in itertools.product(range(BATCH), range(QUERIES)):
        outputs = [through(read[b, h, t].tolist(), module.W_O[h].tolist()) for h in range(heads)]
        assert found[b, 0, t].tolist() == pytest.approx([sum(column) for column in zip(*outputs, strict=True)])
    for gradient in torch.autograd.grad(found.square().sum(), list(module.parameters())):
        check_reached(gradient)


def test_hops_that_look_at_the_same_places_are_penalised() -> None:
    """Lin et al.: ‖AAᵀ − I‖², where hop r of all hops of one sentence H is row r of A = softmax(W₂ tanh(W₁ Hᵀ))."""
    torch.manual_seed(0)
    module = scores.Structured(SIZES).double()
    assert len(module.W) == 1
    H = numbers(BATCH, 1, KEYS, WIDTH).expand(-1, HEADS, -1, -1)
    x = numbers(BATCH, HEADS, QUERIES, WIDTH), H, H
    env = Environment(torch.ones(QUERIES, KEYS).bool().tril(2))
    weights, read = literal(module, "structured", "global", x, env)
    with auxiliary_losses(module, torch.Generator()) as auxiliary:
        torch.testing.assert_close(module(*x, env), read)
    penalty = 0.0
    for b, t, r, s in itertools.product(range(BATCH), range(QUERIES), range(HEADS), range(HEADS)):
        penalty += (dot(weights[b, r, t].tolist(), weights[b, s, t].tolist()) - (r == s)) ** 2
    expected = scores.Structured.STRENGTH * penalty / (BATCH * QUERIES)
    assert auxiliary.total(torch.ones(BATCH, QUERIES).double(), 8).item() == pytest.approx(expected)


def test_hard_attention_draws_each_key_as_often_as_its_softmax_says() -> None:
    torch.manual_seed(0)
    draws, module = 20000, scores.Hard(SIZES)
    q, k, v = numbers(1, HEADS, 1, WIDTH), numbers(1, HEADS, KEYS, WIDTH), numbers(1, HEADS, KEYS, 5)
    mask = torch.arange(KEYS)[None] != 5
    p, _ = literal(module, "scaled dot", "global", (q, k, v), Environment(mask))
    with auxiliary_losses(module, torch.Generator().manual_seed(0)) as auxiliary:
        drawn = module.weights(q.expand(-1, -1, draws, -1), k, Environment(mask.expand(draws, -1)))
    assert (drawn.sum(-1) == 1).all()
    # 4 standard errors: one of these 24 frequencies is farther off for one seed in 600
    assert ((drawn.mean(2) - p[:, :, 0]).abs() <= 4 * (p * (1 - p) / draws).sqrt()[:, :, 0]).all()
    ((chosen,),) = auxiliary.choices.values()
    torch.testing.assert_close(chosen, drawn.mul(p).sum(-1).log().sum(1))


@pytest.mark.parametrize("reach", ["here", "onward", "all"])
def test_a_choice_is_charged_what_was_lost_beyond_the_mean_of_the_others(reach: Reach) -> None:
    torch.manual_seed(0)
    chosen, losses = torch.randn(3, 2), torch.rand(3, 4)
    losses[:, 0] = 0  # where nothing is asked
    penalties = [torch.tensor(0.5), torch.tensor(0.25)]
    runs = [[chosen], list(chosen.split(1, dim=1))]  # by two parts: at once, and step by step
    choices: dict[tuple[nn.Module, Reach], list[Tensor]] = {(nn.Identity(), reach): each for each in runs}
    auxiliary = AuxiliaryLoss(torch.Generator(), penalties, choices)
    expected = 0.75
    for b, t in itertools.product(range(3), range(2)):
        places = {"here": slice(2 + t, 3 + t), "onward": slice(2 + t, 4), "all": slice(0, 4)}[reach]
        cost = [float(losses[row, places].sum()) for row in range(3)]
        others = [cost[row] for row in range(3) if row != b]
        expected += 2 * (cost[b] - sum(others) / 2) * float(chosen[b, t]) / 9
    assert auxiliary.total(losses, 9).item() == pytest.approx(expected)


@pytest.mark.parametrize("reach", ["here", "onward", "all"])
def test_the_gradient_is_on_average_that_of_the_expected_loss(reach: Reach, monkeypatch: pytest.MonkeyPatch) -> None:
    """The average is taken over all 256 ways in which 2 heads of 2 queries in 2 sequences choose between 2 keys."""
    torch.manual_seed(0)
    module, x = scores.Hard(Sizes(2, 3, 2)), [numbers(2, 2, 2, 3) for _ in range(3)]
    p = (x[0] @ x[1].transpose(2, 3) / math.sqrt(3)).softmax(-1)
    drawn = [torch.zeros(8, 1).long()]
    monkeypatch.setattr(torch, "multinomial", lambda *_, **__: drawn[-1])
    averaged, expected = torch.zeros(()).double(), torch.zeros(()).double()
    for outcome in itertools.product(range(2), repeat=8):
        drawn.append(torch.tensor(outcome)[:, None])
        with auxiliary_losses(module, torch.Generator()) as auxiliary:
            read = module(*x, Environment(reach=reach))
        value = (read[:, 0] * read[:, 1]).sum(-1)  # [batch, query]: what one head's choice costs depends on the other's
        output = {"here": value, "onward": value.cumsum(1), "all": value.cumsum(1) + value.flip(1)}[reach]
        losses = F.pad(output.square() + 1, (1, 0), value=1.0)
        chance = p.gather(-1, drawn[-1].view(2, 2, 2, 1)).prod()
        averaged = averaged + chance.detach() * (losses.mean() + auxiliary.total(losses, losses.numel()))
        expected = expected + chance * losses.mean()
    check_same_gradients(averaged, expected, x)


@pytest.mark.parametrize(
    ("name", "width", "window", "message"),
    [
        ("cosine", 4, "global", r"a score is one of hard, additive, .*, alibi; not 'cosine'"),
        ("dot", 4, "local", r"a window is one of global, local-m, local-p; not 'local'"),
        ("rotary", 3, "global", r"the width of a head must be even, not 3"),
        *[
            (name, 4, window, rf"and so does {name}: they do not go together")
            for name, window in itertools.product(OWN_WEIGHTS, ("local-m", "local-p"))
        ],
    ],
)
def test_parts_that_cannot_be_are_named(name: str, width: int, window: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        part(name, Sizes(HEADS, width, KEYS), window)


def test_location_scores_know_as_many_places_as_they_were_made_for() -> None:
    module = scores.Location(Sizes(HEADS, WIDTH, KEYS - 1)).double()
    with pytest.raises(InputError, match="location scores know 7 places, and there are 8 keys"):
        module(*inputs(HEADS, WIDTH, 5), Environment())
