"""The five questions that the proof of universal approximation leaves open, each answered by an experiment.

    python benchmarks/questions.py [--out DIR]

Trains 81 small models to sort and to mix, in less than half an hour on two cores, and writes a table and a figure for
each question. It can be stopped and started again; what is done is kept in DIR.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from glassformer.atomic import write_atomically
from glassformer.documents.approximation.questions import ASKED, QuestionsScale, answers, recipes, train_all
from glassformer.ui.cli.terminal import progress_bar

QUICK = QuestionsScale(steps=8, seeds=1, depths=(1, 2), units=64, cells=2)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("questions"), help="where runs and figures are kept")
    parser.add_argument("--quick", action="store_true", help="a few steps only, nothing kept, to show that it works")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else QuestionsScale()
    with tempfile.TemporaryDirectory() as nowhere:
        folder = Path(nowhere) if arguments.quick else arguments.out
        folder.mkdir(parents=True, exist_ok=True)
        with progress_bar("training") as advance:
            errors = train_all(recipes(scale), folder / "errors.json", len(os.sched_getaffinity(0)), advance)
        found = answers(scale, errors)
        for question, asked in ASKED.items():
            print(f"\n{asked}", *found.rows(question), sep="\n")
            write_atomically(folder / f"question-{question}.svg", found.draw(question).encode())
