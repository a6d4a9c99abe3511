# Every target sets up what it needs, and no more: a fresh Debian or Ubuntu machine with make is enough.
BIN := .venv/bin
PLAYABLE := .venv/.playable
DEVELOPABLE := .venv/.developable
AUDITABLE := .venv/.auditable
CMAKE := $(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
NATIVE := $(shell find native -name '*.cpp' -o -name '*.h')

.PHONY: venv lock configure build build-here lint test docs play demo page bench sanitize audit evidence clean

# What tests, training and figures need as well.
venv: $(DEVELOPABLE)

$(PLAYABLE): pyproject.toml .ci/setup .ci/constraints.txt
	@.ci/setup play
	@touch $@

$(DEVELOPABLE): $(PLAYABLE)
	@.ci/setup dev
	@touch $@

$(AUDITABLE): $(DEVELOPABLE)
	@.ci/setup audit
	@touch $@

# The newest versions of everything, into .ci/constraints.txt, which every setup keeps to.
lock: venv
	@.ci/setup lock

configure: $(PLAYABLE)
	@[ -f build/build.ninja ] || echo "building the native core (a minute or two) …"
	@$(CMAKE) -S . -B build >build.log 2>&1 || { cat build.log; rm -f build.log; exit 1; }
	@rm -f build.log

build: configure
	@$(BIN)/cmake --build build

# The modules that this processor runs, which is all that playing here needs.
build-here: configure
	@$(BIN)/cmake --build build --target _cpu
	@$(BIN)/cmake --build build --target $$(PYTHONPATH=src $(BIN)/python .ci/modules_here.py)

lint: venv build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run -Werror $(NATIVE)
	@$(MAKE) --no-print-directory docs

test: lint
	$(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal

# The documentation, in build/docs; a warning or a link that leads nowhere is an error.
docs: venv build
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs
	@$(BIN)/python .ci/site_links.py build/docs
	@echo "the documentation is in build/docs/index.html"

# Play, watch and review in the browser.
play: build-here
	@$(BIN)/penumbra serve

# The page, from web/ into the package; needs Node, which nothing else does.
page:
	@cd web && npm install --no-save && npm run build

demo: build-here
	@$(BIN)/penumbra demo --out build/demo.json

bench: venv build
	@$(BIN)/penumbra bench

# The native core under AddressSanitizer and UndefinedBehaviorSanitizer, driven by the tests that call it most directly.
SANITIZED := build-sanitize/lib
SANITIZE_TESTS := $(wildcard tests/core/test_*.py tests/rbc/test_actions.py tests/rbc/test_tracker.py \
	tests/dsmcp/test_transcription.py tests/dsmcp/test_belief.py tests/training/test_examples.py \
	tests/training/test_selfplay.py tests/env/test_vector.py)
sanitize: venv
	@$(CMAKE) -S . -B build-sanitize -DPENUMBRA_SANITIZE=ON
	@$(BIN)/cmake --build build-sanitize
	@cd src/penumbra && find . -name '*.py' -exec cp --parents {} $(CURDIR)/$(SANITIZED)/penumbra/ \;
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	$(BIN)/python .ci/sanitized_tests.py $(SANITIZED) $(SANITIZE_TESTS)

# Known faults of what Penumbra and its page are built with. It needs the network, and fails with status 2 rather than 1
# when what knows of them cannot be asked.
audit: $(AUDITABLE)
	@$(BIN)/python .ci/audit.py evidence

# The long runs behind the numbers in the documents: the tests at full size (20,000 games in lockstep with reconchess
# among them), runs that are killed, stopped and left without room for CHAOS_MINUTES, the benchmarks, and the audit.
CHAOS_MINUTES ?= 10
evidence: venv build
	@mkdir -p evidence
	$(BIN)/pytest --evidence
	PYTHONPATH=src $(BIN)/python -m studies.chaos --minutes $(CHAOS_MINUTES)
	$(BIN)/penumbra bench --json >evidence/bench.json
	@echo "the benchmarks are in evidence/bench.json"
	@$(MAKE) --no-print-directory audit

clean:
	rm -rf build build-sanitize docs/generated .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks evidence
	find src/penumbra \( -name '*.so' -o -name '_*.pyi' \) -delete
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
