# The only list of commands; people and CI call the same targets.

VENV := .venv
# On Windows, in Git's bash, interpreters and folders have other names.
ifeq ($(OS),Windows_NT)
PYTHON ?= python
SCRIPTS := Scripts
EXE := .exe
else
PYTHON ?= python3
SCRIPTS := bin
endif
BIN := $(VENV)/$(SCRIPTS)
# Tested versions. `make test CONSTRAINTS=constraints.in` installs the newest ones instead.
CONSTRAINTS ?= constraints.txt
# Install into an environment with constraints, which also apply to the tools that build the package
# (old versions of pip read the first variable for builds, new ones the second).
install = PIP_CONSTRAINT=$(2) PIP_BUILD_CONSTRAINT=$(2) $(1)/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
# One BLAS thread for each test worker: more only get in each other's way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Real data that are no part of the repository: this folder beside the checkout, unless another is
# named. `DIRCAL_DATA= make test` goes without.
ifeq ($(origin DIRCAL_DATA)$(wildcard ../shared/data),undefined../shared/data)
export DIRCAL_DATA := $(CURDIR)/../shared/data
endif

.DEFAULT_GOAL := help
.PHONY: help demo browser test test-experiments test-bare test-oldest test-oldest-quick test-long check format hooks docs pictures dist bench quality scoreboard paper-uci paper-neural study networks study-networks lock clean

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-18s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BIN)/python$(EXE):
	@$(PYTHON) -c 'import sys; sys.exit("dircal needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Say which to use: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python$(EXE) pyproject.toml $(CONSTRAINTS)
	$(call install,$(VENV),$(CONSTRAINTS)) --editable ".[cli,report]"
	@touch $@

$(VENV)/.installed-dev: $(BIN)/python$(EXE) pyproject.toml $(CONSTRAINTS)
	$(call install,$(VENV),$(CONSTRAINTS)) --editable ".[dev]"
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed  ## calibrate real classifiers, show what changed, write a report
	@$(BIN)/dircal demo

browser:  ## install Chromium for the tests of the report, where that is possible
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Chromium for the tests of the report ..."; \
		{ apt-get update --quiet=2 && DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 \
			--yes --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 \
		|| echo "Chromium could not be installed: the tests in a browser are skipped."; \
	else echo "There is no Chromium, and only root can install it: the tests in a browser are skipped."; fi

# What reproduces the paper and compares libraries, and the pages about them.
STUDIES := tests/experiments tests/benchmarks

test: $(VENV)/.installed-dev browser  ## run the tests of the package, docs examples included
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses $(WORKERS) $(addprefix --ignore=,$(STUDIES))

test-experiments: $(VENV)/.installed-dev  ## run the tests of the experiments, the benchmarks and their pages
	$(ONE_THREAD) $(BIN)/python -m pytest $(STUDIES) --numprocesses $(WORKERS)

$(VENV)-bare/.installed: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)-bare
	$(call install,$(VENV)-bare,$(CONSTRAINTS)) --editable .
	@touch $@

test-bare: $(VENV)-bare/.installed  ## check that the package works without any extra
	$(VENV)-bare/$(SCRIPTS)/python tests/bare/check_import.py

$(VENV)-oldest/.installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(VENV)-oldest
	$(call install,$(VENV)-oldest,constraints-oldest.txt) --editable ".[test]"
	@touch $@

# These need ONNX or PyTorch, whose old versions are too much to fetch.
HEAVY := tests/common/test_exports.py tests/maps/test_new_calibrator.py $(addprefix tests/export/test_,keras.py onnx.py steps.py torch.py)

test-oldest: $(VENV)-oldest/.installed  ## run the tests with the oldest versions that are allowed
	$(ONE_THREAD) $(VENV)-oldest/$(SCRIPTS)/python -m pytest tests --numprocesses $(WORKERS) $(addprefix --ignore=,$(HEAVY))

# Where other libraries meet ours: estimators, frames, tables, pictures, the command line.
MEETING := $(addprefix tests/,calibrators cli io plots selection tables)

test-oldest-quick: $(VENV)-oldest/.installed  ## the same, of the rooms where other libraries meet ours
	$(ONE_THREAD) $(VENV)-oldest/$(SCRIPTS)/python -m pytest $(MEETING) --numprocesses $(WORKERS)

test-long: $(VENV)/.installed-dev  ## run the slow statistical guarantees and rewrite their table
	$(ONE_THREAD) $(BIN)/python -m pytest tests/long --numprocesses 0

