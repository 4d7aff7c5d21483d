// SPDX-License-Identifier: GPL-2.0
/* Output that is printed again and again. */
#include <stdio.h>
#include <unistd.h>

#include "changes.h"
#include "interrupt.h"
#include "watch.h"

void watch_block(bool first)
{
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	else if (!first)
		putchar('\n');
}

bool watch_pause(long long ms)
{
	if (fflush(stdout) || ferror(stdout) || interrupt_seen())
		return false;
	watch_sleep_ms(ms);
	return !interrupt_seen();
}

bool watch_change(struct changes *changes, long long ms)
{
	if (fflush(stdout) || ferror(stdout) || interrupt_seen())
		return false;
	changes_wait(changes, ms);
	return !interrupt_seen();
}
