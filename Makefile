# Every target works in .venv, which is created when it is needed.

PYTHON ?= python3
VENV ?= .venv
TORCH_VENV ?= .venv-torch
TORCH ?= torch==2.13.0
PYTEST ?= pytest
FUZZ_SECONDS ?= 600
SOAK_MINUTES ?= 30
# Tests wait for servers and other processes, so two cores have work for three.
WORKERS := $(shell cores=$$(nproc 2> /dev/null || echo 2); echo $$((cores < 3 ? 3 : cores > 4 ? 4 : cores)))
PARALLEL ?= -n $(WORKERS) --dist loadfile --no-loadscope-reorder
QUERY = demo/licences/agpl-3.0.LICENSE

comma := ,

# Without stored bytecode, every process compiles the 850 modules of a search again, which takes longer than the search.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo demo-cluster test test-all test-browser test-torch test-cluster test-cluster-all fuzz soak effectiveness runs lint bench screenshots lock sbom clean

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---------------------------------------------------------------------------- environments

# uv needs a tenth of pip's time; pip is the fallback where uv is not available. uv uses the system's certificates, which
# many companies require, only with one of these two variables (depending on its version).
UV = UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 $(1)/bin/uv
PIP = $(1)/bin/pip install -q --disable-pip-version-check

# $(call install,folder,what): the newest versions that pyproject.toml allows
define install
	@echo "Installing $(2) into $(1)"
	@{ $(PIP) uv && $(UV) pip install -q --python $(1)/bin/python $(2); } \
	 || { echo "uv failed; installing with pip, which takes longer" && $(PIP) $(2); }
endef

# $(call install_locked,folder,file): the versions with the hashes in requirements/file.txt, then rprs itself; what
# installs and builds has hashes, too
define install_locked
	@echo "Installing rprs with requirements/$(2).txt into $(1)"
	@$(PIP) --require-hashes -r requirements/tools.txt
	@{ $(UV) pip install -q --python $(1)/bin/python --require-hashes -r requirements/$(2).txt \
	   && $(UV) pip install -q --python $(1)/bin/python --no-deps --no-build-isolation -e .; } \
	 || { echo "uv failed; installing with pip, which takes longer" \
	   && $(PIP) --require-hashes -r requirements/$(2).txt && $(PIP) --no-deps --no-build-isolation -e .; }
endef

LOCK = $(VENV)/bin/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
    --custom-compile-command "make lock"

%/bin/python:
	@echo "Creating $*"
	@$(PYTHON) -m venv $*
	@echo '*' > $*/.gitignore

$(VENV)/.demo: pyproject.toml requirements/demo.txt requirements/tools.txt | $(VENV)/bin/python
	$(call install_locked,$(VENV),demo)
	@touch $@

$(VENV)/.dev: pyproject.toml requirements/dev.txt requirements/tools.txt | $(VENV)/bin/python
	$(call install_locked,$(VENV),dev)
	@touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(call install,$(VENV),-e '.[bench]')
	@touch $@

# torch is installed by pip only, which follows the machine's configured builds (plain torch downloads gigabytes of CUDA).
$(TORCH_VENV)/.dev: pyproject.toml requirements/dev.txt | $(TORCH_VENV)/bin/python
	$(call install_locked,$(TORCH_VENV),dev)
	@echo "Installing $(TORCH) into $(TORCH_VENV)"
	@$(TORCH_VENV)/bin/pip install -q --disable-pip-version-check $(TORCH) -e '.[torch]'
	@touch $@

# Ray is pinned in pyproject.toml; what is there already stays as it is locked.
$(VENV)/.cluster: pyproject.toml | $(VENV)/bin/python
	$(call install,$(VENV),-e '.[cluster]' 'moto[server]>=5$(comma)<6')
	@touch $@

# ---------------------------------------------------------------------------- tasks

demo: $(VENV)/.demo  ## index 2,289 licence agreements, and show which are similar to the AGPL and why
	@mkdir -p demo
	@ln -sfn "$$($(VENV)/bin/python -c 'import licensedcode; print(*licensedcode.__path__)')/data/licenses" demo/licences
	@echo "Licence texts: ScanCode LicenseDB, CC-BY-4.0 (nexB Inc. and others)"
	$(VENV)/bin/rprs index demo/licences --to demo/licences.rprs
	$(VENV)/bin/rprs search demo/licences.rprs $(QUERY) -k 5
	@top=$$($(VENV)/bin/rprs search demo/licences.rprs $(QUERY) -k 1 --format jsonl \
	    | $(VENV)/bin/python -c 'import json, sys; print(json.loads(sys.stdin.readline())["id"])') \
	 && echo "$(VENV)/bin/rprs explain demo/licences.rprs $(QUERY) $$top" \
	 && $(VENV)/bin/rprs explain demo/licences.rprs $(QUERY) "$$top"
	@echo "Open the web interface: $(VENV)/bin/rprs serve demo/licences.rprs"

