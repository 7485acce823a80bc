# make          builds build/agent and build/aggregator
# make run      does all set-up and shows a cluster on this host: JSON lines on standard output (DURATION=10s ends it;
#               GPUS=8 gives each node as many that are played)
# make check    does all set-up and runs every test; make check-quick the build, unit and wire tests, rooms, documents
# make check-deploy  rolls a checkout out to four hosts with systemd on this machine (needs root)
# make fuzz     gives every decoder 30 s of libFuzzer (FUZZ_SECONDS=300); make bench measures
# make soak     kills and cuts a cluster at random for 5 minutes, and looks for lost frames (CHAOS_SECONDS, CHAOS_SEED);
#               then besets it with 36,000 connections (CROWD), and with slow readers of pages; a tab of the page sees
#               PAGE_MINUTES of a cluster, ten times as fast;
#               receivers of samples are away for 2 minutes; tables of 10 million rows are written and read
# make install puts both programs into place, make deb and make rpm make packages: build/deb, build/rpm
# make docs, make format, make uninstall, make clean: see below
#
# Another compiler, sanitizers, another folder: make CC=clang SANITIZE=address,undefined BUILD=build/asan

BUILD ?= build
# One spelling, whatever it was called: below this folder relative, else absolute, without links. The files of what
# objects depend on (.d) name objects so.
override BUILD := $(shell realpath -m --relative-base=. -- '$(BUILD)')
CC ?= cc
CFLAGS ?= -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wundef \
           -Wformat=2 -Wvla -Wdouble-promotion -Wno-missing-field-initializers -Wno-format-nonliteral $(WERROR)
WERROR ?= -Werror
PACKAGES = libzmq msgpack libsodium inih jansson
AGGREGATOR_PACKAGES = sqlite3 libzstd zlib hdf5 libcurl snappy
SANITIZE ?=
JOBS ?= $(shell nproc)
ifneq ($(SANITIZE),)
  SANITIZERS = -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined -DSANITIZED
endif

PACKAGE_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
AGGREGATOR_CFLAGS := $(shell pkg-config --cflags $(AGGREGATOR_PACKAGES) 2>/dev/null)
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -Iinclude -I. $(WARNINGS) -fstack-protector-strong -MMD -MP $(PACKAGE_CFLAGS) \
             $(SANITIZERS) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -Wl,--as-needed -pthread $(SANITIZERS) $(LDFLAGS)
