/* SPDX-License-Identifier: GPL-2.0 */
/* What every fuzz target defines; libFuzzer, which calls it, has no header of its own. */
#ifndef _ISTRIPE_FUZZ_H
#define _ISTRIPE_FUZZ_H

#include <linux/types.h>

/**
 * LLVMFuzzerTestOneInput() - try one input; a trap or a sanitizer's report is a finding
 * @data: the input, which must not be changed
 * @size: its length in bytes
 *
 * Context: one thread; state must not outlast the call.
 * Return: 0.
 */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif /* _ISTRIPE_FUZZ_H */
