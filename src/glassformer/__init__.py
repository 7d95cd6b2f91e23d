"""Transformers of glass: build them by theorem, train them, and look inside both.

    import glassformer
    built = glassformer.compile("regex:(ab)*", length=100)
    glassformer.verify(built).wrong        # 0
    built.run("abab")                      # states and outputs after every letter
    glassformer.load("folder").model       # whatever was built, trained, or saved for transformers

Each part is imported when it is first used, so that machines alone are quick to load.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassformer.algebra import decompose
    from glassformer.automata import Machine, Semiautomaton, machine
    from glassformer.compiler.built import Built
    from glassformer.compiler.certificate import Certificate
    from glassformer.compiler.classification import classify
    from glassformer.compiler.constructions.universal import approximate
    from glassformer.compiler.elsewhere.recurrent import recurrent_network
    from glassformer.compiler.pipeline import compile
    from glassformer.compiler.verification import verify
    from glassformer.errors import InputError
    from glassformer.nn import BlockShape, Config, Trace, Transformer
    from glassformer.opening.loading import load
    from glassformer.opening.opened import Opened

_PARTS = {
    "glassformer.algebra": ("decompose",),
    "glassformer.automata": ("Machine", "Semiautomaton", "machine"),
    "glassformer.compiler.built": ("Built",),
    "glassformer.compiler.certificate": ("Certificate",),
    "glassformer.compiler.classification": ("classify",),
    "glassformer.compiler.elsewhere.recurrent": ("recurrent_network",),
    "glassformer.compiler.pipeline": ("compile",),
    "glassformer.compiler.verification": ("verify",),
    "glassformer.compiler.constructions.universal": ("approximate",),
    "glassformer.errors": ("InputError",),
    "glassformer.nn": ("BlockShape", "Config", "Trace", "Transformer"),
    "glassformer.opening.loading": ("load",),
    "glassformer.opening.opened": ("Opened",),
}

__all__ = [
    "BlockShape",
    "Built",
    "Certificate",
    "Config",
    "InputError",
    "Machine",
    "Opened",
    "Semiautomaton",
    "Trace",
    "Transformer",
    "approximate",
    "classify",
    "compile",
    "decompose",
    "load",
    "machine",
    "recurrent_network",
    "verify",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    for module, names in _PARTS.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'glassformer' has no attribute {name!r}")
