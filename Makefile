# Two commands matter: `make demo` and `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
# The lock was made for Python 3.11; other versions resolve from the ranges in pyproject.toml.
LOCK := $(shell $(PYTHON) -c 'import sys; print("-c requirements.lock" if sys.version_info[:2] == (3, 11) else "")')
PYTEST := $(BIN)/python -m pytest -q
JOBS ?= $(shell nproc)

.PHONY: help demo setup test test-slow test-kubernetes fuzz lint hooks bench record changelog lock schemas coverage docs-site clean system-packages

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: $(VENV)/.base ## set up and render a 127-node SuperPOD
	@scripts/demo $(BIN)/gpuyard

setup: $(VENV)/.dev system-packages ## install, fetch and build what the tests need, which fetch nothing themselves
	@VENV=$(VENV) scripts/build-libyang
	@$(BIN)/python scripts/prepare-tests

test: setup ## set up and pass the tests: lint, quick ones, then those that start daemons, containers and VMs
	@VENV=$(VENV) scripts/run-tests

test-slow: setup ## what exceeds its share of `make test`, one unit after another
	@$(BIN)/python scripts/prepare-tests slow
	@VENV=$(VENV) scripts/run-tests slow

# The programs say their versions: what was tested is one of Kubernetes, whatever version is rendered for.
test-kubernetes: $(VENV)/.dev ## a control plane of Kubernetes takes what is rendered; built once, some 6 minutes
	@programs=$$(scripts/build-kubernetes) && $$programs/etcd --version | head -n 1 && \
	  printf 'kubeadm %s\nkubectl ' "$$($$programs/kubeadm version -o short)" && $$programs/kubectl version --client --short
	@GPUYARD_REQUIRE_KUBERNETES=1 $(PYTEST) tests/kubernetes

fuzz: $(VENV)/.dev ## the random laws with new examples, FUZZ (10) times as many
	@GPUYARD_FUZZ=$(or $(FUZZ),10) $(PYTEST) -n $(JOBS) tests/property tests/unit/intent tests/unit/plan tests/unit/checks tests/unit/verify

lint: $(VENV)/.dev ## ruff, mypy, import-linter, yamllint, codespell, changelog fragments; ansible-lint, which takes minutes
	@VENV=$(VENV) scripts/lint
	@$(PYTEST) tests/roles/test_ansible_lint.py

hooks: $(VENV)/.dev ## lint what changed at every commit, by pre-commit with the tools of $(VENV); needs no network
	@$(BIN)/pre-commit install

bench: $(VENV)/.dev ## CPU and memory of plan and render, of reading BMCs, and as root of reading hosts, of playbooks and of a host that comes to Ceph, as ratios
	@$(BIN)/python bench/plan.py
	@$(BIN)/python bench/render.py
	@$(BIN)/python bench/storage.py
	@[ "$$(id -u)" -ne 0 ] || $(BIN)/python bench/hosts.py --hosts 12
	@$(BIN)/python bench/bmc.py
	@[ "$$(id -u)" -ne 0 ] || $(BIN)/python bench/roles.py
	@[ "$$(id -u)" -ne 0 ] || $(BIN)/python bench/expand.py
	@[ "$$(id -u)" -ne 0 ] || $(BIN)/python bench/recovery.py

# Every file of tests that writes by tests/recorded.py; tests/golden/test_recorded.py holds the list to that. The first runs first, since
# commands on pages read what it writes.
RECORD := tests/unit/verify/test_compare_hosts.py \
  tests/docs/test_docs.py tests/docs/test_generated.py tests/errors/test_error_text.py tests/golden tests/roles/test_role_shape.py
record: $(VENV)/.dev ## write again all that is generated: goldens, error texts, pages, schema, READMEs; read the diff before you commit it
	@GPUYARD_RECORD=1 $(PYTEST) $(firstword $(RECORD))
	@GPUYARD_RECORD=1 $(PYTEST) -n $(JOBS) $(filter-out $(firstword $(RECORD)),$(RECORD))
	@git status --short

changelog: $(VENV)/.dev ## show what the next release will tell, from changelog.d/
	@$(BIN)/towncrier build --draft --version next

schemas: $(VENV)/.base ## fetch the schemas that judge rendered files: SONiC's YANG models, Ubuntu's autoinstall schema
	@$(BIN)/python scripts/fetch-schemas

coverage: $(VENV)/.dev ## the lines of cluster_model that quick tests reach, and which they do not; no floor is set yet
	@GPUYARD_OFFLINE=1 $(PYTEST) -n $(JOBS) -m 'not machine and not slow' --cov --cov-report=term-missing tests/unit tests/golden tests/errors tests/contract tests/property

docs-site: $(VENV)/.dev ## build/site/: docs/ as a site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lock: ## make requirements.lock from the newest versions that the ranges allow
	@rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	@$(VENV)/lock/bin/python -m pip --disable-pip-version-check -q install '.[ansible,fleet,diff,xlsx,dev]'
	@{ echo '# Made by `make lock`: versions that passed the tests, for Python 3.11.'; \
	  $(VENV)/lock/bin/python -m pip freeze --exclude gpuyard | grep -v ' @ '; } > requirements.lock
	@rm -rf $(VENV)/lock

system-packages: ## as root: install the Debian packages that the tests want, after naming them
	@scripts/system-packages

$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) || { echo 'python3-venv is missing: apt install python3-venv'; exit 1; }

$(VENV)/.base: pyproject.toml requirements.lock | $(BIN)/python
	@echo 'installing gpuyard into $(VENV)'
	@$(PIP) install $(LOCK) -e .
	@scripts/link-collection
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@echo 'installing what the tests need into $(VENV)'
	@$(PIP) install $(LOCK) -e '.[ansible,fleet,diff,xlsx,dev]'
	@touch $@

clean: ## remove what was built
	rm -rf $(VENV) build .work
