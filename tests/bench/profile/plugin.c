// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU's emulator: counts how often each processor of the guest runs each translated
 * block. tests/vm/bench --profile and bench-links --set peers load it. An instruction that does
 * nothing else, nopl MAGIC(%rax), opens and closes the window that is counted: exactly there, and
 * without a host's clock. See tests/bench/counter.py for the guest's side.
 *
 * When the window is closed, before the instruction ends, these are written into FOLDER:
 *
 *	counts	a block a line: its address, its instructions, how often each processor has run it
 *	sums	a function of the file `functions` a line: its name, and for each processor the
 *		instructions that were run in it and how often it was called. The first line is of
 *		all code, and has no calls
 *
 * `functions`, by the guest: a line for each, in hexadecimal: first address, address behind it;
 * then the name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

#define PATH_BYTES	1024
#define NAME_BYTES	64
#define PROCESSORS	16
#define FUNCTIONS	256

/* Blocks are never taken off the list: QEMU may still run one that it has translated anew. */
struct block {
	struct block *next;
	u64 address;
	u64 instructions;
	u64 runs[PROCESSORS];
};

struct function {
	u64 first;
	u64 behind;
	char name[NAME_BYTES];
	u64 instructions[PROCESSORS];
	u64 calls[PROCESSORS];
};

static const unsigned char magic_open[] = { 0x0f, 0x1f, 0x80, 0x31, 0x54, 0x53, 0x49 };
static const unsigned char magic_close[] = { 0x0f, 0x1f, 0x80, 0x32, 0x54, 0x53, 0x49 };

static struct block *blocks;
static struct function functions[FUNCTIONS];
static unsigned int function_count;
static char folder[PATH_BYTES];

static FILE *file(const char *name, const char *mode)
{
	char path[2 * PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return fopen(path, mode);
}

static void read_functions(void)
{
	FILE *from = file("functions", "r");
	struct function *function = &functions[1];

	memset(functions, 0, sizeof(functions));
	functions[0].behind = ~0ull;
	snprintf(functions[0].name, NAME_BYTES, "all");
	function_count = 1;
	if (!from)
		return;
	while (function_count < FUNCTIONS &&
	       fscanf(from, "%llx %llx %63s", &function->first, &function->behind,
		      function->name) == 3) {
		function_count++;
		function++;
	}
	fclose(from);
}

static void sum_block(const struct block *block)
{
	struct function *function;
	unsigned int i, cpu;

	for (i = 0; i < function_count; i++) {
		function = &functions[i];
		if (block->address < function->first || block->address >= function->behind)
			continue;
		for (cpu = 0; cpu < PROCESSORS; cpu++) {
			function->instructions[cpu] += block->instructions * block->runs[cpu];
			if (block->address == function->first)
				function->calls[cpu] += block->runs[cpu];
		}
	}
}

static int block_has_run(const struct block *block)
{
	unsigned int cpu;

	for (cpu = 0; cpu < PROCESSORS; cpu++)
		if (block->runs[cpu])
			return 1;
	return 0;
}

static void write_counts(void)
{
	FILE *out = file("counts", "w");
	const struct block *block;
	unsigned int cpu;

	if (!out)
		abort();
	for (block = blocks; block; block = block->next) {
		if (!block_has_run(block))
			continue;
		sum_block(block);
		fprintf(out, "%llx %llu", block->address, block->instructions);
		for (cpu = 0; cpu < PROCESSORS; cpu++)
			fprintf(out, " %llu", block->runs[cpu]);
		fputc('\n', out);
	}
	fclose(out);
}

static void write_sums(void)
{
	FILE *out = file("sums", "w");
	unsigned int i, cpu;

	if (!out)
		abort();
	for (i = 0; i < function_count; i++) {
		fputs(functions[i].name, out);
		for (cpu = 0; cpu < PROCESSORS; cpu++)
			fprintf(out, " %llu %llu", functions[i].instructions[cpu],
				functions[i].calls[cpu]);
		fputc('\n', out);
	}
	fclose(out);
}

static void window_opens(unsigned int processor, void *unused)
{
	struct block *block;

	(void)processor;
	(void)unused;
	for (block = blocks; block; block = block->next)
		memset(block->runs, 0, sizeof(block->runs));
}

static void window_closes(unsigned int processor, void *unused)
{
	(void)processor;
	(void)unused;
	read_functions();
	write_counts();
	write_sums();
}

/* While instructions are counted one processor runs at a time: no atomic operations. */
static void block_runs(unsigned int processor, void *data)
{
	struct block *block = data;

	if (processor < PROCESSORS)
		block->runs[processor]++;
}

static void look_for_magic(struct qemu_plugin_insn *insn)
{
	if (qemu_plugin_insn_size(insn) != sizeof(magic_open))
		return;
	if (!memcmp(qemu_plugin_insn_data(insn), magic_open, sizeof(magic_open)))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, window_opens, PLUGIN_NO_REGISTERS,
						       NULL);
	else if (!memcmp(qemu_plugin_insn_data(insn), magic_close, sizeof(magic_close)))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, window_closes, PLUGIN_NO_REGISTERS,
						       NULL);
}

static void translated(u64 id, struct qemu_plugin_tb *tb)
{
	struct block *block = calloc(1, sizeof(*block));
	size_t i;

	(void)id;
	if (!block)
		abort();
	block->address = qemu_plugin_tb_vaddr(tb);
	block->instructions = qemu_plugin_tb_n_insns(tb);
	block->next = blocks;
	blocks = block;
	for (i = 0; i < block->instructions; i++)
		look_for_magic(qemu_plugin_tb_get_insn(tb, i));
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_runs, PLUGIN_NO_REGISTERS, block);
}

__attribute__((visibility("default")))
int qemu_plugin_install(u64 id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "folder=", 7) ||
	    strlen(argv[0] + 7) >= sizeof(folder)) {
		fprintf(stderr, "profile: wants folder=PATH\n");
		return -1;
	}
	snprintf(folder, sizeof(folder), "%s", argv[0] + 7);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
