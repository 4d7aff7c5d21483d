# SPDX-License-Identifier: GPL-2.0
#
# istripe, a striping iSCSI initiator for Linux. See make help.

TOP	:= $(CURDIR)
BUILD	:= $(TOP)/build
VERSION	:= $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
KDIR	?= /lib/modules/$(shell uname -r)/build
KERNEL	?= 6.12
export KERNEL

# Scripts read what programs say, in English. The kernel's Makefile takes LC_ALL away.
export LC_ALL := C.UTF-8
export LC_MESSAGES := C.UTF-8
export LANGUAGE :=

# What modules built for KDIR carry as their vermagic; read only when needed.
RELEASE	= $(eval RELEASE := $$(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' \
	  '$(KDIR)/include/generated/utsrelease.h' 2>/dev/null))$(RELEASE)
OUT	= $(BUILD)/modules/$(RELEASE)
SOURCES	:= Kbuild dkms.conf drivers include
# Where dkms looks for the sources, and what it needs of them.
DKMS_TREE = $(DESTDIR)/usr/src/istripe-$(VERSION)
DKMS_FILES := Kbuild Makefile dkms.conf LICENSES drivers include

.PHONY: all modules mirror tools tools-test tools-install install dkms dkms-tree uninstall deb dist docs \
	packages-test host-test fuzz-smoke fuzz kunit lint check-fast check \
	check-long check-debug mutants demo bench-first bench-cpu bench-peers bench-processors bench-latency bench-among bench-links bench-memory \
	bench-failover soak soak-kills power-cuts \
	boot-test memory clean distclean help

all: modules

# Kernels never share objects, and the sources stay clean: each release is
# built in a folder of links to the sources. Links to files that are gone go.
mirror:
	@test -n '$(RELEASE)' || { echo 'no prepared kernel headers in $(KDIR): install linux-headers-<release> or give KDIR=' >&2; exit 1; }
	@mkdir -p '$(OUT)'
	@find '$(OUT)' -xtype l -delete
	@cp -rsf $(SOURCES:%='$(TOP)/%') '$(OUT)/'

modules: mirror
	+@$(MAKE) --no-print-directory -C '$(KDIR)' M='$(OUT)' modules
	@echo 'built $(OUT)/istripe.ko'

tools:
	@tests/host/deps tools
	+@$(MAKE) --no-print-directory -C tools/istripectl O='$(BUILD)/tools'

TOOLS_PYTEST := /usr/bin/python3 -B -m pytest -q -p no:cacheprovider -c tests/tools/pytest.ini --rootdir tests/tools
tools-test: tools
	@tests/host/deps lint
	@rm -rf '$(BUILD)/tools/seen'
	$(TOOLS_PYTEST) -n "$$(nproc)" --dist loadfile $(TOOLS_TEST) tests/tools
	$(if $(TOOLS_TEST),,$(TOOLS_PYTEST) -m last tests/tools)

tools-install:
	+@$(MAKE) --no-print-directory -C tools/istripectl O='$(BUILD)/tools' install

install: modules
	$(MAKE) --no-print-directory -C '$(KDIR)' M='$(OUT)' modules_install
	depmod $(if $(INSTALL_MOD_PATH),-b '$(INSTALL_MOD_PATH)') '$(RELEASE)'

# Puts the sources where dkms wants them; dkms install builds.
dkms:
	@! dkms status -m istripe -v '$(VERSION)' | grep -q . || \
	  { echo 'first: dkms remove -m istripe -v $(VERSION) --all' >&2; exit 1; }
	@$(MAKE) --no-print-directory dkms-tree
	dkms add -m istripe -v '$(VERSION)'
	@echo 'now: dkms install -m istripe -v $(VERSION) [-k <kernel release>]'

dkms-tree:
	rm -rf '$(DKMS_TREE)'
	mkdir -p '$(DKMS_TREE)'
	cp -r $(DKMS_FILES) '$(DKMS_TREE)/'

# Takes back install, dkms and tools-install.
uninstall:
	@packaging/uninstall
	+@$(MAKE) --no-print-directory -C tools/istripectl O='$(BUILD)/tools' uninstall

deb:
	@tests/host/deps deb
	@packaging/deb

dist:
	@packaging/dist

# As HTML, all of it anew: a page that has been read before would say its warnings only once.
docs:
	@tests/host/deps docs
	@sphinx-build -q -E -W --keep-going -b html -d '$(BUILD)/docs/doctrees' \
		'$(TOP)/Documentation' '$(BUILD)/docs/html'
	@echo 'built $(BUILD)/docs/html/index.html'

packages-test:
	@tests/host/deps packages
	@tests/host/packages

host-test:
	@tests/host/deps build source
	@$(MAKE) -f tests/host/Makefile --no-print-directory $@

fuzz-smoke:
	@tests/host/deps build source
	@$(MAKE) -f tests/host/Makefile --no-print-directory $@

fuzz: fuzz-smoke

kunit:
	@tests/host/deps build source
	@tests/kunit/run

lint:
	@tests/host/deps lint source
	@tests/lint/run $(T)

check-fast:
	@tests/host/check fast

check:
	@tests/host/check all

check-long:
	@tests/host/check long

check-debug:
	@tests/host/check debug

# Some of them are for the suites in user space: hence the source.
mutants: tools
	@tests/host/deps vm $(KERNEL) source
	@tests/vm/mutants --kernel $(KERNEL) $(T)

demo:
	@tests/host/deps vm $(KERNEL)
	@$(MAKE) --no-print-directory KDIR='$(BUILD)/kernels/$(KERNEL)/headers' modules
	@tests/vm/demo

bench-first bench-cpu bench-peers bench-processors bench-latency bench-among bench-links bench-memory bench-failover \
soak soak-kills power-cuts memory:
	@tests/host/deps vm $(KERNEL)
	@$(MAKE) --no-print-directory KDIR='$(BUILD)/kernels/$(KERNEL)/headers' modules
	@$(RUN_$@)

RUN_bench-first := tests/vm/bench
RUN_bench-cpu := tests/vm/bench --set cpu
RUN_bench-peers := tests/vm/bench-links --set peers
RUN_bench-processors := tests/vm/bench-links --set processors
RUN_bench-latency := tests/vm/bench-links --set latency
RUN_bench-among := tests/vm/bench-links --set among
RUN_bench-links := tests/vm/bench-links
RUN_bench-memory := tests/vm/bench-memory
RUN_bench-failover := tests/vm/bench-failover
RUN_soak := tests/vm/soak
RUN_soak-kills = tests/vm/soak --kills $(or $(KILLS),500)
RUN_power-cuts := tests/vm/power-cuts
# What the machine has not, its target has: see Documentation/testing.rst.
RUN_memory = OUTSIDE_LUN_MB=256 tests/vm/outside tests/vm/run --kernel $(KERNEL) --mem 700M \
	'$(TOP)/tests/system/test_memory.py'

# With packages dkms builds the module.
boot-test: $(if $(BOOT_PACKAGES),,tools)
	@tests/host/deps vm $(KERNEL)
	@$(if $(BOOT_PACKAGES),,$(MAKE) --no-print-directory KDIR='$(BUILD)/kernels/$(KERNEL)/headers' modules)
	@T='$(T)' BOOTS='$(or $(BOOTS),3)' BOOT_PACKAGES='$(BOOT_PACKAGES)' tests/vm/boots

clean:
	rm -rf '$(BUILD)/modules' '$(BUILD)/host' '$(BUILD)/log' '$(BUILD)/kunit' '$(BUILD)/deb' '$(BUILD)/dist' '$(BUILD)/docs' '$(BUILD)/tools' '$(BUILD)/mutants'

distclean:
	rm -rf '$(BUILD)'

help:
	@sed 's/^ //' tests/host/help.txt
