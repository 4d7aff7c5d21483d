/* SPDX-License-Identifier: GPL-2.0 */
/* QEMU's plugin interface, version 1, as far as it is used here: no package brings its header. */
#ifndef ISTRIPE_PROFILE_PLUGIN_H
#define ISTRIPE_PROFILE_PLUGIN_H

#include <stddef.h>

typedef unsigned long long u64;

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum { PLUGIN_NO_REGISTERS };

typedef void (*plugin_executed)(unsigned int processor, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(u64 id, void (*callback)(u64 id,
								    struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, plugin_executed callback,
					  int registers, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    plugin_executed callback, int registers, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
u64 qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#endif