demo-cluster: $(VENV)/.demo $(VENV)/.cluster  ## the same on two nodes of this machine, of which one is killed
	@mkdir -p demo
	@ln -sfn "$$($(VENV)/bin/python -c 'import licensedcode; print(*licensedcode.__path__)')/data/licenses" demo/licences
	@echo "Licence texts: ScanCode LicenseDB, CC-BY-4.0 (nexB Inc. and others)"
	@RPRS_CLUSTER_FOLDER="$(CURDIR)/demo/cluster-node" $(VENV)/bin/python scripts/demo_cluster.py demo $(QUERY)

test: $(VENV)/.dev  ## run the default tests
	@$(VENV)/bin/$(PYTEST) $(PARALLEL)

test-all: $(VENV)/.dev $(VENV)/.demo  ## run the slow tests, too
	@HYPOTHESIS_PROFILE=thorough $(VENV)/bin/$(PYTEST) $(PARALLEL) -m 'not effectiveness and not torch and not cluster'

test-browser: $(VENV)/.dev  ## run the tests of the web interface, which require Chromium and Firefox
	@$(VENV)/bin/$(PYTEST) $(PARALLEL) -m 'browser and not slow'

test-torch: $(TORCH_VENV)/.dev  ## run the tests that require torch, in a separate environment
	@$(TORCH_VENV)/bin/$(PYTEST) -m torch

test-cluster: $(VENV)/.dev $(VENV)/.cluster  ## run the tests that require Ray, on a cluster of processes of this machine
	@$(VENV)/bin/$(PYTEST) -m 'cluster and not slow'

test-cluster-all: $(VENV)/.dev $(VENV)/.cluster  ## run them all: also faults of the network and of the head, which require root
	@command -v redis-server > /dev/null || { apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
		apt-get install -qq -y --no-install-recommends redis-server > /dev/null; } || \
		echo "Without redis-server, tests of a head that comes back are skipped"
	@$(VENV)/bin/$(PYTEST) -m cluster

fuzz: $(VENV)/.dev  ## look for inputs that break the readers and parsers, FUZZ_SECONDS for each of them
	@$(VENV)/bin/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

soak: $(VENV)/.dev  ## write, read, back up, serve and kill at random for SOAK_MINUTES; rankings must equal a new index
	@$(VENV)/bin/python -m tests.soak --minutes $(SOAK_MINUTES)

effectiveness: $(VENV)/.dev  ## measure rankings on the collections in the folder RPRS_DATA
	@test -d "$(RPRS_DATA)" || { echo "RPRS_DATA must be a folder of collections, as in: RPRS_DATA=folder make $@" >&2; exit 2; }
	@$(VENV)/bin/$(PYTEST) -m effectiveness

runs: $(VENV)/.dev  ## write the runs and scores of all published tables, from the collections in the folder RPRS_DATA
	@test -d "$(RPRS_DATA)" || { echo "RPRS_DATA must be a folder of collections, as in: RPRS_DATA=folder make $@" >&2; exit 2; }
	$(VENV)/bin/rprs study $(patsubst experiments/results/%.json,experiments/%.toml,$(wildcard experiments/results/*.json)) \
	    --to results --publish runs

lint: $(VENV)/.dev  ## check style, types and the direction of imports
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports

bench: $(VENV)/.bench  ## compare the speed with other libraries
	@$(VENV)/bin/python -m benchmarks

screenshots: $(VENV)/.dev  ## take screenshots of the web interface with the demo collection
	@test -d demo/licences.rprs || $(MAKE) demo
	@$(VENV)/bin/python scripts/screenshots.py demo/licences.rprs docs/images

lock: $(VENV)/.dev  ## choose the newest versions of all dependencies, with hashes, for demo, tests and CI
	@UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 $(LOCK) requirements/tools.in -o requirements/tools.txt
	@UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 $(LOCK) pyproject.toml requirements/demo.in -o requirements/demo.txt
	@UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 $(LOCK) pyproject.toml --extra dev -o requirements/dev.txt

sbom: $(VENV)/.dev  ## write a list of all dependencies with their hashes, in the format of CycloneDX, to sbom.json
	@UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 $(VENV)/bin/uv tool run -q --from 'cyclonedx-bom>=7,<8' cyclonedx-py requirements \
	    --pyproject pyproject.toml --output-reproducible -o sbom.json requirements/demo.txt 2> /dev/null
	@echo "sbom.json written"

clean:  ## remove environments, the demo and caches
	rm -rf $(VENV) $(TORCH_VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
