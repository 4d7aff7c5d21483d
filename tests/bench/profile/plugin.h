/* SPDX-License-Identifier: GPL-2.0 */
/* QEMU's plugin interface, version 1, as far as it is used here: no package brings its header. */
#ifndef ISTRIPE_PROFILE_PLUGIN_H
#define ISTRIPE_PROFILE_PLUGIN_H

#include <stddef.h>

typedef unsigned long long u64;

struct qemu_plugin_tb;

enum { PLUGIN_INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(u64 id, void (*callback)(u64 id,
								    struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *counter,
					      u64 add);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
u64 qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

#endif
