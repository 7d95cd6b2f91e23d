"""The command line: `glassformer COMMAND … [--json]`.

Every command prints a table to read, or with --json one JSON value on standard output; progress and messages go to
standard error. Exit codes: 0 done, 1 a check failed, 2 bad input or output that cannot be written, 130 interrupted.
No mathematics lives here.
"""

from importlib import import_module
from typing import Final

from glassformer.ui.cli.terminal import app

__all__ = ["app"]

COMMANDS: Final = (
    *("machines", "models", "explaining", "approximating", "learning", "measuring", "measuring_text", "inside"),
    *("toys", "studying", "lineage", "claims", "corpus", "exporting"),
)
"""The modules of all commands, in the order in which --help lists them."""
for name in COMMANDS:
    import_module(f"{__name__}.{name}")
