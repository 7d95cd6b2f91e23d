# Two commands for everybody: `make demo` shows it, `make test` proves it. Both make their own environment.
PYTHON ?= python3
BIN := .venv/bin
unexport PYTHONDONTWRITEBYTECODE # what is imported is compiled once, and what never is (most of it) never: --no-compile

.PHONY: demo test nightly lint bench site docs clean

demo: .venv/ready
	$(BIN)/glassformer explain "regex:(ab)*" --out demo/abab
	$(BIN)/glassformer compile "gridworld(4)" --length 1000 --out demo/gridworld
	$(BIN)/glassformer verify demo/gridworld
	$(BIN)/glassformer show demo/gridworld
	@echo "open demo/abab/report.html in a browser"

test: .venv/ready
	$(BIN)/python -m pytest -n auto --dist worksteal

nightly: .venv/ready
	GLASSFORMER_TESTS=nightly $(BIN)/python -m pytest -n auto --dist worksteal -m ""

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/ready-bench
	$(BIN)/python benchmarks/simulate.py
	$(BIN)/python benchmarks/algebra.py
	$(BIN)/python benchmarks/build.py
	$(BIN)/python benchmarks/depth.py
	$(BIN)/python benchmarks/approximate.py
	$(BIN)/python benchmarks/similarity.py
	$(BIN)/python benchmarks/information.py
	$(BIN)/python benchmarks/learn.py
	$(BIN)/python benchmarks/patching.py
	$(BIN)/python benchmarks/circuits.py
	$(BIN)/python benchmarks/toys.py
	$(BIN)/python benchmarks/load.py
	$(BIN)/python benchmarks/train_throughput.py

site: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python docs/check_site.py site

docs: site .venv/ready-sae-lens
	PYTHONPATH=.venv/sae-lens $(BIN)/python docs/examples/open_in_sae_lens.py

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e ".[dev]"
	@touch $@

.venv/ready-bench: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	@touch $@

# SAELens wants TransformerLens 3 and the tests want 4: what differs lies beside the environment, not in it.
.venv/ready-sae-lens: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .venv/sae-lens \
		"sae-lens>=6,<7" "transformer-lens>=3,<4" better-abc babe py2store nltk joblib plotly plotly-express narwhals \
		simple-parsing docstring-parser tenacity python-dotenv
	@touch $@

clean:
	rm -rf .venv demo site
