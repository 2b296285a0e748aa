# make test and make check install what they need, hash-pinned, into .venv and .venv-check; nothing else is touched.
PYTHON ?= python3
ARGS ?=
# make has defaults of its own, which are not on every machine; what the user sets stays.
ifeq ($(origin CC),default)
CC := cc
endif
ifeq ($(origin CXX),default)
CXX := c++
endif

TEST := .venv/bin/python
CHECK := .venv-check/bin
CORE := native_profile/pufferlib/core
WARN := -Wall -Wextra -Werror -fsyntax-only -I$(CORE)/include -I$(CORE)
NATIVE = find native_profile scripts benchmarks tests -name build -prune -o \
	\( -name '*.h' -o -name '*.c' -o -name '*.cpp' -o -name '*.cu' \) -print
PYTHON_FILES := $(wildcard scripts native_profile/pufferlib benchmarks tests requirements)

.DEFAULT_GOAL := help
.PHONY: help test check format bench sanitize clean test-tools check-tools

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile
	@echo 'ARGS="..." reaches pytest and the benchmark; PYTHON=python3.12 picks another interpreter.'

test: test-tools ## all tests; ARGS="-k gate" for some
	@$(TEST) -m pytest $(ARGS)

check: check-tools ## lint, types, format and compiler warnings
	$(CHECK)/ruff check .
	$(CHECK)/ruff format --check .
	$(CHECK)/mypy $(PYTHON_FILES)
	$(NATIVE) | xargs $(CHECK)/clang-format --dry-run -Werror
	$(PYTHON) scripts/lint_skill.py --as pufferlib-skill
	@for header in native_profile/pufferlib/ocean/*/*.h; do \
		echo "warnings as errors: $$header as C11, C++17 and inside the engine"; \
		printf '#include "%s"\n' "$$header" | $(CC) -std=c11 $(WARN) -I. -x c - || exit 1; \
		printf '#include "%s"\n' "$$header" | $(CXX) -std=c++17 $(WARN) -I. -x c++ - || exit 1; \
		$(CXX) -std=c++17 $(WARN) -I. "-DENV_HEADER=\"$$header\"" $(CORE)/environment_library.cpp || exit 1; \
	done
	@echo 'warnings as errors: the driver of environment checks'
	@$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -iquote native_profile/pufferlib/ocean/squared '-DENV_HEADER="squared.h"' \
		scripts/_skill/contracts/c_driver.c
	@for source in $(filter-out %/environment_library.cpp,$(wildcard $(CORE)/*.cpp)); do \
		echo "warnings as errors: $$source"; \
		$(CXX) -std=c++17 $(WARN) "$$source" || exit 1; \
	done

format: check-tools ## rewrite Python, C and C++ in the house style
	$(CHECK)/ruff check --fix .
	$(CHECK)/ruff format .
	$(NATIVE) | xargs $(CHECK)/clang-format -i

bench: ## measure training on this machine; ARGS="--help" says what it takes
	$(PYTHON) benchmarks/train.py $(ARGS)

sanitize: test-tools ## the engine with address and undefined-behaviour checks; minutes
	@$(TEST) -m pytest -m sanitize $(ARGS)

clean: ## remove environments, caches and built things; runs/ stays
	rm -rf .venv .venv-check .pytest_cache .hypothesis .mypy_cache .ruff_cache build dist
	find . -path ./runs -prune -o -name __pycache__ -prune -exec rm -rf {} +

test-tools:
	@$(PYTHON) requirements/install.py .venv requirements/test.txt
	@$(PYTHON) requirements/schema_suite.py .venv requirements/schema_suite.txt

check-tools:
	@$(PYTHON) requirements/install.py .venv-check requirements/check.txt
