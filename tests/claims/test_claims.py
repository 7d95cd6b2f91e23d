import pytest

from glassformer.automata import Machine, zoo
from glassformer.claims import CLAIMS, find, run
from glassformer.errors import InputError


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_the_claim_holds(claim: object) -> None:
    (outcome,) = run([claim])  # type: ignore[list-item]
    assert outcome.holds, outcome.measured
    assert outcome.claimed
    assert outcome.measured


def test_claims_are_found_by_id() -> None:
    assert [claim.id for claim in find(["S0.6", "S0.1"])] == ["S0.6", "S0.1"]
    assert [claim.id for claim in find([])] == [f"S0.{i}" for i in range(1, 8)]
    with pytest.raises(InputError, match=r"no claim 'S9.9'.*S0.1"):
        find(["S9.9"])


def test_a_claim_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful() -> Machine:
        return zoo.parity()

    monkeypatch.setattr(zoo, "flipflop", forgetful)
    (outcome,) = run(find(["S0.2"]))
    assert not outcome.holds
