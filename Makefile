# make          builds build/agent and build/aggregator
# make run      does all set-up and shows a cluster on this host: JSON lines on standard output (DURATION=10s ends it)
# make check    does all set-up and runs every test
# make fuzz     gives every decoder 30 s of libFuzzer (FUZZ_SECONDS=300); make bench measures
# make soak     kills and cuts a cluster at random for 5 minutes, and looks for lost frames (CHAOS_SECONDS, CHAOS_SEED)
# make docs, make format, make install, make uninstall, make clean: see below
#
# Another compiler, sanitizers, another folder: make CC=clang SANITIZE=address,undefined BUILD=build/asan

BUILD ?= build
CC ?= cc
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wundef \
           -Wformat=2 -Wvla -Wdouble-promotion -Wno-missing-field-initializers -Wno-format-nonliteral $(WERROR)
WERROR ?= -Werror
PACKAGES = libzmq msgpack libsodium inih
AGGREGATOR_PACKAGES = sqlite3 libzstd hdf5
SANITIZE ?=
ifneq ($(SANITIZE),)
  SANITIZERS = -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined
endif

ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -Iinclude -I. $(WARNINGS) -fstack-protector-strong -MMD -MP \
             $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null) $(SANITIZERS) $(CFLAGS)
ALL_LDFLAGS = -Wl,--as-needed -pthread $(SANITIZERS) $(LDFLAGS)
LIBRARIES = $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -lm
AGGREGATOR_LIBRARIES = $(shell pkg-config --libs $(AGGREGATOR_PACKAGES) 2>/dev/null)

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard $(1)))
COMMON = $(call objects,common/*.c)
AGENT = $(filter-out %/main.o,$(call objects,agent/*.c))
AGGREGATOR = $(filter-out %/main.o,$(call objects,aggregator/*.c))
UNIT_TESTS = $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))
FUZZERS = $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
SOURCES = $(wildcard include/*/*.h common/*.[ch] agent/*.[ch] aggregator/*.[ch] tests/*/*.[ch] tests/lib/*/*.[ch])

.PHONY: all programs unit-tests stand-ins fuzzers benches run \
        check setup bench fuzz soak docs generated-docs format format-check clean install uninstall
.DELETE_ON_ERROR:
.SECONDARY:

all: setup
	@$(MAKE) --no-print-directory programs

programs: $(BUILD)/agent $(BUILD)/aggregator

$(BUILD)/agent: $(BUILD)/obj/agent/main.o $(BUILD)/libagent.a $(BUILD)/libcommon.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBRARIES)

$(BUILD)/aggregator: $(BUILD)/obj/aggregator/main.o $(BUILD)/libaggregator.a $(BUILD)/libcommon.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBRARIES) $(AGGREGATOR_LIBRARIES)

$(BUILD)/libcommon.a: $(COMMON)
$(BUILD)/libagent.a: $(AGENT)
$(BUILD)/libaggregator.a: $(AGGREGATOR)
$(BUILD)/%.a:
	@rm -f $@
	$(AR) rcs $@ $^

$(AGGREGATOR): ALL_CFLAGS += $(shell pkg-config --cflags $(AGGREGATOR_PACKAGES) 2>/dev/null)
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Libraries of others that the agent loads at run time, played for tests.
STAND_INS = $(BUILD)/tests/lib/libnvidia-ml.so.1
stand-ins: $(STAND_INS)
$(BUILD)/tests/lib/libnvidia-ml.so.1: $(wildcard tests/lib/nvml/*.c tests/lib/nvml/*.h) agent/nvml.h
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fPIC -shared -fvisibility=hidden -o $@ $(filter %.c,$^)

# A unit test links what it needs of the programs: their objects without main.
unit-tests: $(UNIT_TESTS) stand-ins
$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libagent.a $(BUILD)/libaggregator.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBRARIES) $(AGGREGATOR_LIBRARIES) -lcmocka

# A fuzz target too, with libFuzzer: built by tests/fuzz/run, with CC=clang SANITIZE=fuzzer-no-link,address,undefined.
fuzzers: $(FUZZERS)
$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/libagent.a $(BUILD)/libaggregator.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBRARIES) $(AGGREGATOR_LIBRARIES)

# The bench's own programs. bench_sample counts what is read; two simulate agents.
BENCHES = $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(wildcard tests/bench/bench_*.c))
benches: $(BENCHES)
$(BUILD)/tests/bench/bench_load $(BUILD)/tests/bench/bench_storm: $(BUILD)/obj/tests/bench/agents.o
$(BUILD)/tests/bench/bench_sample: ALL_LDFLAGS += -Wl,--wrap=pread
$(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/libagent.a $(BUILD)/libaggregator.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBRARIES) $(AGGREGATOR_LIBRARIES)

# make bench BENCH="--json --only load": see tests/bench/run --help
bench:
	@tests/setup.sh bench
	@$(MAKE) --no-print-directory programs benches >&2
	@BUILD=$(BUILD) tests/bench/run $(BENCH)

setup:
	@tests/setup.sh build

# Standard output is for JSON lines alone.
run:
	@$(MAKE) --no-print-directory all >&2
	@BUILD=$(BUILD) tests/run-cluster $(DURATION)

check:
	@BUILD=$(BUILD) tests/check

# make fuzz FUZZ_SECONDS=300 for longer
FUZZ_SECONDS ?= 30
fuzz:
	@tests/setup.sh check
	@BUILD=$(BUILD) tests/fuzz/run -max_total_time=$(FUZZ_SECONDS)

CHAOS_SECONDS ?= 300
soak:
	@tests/setup.sh check
	@$(MAKE) --no-print-directory programs
	@CHAOS_SECONDS=$(CHAOS_SECONDS) SYNOP_BUILD=$(abspath $(BUILD)) \
	  /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/system/test_chaos.py

# Pages that are written by the programs themselves.
DOCS ?= docs
docs: setup
	@$(MAKE) --no-print-directory generated-docs
generated-docs: programs
	@mkdir -p $(DOCS)
	$(BUILD)/agent --list-groups --markdown > $(DOCS)/metrics.md
	BUILD=$(BUILD) docs/generate-configuration > $(DOCS)/configuration.md

format:
	clang-format-14 -i $(SOURCES)

format-check:
	@clang-format-14 --dry-run -Werror $(SOURCES)

MAN = $(wildcard docs/man/*.1 docs/man/*.5 docs/man/*.8)
install: all
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(BUILD)/agent $(BUILD)/aggregator $(DESTDIR)$(PREFIX)/bin
	for page in $(MAN); do \
	  install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/} || exit 1; \
	done

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/agent $(DESTDIR)$(PREFIX)/bin/aggregator
	for page in $(MAN); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; done

clean:
	rm -rf $(BUILD)

-include $(wildcard $(BUILD)/obj/*/*.d $(BUILD)/obj/*/*/*.d)
