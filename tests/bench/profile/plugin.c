// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU's emulator: counts how often each translated block of the guest runs.
 * tests/vm/bench --profile loads it. The guest says in a file when a measurement begins
 * and ends:
 *
 *	begin		all counts are set to zero
 *	end NAME	they go to the file NAME.counts beside it, a block a line: its address,
 *			the instructions that were run in it
 *
 * The file is deleted when what it says has been done.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin.h"

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

#define POLL_US		20000
#define PATH_BYTES	1024

/* Blocks are never taken off the list: QEMU may still run one that it has translated anew. */
struct block {
	struct block *next;
	u64 address;
	u64 instructions;
};

static struct block *blocks;
static char folder[PATH_BYTES];

static void translated(u64 id, struct qemu_plugin_tb *tb)
{
	struct block *block = calloc(1, sizeof(*block));

	(void)id;
	if (!block)
		abort();
	block->address = qemu_plugin_tb_vaddr(tb);
	block->next = __atomic_load_n(&blocks, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&blocks, &block->next, block, 1, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, PLUGIN_INLINE_ADD_U64, &block->instructions,
						 qemu_plugin_tb_n_insns(tb));
}

static void begin(void)
{
	struct block *block;

	for (block = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE); block; block = block->next)
		__atomic_store_n(&block->instructions, 0, __ATOMIC_RELAXED);
}

static void end(const char *name)
{
	char path[3 * PATH_BYTES];
	struct block *block;
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s.counts", folder, name);
	out = fopen(path, "w");
	if (!out)
		abort();
	for (block = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE); block; block = block->next)
		if (block->instructions)
			fprintf(out, "%llx %llu\n", block->address,
				block->instructions);
	fclose(out);
}

/* The guest renames it into place, so what is there is whole. */
static void *listen(void *unused)
{
	char path[3 * PATH_BYTES], name[PATH_BYTES];
	FILE *command;

	snprintf(path, sizeof(path), "%s/command", folder);
	for (;; usleep(POLL_US)) {
		command = fopen(path, "r");
		if (!command)
			continue;
		if (fscanf(command, "end %1023[^\n/]", name) == 1)
			end(name);
		else
			begin();
		fclose(command);
		unlink(path);
	}
	return unused;
}

__attribute__((visibility("default")))
int qemu_plugin_install(u64 id, const void *info, int argc, char **argv)
{
	pthread_t thread;

	(void)info;
	if (argc != 1 || strncmp(argv[0], "folder=", 7) ||
	    strlen(argv[0] + 7) >= sizeof(folder)) {
		fprintf(stderr, "profile: wants folder=PATH\n");
		return -1;
	}
	snprintf(folder, sizeof(folder), "%s", argv[0] + 7);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return pthread_create(&thread, NULL, listen, NULL) ? -1 : 0;
}