check: $(VENV)/.installed-dev  ## format, lint, types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.installed-dev  ## rewrite the code in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

hooks: $(VENV)/.installed-dev  ## check before every commit and push, with what is installed here
	$(BIN)/pre-commit install

docs: $(VENV)/.installed-dev  ## build the documentation, warnings as errors
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

pictures: $(VENV)/.installed-dev browser  ## draw the pictures of the README anew, where data and a browser are
	$(BIN)/python docs/readme_pictures.py

# What users install; the other extras are for checkouts.
EXTRAS := cli onnx plots report torch

# Built, checked and installed in environments of their own: nothing of the checkout gets in.
dist:  ## build the package, check it, and try the wheel without extras and with each of them
	rm -rf dist $(VENV)-dist $(VENV)-wheel
	$(PYTHON) -m venv $(VENV)-dist
	$(call install,$(VENV)-dist,$(CONSTRAINTS)) build twine
	$(VENV)-dist/$(SCRIPTS)/python -m build
	$(VENV)-dist/$(SCRIPTS)/python -m twine check --strict dist/*
	set -e; for extra in bare $(EXTRAS); do \
		$(PYTHON) -m venv --clear $(VENV)-wheel; \
		$(call install,$(VENV)-wheel,$(CONSTRAINTS)) "$$(ls dist/*.whl)$$([ $$extra = bare ] || echo "[$$extra]")"; \
		$(VENV)-wheel/$(SCRIPTS)/python tests/bare/check_wheel.py $$extra; \
	done
	$(call install,$(VENV)-wheel,$(CONSTRAINTS)) "$$(ls dist/*.whl)[cli,report]"
	cd $(VENV)-wheel && $(SCRIPTS)/dircal demo

bench: $(VENV)/.installed-dev  ## measure speed and memory, as ratios to something run beside it
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/passes.py
	$(BIN)/python benchmarks/measures.py
	$(BIN)/python benchmarks/pages.py
	$(BIN)/python benchmarks/files.py
	$(BIN)/python benchmarks/parts.py

$(VENV)/.installed-experiments: $(BIN)/python$(EXE) pyproject.toml $(CONSTRAINTS)
	$(call install,$(VENV),$(CONSTRAINTS)) --editable ".[experiments]"
	@touch $@ $(VENV)/.installed

quality: $(VENV)/.installed-experiments  ## compare calibrators on real classifiers, ours and others
	$(ONE_THREAD) PYTHONPATH=. $(BIN)/python benchmarks/quality.py

scoreboard: $(VENV)/.installed-experiments  ## run our contracts against ourselves and other libraries
	$(BIN)/python benchmarks/scoreboard.py

paper-uci: $(VENV)/.installed-experiments  ## the paper's experiment on UCI data, beside the printed tables
	$(ONE_THREAD) $(BIN)/python -m experiments.uci

paper-neural: $(VENV)/.installed-experiments  ## the paper's experiment on networks: three of the paper's, those of others and our own
	$(ONE_THREAD) $(BIN)/python -m experiments.neural

study: $(VENV)/.installed-experiments  ## the paper's open question: which networks one temperature calibrates
	$(ONE_THREAD) $(BIN)/python -m experiments.study

$(VENV)/.installed-networks: $(BIN)/python$(EXE) pyproject.toml $(CONSTRAINTS)
	$(call install,$(VENV),$(CONSTRAINTS)) --editable ".[networks]"
	@touch $@ $(VENV)/.installed $(VENV)/.installed-experiments

networks: $(VENV)/.installed-networks  ## train our own networks on real pictures, fetched and checked
	$(ONE_THREAD) $(BIN)/python -m experiments.neural.training

study-networks: $(VENV)/.installed-networks  ## train the small networks of the study, each with one option changed
	$(ONE_THREAD) $(BIN)/python -m experiments.study.training

lock:  ## write constraints.txt, the newest versions that fit together, for every Python and system
	$(PYTHON) -m venv --clear $(VENV)-lock
	$(VENV)-lock/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check uv
	$(VENV)-lock/$(SCRIPTS)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras \
		--no-annotate --custom-compile-command "make lock" pyproject.toml constraints.in --output-file constraints.txt

clean:  ## remove what the commands made
	rm -rf $(VENV) $(VENV)-bare $(VENV)-oldest $(VENV)-dist $(VENV)-wheel $(VENV)-lock $(VENV)-scoreboard docs/_build docs/api/generated docs/guide/figures docs/gallery/figures build dist
