"""Finite machines: the class, the zoo, regular expressions and files. Nothing here knows torch."""

from glassformer.automata.infinite import AnyMachine, InfiniteMachine, finite
from glassformer.automata.semiautomaton import Label, Machine, Semiautomaton
from glassformer.automata.spec import any_machine, machine

__all__ = [
    "AnyMachine",
    "InfiniteMachine",
    "Label",
    "Machine",
    "Semiautomaton",
    "any_machine",
    "finite",
    "machine",
]
