"""The command line: `glassformer COMMAND … [--json]`.

Every command prints a table to read, or with --json one JSON value on standard output; progress and messages go to
standard error. Exit codes: 0 done, 1 a check failed, 2 bad input or output that cannot be written, 130 interrupted.
No mathematics lives here.
"""

# isort: off  (the order in which --help lists them)
from glassformer.ui.cli import (
    approximating,
    claims,
    corpus,
    explaining,
    exporting,
    inside,
    learning,
    lineage,
    machines,
    measuring,
    measuring_text,
    models,
    studying,
    toys,
)

# isort: on
from glassformer.ui.cli.terminal import app

__all__ = [
    "app",
    "approximating",
    "claims",
    "corpus",
    "explaining",
    "exporting",
    "inside",
    "learning",
    "lineage",
    "machines",
    "measuring",
    "measuring_text",
    "models",
    "studying",
    "toys",
]
