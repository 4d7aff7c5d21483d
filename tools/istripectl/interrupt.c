// SPDX-License-Identifier: GPL-2.0
/* Somebody wants the tool to end. */
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "interrupt.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
/* Free of locks, so a handler of signals may use them. */
static atomic_bool seen, held;
static atomic_int victim;

static void note(int number)
{
	(void)number;
	seen = true;
	if (victim > 0)
		kill(victim, SIGKILL);
}

static void signals_set(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };
	size_t i;

	sigemptyset(&action.sa_mask);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

void interrupt_catch(void)
{
	signals_set(note);
	/* Without a reader of its output, too, a command does all that it has begun. */
	signal(SIGPIPE, SIG_IGN);
}

void interrupt_release(void)
{
	signals_set(SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
}

void interrupt_block(void)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

bool interrupt_seen(void)
{
	return seen && !held;
}

void interrupt_hold(bool hold)
{
	held = hold;
}

void interrupt_child(pid_t child)
{
	victim = child;
	/* One that came before there was anybody to kill; a further one does, held or not. */
	if (seen && !held && child > 0)
		kill(child, SIGKILL);
}
