"""Python in a process of its own, without checks of types: a copy of one that has loaded everything starts at once."""

import os
import runpy
import sys
from pathlib import Path

from glassformer.training import cluster

COMMAND = "glassformer"


def run_alone(what: Path | str, *arguments: str, folder: Path, said: Path) -> None:
    """Run a file, or the command line, as `python …` in a folder would; what it says is kept, and told if it fails."""
    process = cluster.processes().Process(target=_run, args=(str(what), arguments, str(folder), str(said)))
    process.start()
    process.join()
    assert process.exitcode == 0, said.read_text()


def _run(what: str, arguments: tuple[str, ...], folder: str, said: str) -> None:
    os.chdir(folder)
    with Path(said).open("w") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    sys.argv = [what, *arguments]
    if what == COMMAND:
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(what).parent))
        runpy.run_path(what, run_name="__main__")
