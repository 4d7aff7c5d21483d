# SPDX-License-Identifier: GPL-2.0
TOP := $(CURDIR)
host-test fuzz-smoke:
	@$(MAKE) -f tests/host/Makefile --no-print-directory $@
.PHONY: host-test fuzz-smoke
