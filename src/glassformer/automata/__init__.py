"""Finite machines: the class, the zoo, regular expressions and files. Nothing here knows torch."""

from glassformer.automata.semiautomaton import Label, Machine, Semiautomaton
from glassformer.automata.spec import machine

__all__ = ["Label", "Machine", "Semiautomaton", "machine"]