LIBRARIES := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -lm
AGGREGATOR_LIBRARIES := $(shell pkg-config --libs $(AGGREGATOR_PACKAGES) 2>/dev/null)

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard $(1)))
COMMON = $(call objects,common/*/*.c)
AGENT = $(filter-out %/main.o,$(call objects,agent/*.c agent/*/*.c))
AGGREGATOR = $(filter-out %/main.o,$(call objects,aggregator/*.c aggregator/*/*.c))
UNIT_SOURCES = $(wildcard $(addprefix tests/unit/,test_*.c */test_*.c */*/test_*.c))
UNIT_TESTS = $(patsubst %.c,$(BUILD)/tests/unit/%,$(notdir $(UNIT_SOURCES)))
FUZZERS = $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
SOURCES = $(wildcard include/*/*.h $(foreach folder,common agent aggregator tests,\
            $(addprefix $(folder)/,*.[ch] */*.[ch] */*/*.[ch] */*/*/*.[ch])))

.PHONY: all programs unit-tests stand-ins check-gpu check-counters fuzzers benches run \
        check check-quick check-deploy setup bench fuzz soak docs generated-docs format format-check clean \
        install install-agent install-aggregator uninstall source deb rpm
.DELETE_ON_ERROR:
.SECONDARY:

# Goals may be named by their whole path.
WHOLE = $(filter $(CURDIR)/%,$(MAKECMDGOALS))
ifneq ($(WHOLE),)
$(WHOLE): $(CURDIR)/%: %
endif

all: setup
	@$(MAKE) --no-print-directory programs

programs: $(BUILD)/agent $(BUILD)/aggregator

$(BUILD)/agent: $(BUILD)/obj/agent/main.o $(BUILD)/libagent.a $(BUILD)/libcommon.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBRARIES)

$(BUILD)/aggregator: $(BUILD)/obj/aggregator/main.o $(BUILD)/libaggregator.a $(BUILD)/libcommon.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBRARIES) $(AGGREGATOR_LIBRARIES)

# keep FILE,VARIABLE: a file that holds the variable's words, and is written anew when they are others. What depends on it
# is then made anew: objects, when they were compiled otherwise; an archive, when it is to hold others.
define keep
ifneq ($$(strip $$($(2))),$$(strip $$(file <$(1))))
.PHONY: $(1)
endif
$(1):
	@mkdir -p $$(@D)
	@printf '%s\n' '$$(subst ','\'',$$(strip $$($(2))))' >$$@
endef
FLAGS = $(BUILD)/obj/flags
FLAGS_NOW := $(CC) $(filter-out $(WARNINGS),$(ALL_CFLAGS)) $(AGGREGATOR_CFLAGS) $(ALL_LDFLAGS)
$(eval $(call keep,$(FLAGS),FLAGS_NOW))
$(eval $(call keep,$(BUILD)/obj/common/list,COMMON))
$(eval $(call keep,$(BUILD)/obj/agent/list,AGENT))
$(eval $(call keep,$(BUILD)/obj/aggregator/list,AGGREGATOR))

$(BUILD)/libcommon.a: $(COMMON)
$(BUILD)/libagent.a: $(AGENT)
$(BUILD)/libaggregator.a: $(AGGREGATOR)
$(BUILD)/lib%.a: $(BUILD)/obj/%/list
	@rm -f $@
	$(AR) rcs $@ $(filter %.o,$^)

$(AGGREGATOR) $(addprefix $(BUILD)/obj/tests/unit/aggregator/,command/test_export.o columnar/test_columnar.o): ALL_CFLAGS += $(AGGREGATOR_CFLAGS)
# Unit tests run once each: a second of the compiler's is dearer than one of theirs.
$(BUILD)/obj/tests/unit/%.o: ALL_CFLAGS += -O0
$(BUILD)/obj/%.o: %.c $(FLAGS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Libraries of others that the agent loads at run time, played for tests.
STAND_INS = $(BUILD)/tests/lib/libnvidia-ml.so.1 $(BUILD)/tests/lib/libdcgm.so.4 $(BUILD)/tests/lib/libodd.so
stand-ins: $(STAND_INS)
$(STAND_INS): $(FLAGS)
$(BUILD)/tests/lib/libnvidia-ml.so.1: $(wildcard tests/lib/nvml/*.c tests/lib/nvml/*.h) agent/gpu/nvml.h
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fPIC -shared -fvisibility=hidden -o $@ $(filter %.c,$^) -lm
$(BUILD)/tests/lib/libdcgm.so.4: $(wildcard tests/lib/dcgm/*.c) agent/gpu/dcgm_library.h
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fPIC -shared -fvisibility=hidden -Wl,-soname,$(@F) -o $@ $(filter %.c,$^) -lm
$(BUILD)/tests/lib/libodd.so: tests/lib/odd/odd.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fPIC -shared -fvisibility=hidden -o $@ $<

# A unit test links what it needs of the programs: their objects without main. Its source lies in its room's folder.
unit-tests: $(UNIT_TESTS) stand-ins
$(foreach source,$(UNIT_SOURCES),\
  $(eval $(BUILD)/tests/unit/$(basename $(notdir $(source))): $(BUILD)/obj/$(source:.c=.o)))
$(BUILD)/tests/unit/test_columnar: $(BUILD)/obj/tests/unit/aggregator/columnar/made_tables.o
$(UNIT_TESTS): $(BUILD)/libagent.a $(BUILD)/libaggregator.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBRARIES) $(AGGREGATOR_LIBRARIES) -lcmocka
$(addprefix $(BUILD)/tests/unit/test_,now tiers group_gpu group_gpu_amd library node_power job_energy cpu_counters counter_manners): ALL_LDFLAGS += -Wl,--wrap=clock_monotonic
$(BUILD)/tests/unit/test_group_gpu_amd: ALL_LDFLAGS += -Wl,--wrap=pread
$(BUILD)/tests/unit/test_access: ALL_LDFLAGS += -Wl,--wrap=getpwuid_r
$(BUILD)/tests/unit/test_library: ALL_LDFLAGS += -Wl,--wrap=syscall

# A fuzz target too, with libFuzzer: built by tests/fuzz/run, with CC=clang SANITIZE=address,undefined,fuzzer-no-link.
fuzzers: $(FUZZERS)
$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/libagent.a $(BUILD)/libaggregator.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBRARIES) $(AGGREGATOR_LIBRARIES)

# The bench's own programs. bench_sample counts what is read; two simulate agents.
comma := ,
BENCHES = $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(wildcard tests/bench/bench_*.c))
benches: $(BENCHES) $(BUILD)/tests/bench/made_aggregator $(addprefix $(BUILD)/tests/unit/test_,job_report columnar)
# The aggregator with thousands of made-up nodes in it.
$(BUILD)/tests/bench/made_aggregator: $(BUILD)/obj/aggregator/main.o $(addprefix $(BUILD)/obj/tests/bench/,made_link.o made_cluster.o)
$(BUILD)/tests/bench/made_aggregator: $(BUILD)/libagent.a $(BUILD)/libaggregator.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBRARIES) $(AGGREGATOR_LIBRARIES)
$(BUILD)/tests/bench/bench_load $(BUILD)/tests/bench/bench_storm: $(BUILD)/obj/tests/bench/agents.o
$(BUILD)/tests/bench/bench_tiers: $(addprefix $(BUILD)/obj/tests/bench/,made_nodes.o made_cluster.o)
$(BUILD)/tests/bench/bench_history $(BUILD)/tests/bench/bench_unlike: $(BUILD)/obj/tests/bench/taken.o
$(BUILD)/tests/bench/bench_unlike: ALL_LDFLAGS += $(addprefix -Wl$(comma)--wrap=,history_ticks_write history_ticks_fold tier_store_stage tier_store_work)
$(BUILD)/tests/bench/bench_report: LIBRARIES += -lcmocka # of the header that it shares with unit tests
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

# Standard output is for JSON lines alone. The shell becomes the script, so that make's own child is what ends with make.
run:
	@$(MAKE) --no-print-directory all $(if $(GPUS),stand-ins) >&2
	@exec env BUILD=$(BUILD) GPUS=$(GPUS) FOLLOW=yes tests/run-cluster $(DURATION)

check:
	@BUILD=$(BUILD) tests/check

check-quick:
	@BUILD=$(BUILD) tests/check setup rooms build unit docs wire

# The roll-out to hosts with systemd, of a checkout that is built first; `make check` deploys what it has built.
check-deploy:
	@tests/setup.sh check
	@$(MAKE) --no-print-directory programs
	@if command -v dpkg-deb >/dev/null; then $(MAKE) --no-print-directory deb; fi
	@SYNOP_BUILD=$(abspath $(BUILD)) SYNOP_DEPLOY_FRESH=1 \
	  /usr/bin/python3 -m pytest -q -rs --durations=20 -p no:cacheprovider tests/deploy

# make fuzz FUZZ_SECONDS=300 for longer
FUZZ_SECONDS ?= 30
fuzz:
	@tests/setup.sh check
	@BUILD=$(BUILD)/asan tests/fuzz/run -max_total_time=$(FUZZ_SECONDS)

# On a machine with NVIDIA GPUs: every value against nvidia-smi's.
check-gpu: all
	@BUILD=$(BUILD) tests/check-gpu

# On a machine whose CPUs have counters: what the agent counts against perf stat.
check-counters: all
	@BUILD=$(BUILD) tests/check-counters

CHAOS_SECONDS ?= 300
CROWD ?= 36000
PAGE_MINUTES ?= 100
soak:
	@tests/setup.sh check
	@$(MAKE) --no-print-directory programs
	@CHAOS_SECONDS=$(CHAOS_SECONDS) CROWD=$(CROWD) SYNOP_BUILD=$(abspath $(BUILD)) \
	  /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/system/test_chaos.py tests/system/test_shares.py::test_crowd \
	    tests/system/test_http_hostile.py::test_slow_readers tests/system/test_api.py::test_late
	@$(MAKE) --no-print-directory benches
	@PAGE_MINUTES=$(PAGE_MINUTES) SYNOP_BUILD=$(abspath $(BUILD)) \
	  /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/system/test_page_soak.py
	@PAGE_NODES=10000 SYNOP_BUILD=$(abspath $(BUILD)) \
	  /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/system/test_page.py::test_thousands
	@COLUMNAR_ROWS=10000000 COLUMNAR_SEEDS="$$(seq -s' ' 1 20)" SYNOP_BUILD=$(abspath $(BUILD)) \
	  /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/system/test_columnar.py
	@SEND_AWAY_SECONDS=120 SYNOP_BUILD=$(abspath $(BUILD)) \
	  /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/system/test_send_receivers.py \
	    tests/system/test_send_influx.py tests/system/test_send_nats.py tests/system/test_send_kafka.py \
	    tests/system/test_send_away.py tests/system/test_send_killed.py tests/system/test_send_agent.py::test_a_service_that_is_away

# Pages and default configurations, which are written by the programs themselves.
DOCS ?= docs
INI ?= .
docs: setup
	@$(MAKE) --no-print-directory generated-docs
generated-docs: programs
	@mkdir -p $(DOCS) $(INI)/agent $(INI)/aggregator
	$(BUILD)/agent --list-groups --markdown > $(DOCS)/metrics.md
	BUILD=$(BUILD) docs/generate-configuration > $(DOCS)/configuration.md
	BUILD=$(BUILD) docs/generate-ini agent > $(INI)/agent/agent.ini
	BUILD=$(BUILD) docs/generate-ini aggregator > $(INI)/aggregator/aggregator.ini
	docs/generate-names docs/metrics-from-other-tools.md $(DOCS)/metrics-from-other-tools.md
	docs/generate-names docs/prometheus.md $(DOCS)/prometheus.md
	$(BUILD)/aggregator answer openapi.json | /usr/bin/python3 -m json.tool --indent 2 > $(DOCS)/openapi.json
	aggregator/dashboards/generate $(INI)/aggregator/dashboards

format:
	clang-format-14 -i $(SOURCES)

format-check:
	@clang-format-14 --dry-run -Werror $(SOURCES)

# Where things go: make install PREFIX=/usr DESTDIR=/tmp/image. Each program has its short name too, but for packages.
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
ALIASES ?= yes
INSTALL_PROGRAM = BUILD='$(BUILD)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' SYSCONFDIR='$(SYSCONFDIR)' \
                  UNITDIR='$(UNITDIR)' SYSUSERSDIR='$(SYSUSERSDIR)' TMPFILESDIR='$(TMPFILESDIR)' \
                  ALIASES='$(ALIASES)' ansible/packages/install

install: all
	@$(MAKE) --no-print-directory install-agent install-aggregator

install-agent install-aggregator: install-%:
	$(INSTALL_PROGRAM) $*

uninstall:
	$(INSTALL_PROGRAM) --remove agent
	$(INSTALL_PROGRAM) --remove aggregator

# Packages are built from a copy of the sources, always as a whole: $(BUILD)/deb/*.deb, $(BUILD)/rpm/RPMS/*/*.rpm
VERSION = $(shell sed -n 's/^.define SYNOP_VERSION "\(.*\)"/\1/p' include/synop/version.h)
RELEASED = $(shell sed -n 's/^ -- .*>  //p' ansible/packages/debian/changelog | head -n 1)
TARBALL = $(BUILD)/synop-$(VERSION).tar.gz
source:
	@mkdir -p $(BUILD)
	tar -cf - --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s --exclude=__pycache__ \
	  --mtime='$(RELEASED)' --transform 's,^,synop-$(VERSION)/,' Makefile LICENSE README.md CONTRIBUTING.md agent \
	  aggregator ansible common docs include tests/setup.sh $(wildcard build/page/uplot) | gzip -n > $(TARBALL)
	touch -d '$(RELEASED)' $(TARBALL)

deb:
	@tests/setup.sh packages
	@$(MAKE) --no-print-directory source
	rm -rf $(BUILD)/deb && mkdir $(BUILD)/deb && tar -xf $(TARBALL) -C $(BUILD)/deb
	mv $(BUILD)/deb/synop-$(VERSION)/ansible/packages/debian $(BUILD)/deb/synop-$(VERSION)
	cd $(BUILD)/deb/synop-$(VERSION) && env -u MAKEFLAGS -u MAKEOVERRIDES -u BUILD -u CFLAGS -u PREFIX -u DESTDIR \
	  dpkg-buildpackage -b -us -uc -j$(JOBS)

# rpm looks up what the build needs only where the system itself is made of RPMs.
NODEPS = $(if $(filter rpm-build-%,$(shell rpm -q rpm-build 2>/dev/null)),,--nodeps)
rpm:
	@tests/setup.sh packages
	@$(MAKE) --no-print-directory source
	rm -rf $(BUILD)/rpm && mkdir $(BUILD)/rpm
	cp ansible/packages/synop.spec $(BUILD)/rpm && touch -r $(TARBALL) $(BUILD)/rpm/synop.spec
	env -u MAKEFLAGS -u MAKEOVERRIDES -u BUILD -u CFLAGS -u PREFIX -u DESTDIR \
	  rpmbuild -ba $(NODEPS) --define '_topdir $(abspath $(BUILD))/rpm' \
	  --define '_sourcedir $(abspath $(BUILD))' --define '_smp_mflags -j$(JOBS)' $(RPMFLAGS) $(BUILD)/rpm/synop.spec

clean:
	rm -rf $(BUILD)

-include $(wildcard $(addprefix $(BUILD)/obj/,*/*.d */*/*.d */*/*/*.d */*/*/*/*.d))
