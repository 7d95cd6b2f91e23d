"""Every command and every snippet that the README and the documentation show is run."""

import re
import shlex
from pathlib import Path

import pytest

from alone import COMMAND, run_alone
from shell import Shell

ROOT = Path(__file__).parents[1]
PAGES = {path.name: path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
BLOCKS = [(page, *block) for page in PAGES for block in re.findall(r"```(\w+)\n(.*?)```", PAGES[page], re.DOTALL)]
COMMANDS = [line for page, kind, text in BLOCKS if (page, kind) == ("README.md", "sh") for line in text.splitlines()]
INLINE = re.findall(r"`(make \w+|python benchmarks/\w+\.py)`", (ROOT / "README.md").read_text())


@pytest.mark.usefixtures("types_unchecked")
def test_the_commands_work_one_after_the_other(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ours = [line for line in COMMANDS if line.startswith("glassformer")]
    assert len(ours) + sum(line.startswith("make") for line in COMMANDS) == len(COMMANDS) >= 10
    for line in ours:
        shell(*shlex.split(line)[1:])


@pytest.mark.usefixtures("types_unchecked")
def test_the_commands_of_the_documentation_work(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for page, kind, text in BLOCKS:
        if page != "README.md" and kind == "sh":
            for line in text.splitlines():
                command, *arguments = shlex.split(line)
                assert command == "glassformer"
                shell(*arguments)


@pytest.mark.parametrize(("page", "snippet"), [(page, text) for page, kind, text in BLOCKS if kind == "python"])
def test_the_snippets_work(page: str, snippet: str, tmp_path: Path) -> None:
    assert len(snippet.splitlines()) <= 15
    (tmp_path / "snippet.py").write_text("import warnings; warnings.simplefilter('error')\n" + snippet)
    run_alone(tmp_path / "snippet.py", folder=tmp_path, said=tmp_path / "said")


def test_the_demo_works(tmp_path: Path) -> None:
    """What `make demo` runs, with this environment instead of a new one, and quickly."""
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert recipe
    lines = [line.strip() for line in recipe[1].splitlines() if "glassformer" in line]
    assert len(lines) >= 4
    for line in lines:
        command, *arguments = shlex.split(line.replace("$(BIN)/", ""))
        assert command == COMMAND
        quick = ["--quick"] * (" explain " in line)
        run_alone(COMMAND, *arguments, *quick, folder=tmp_path, said=tmp_path / "said")


def test_every_make_target_and_benchmark_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for command in {*INLINE, *(line for line in COMMANDS if line.startswith("make"))}:
        word = command.split()[1]
        assert re.search(rf"^{word}:", makefile, flags=re.MULTILINE) or (ROOT / word).is_file(), command


@pytest.mark.parametrize("benchmark", sorted(path.name for path in (ROOT / "benchmarks").glob("*.py")))
def test_every_benchmark_runs(benchmark: str, tmp_path: Path) -> None:
    run_alone(ROOT / "benchmarks" / benchmark, "--quick", folder=ROOT, said=tmp_path / "said")
