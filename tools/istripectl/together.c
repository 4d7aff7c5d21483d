// SPDX-License-Identifier: GPL-2.0
/* The same for several things at the same time. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "interrupt.h"
#include "output.h"
#include "together.h"

struct together {
	int (*body)(void *context, size_t number);
	void (*ended)(void *context, size_t number, int error);
	void *context;
	size_t count;
	pid_t *children;		/* 0: has ended, or never begun */
	struct sigaction before;	/* of SIGCHLD */
	sigset_t mask;			/* as it was before */
};

static void nothing(int number)
{
	(void)number;
}

/* From now on signals come in sigsuspend() only, so that none comes unseen before it. */
static void signals_hold(struct together *together)
{
	struct sigaction action = { .sa_handler = nothing };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &together->mask);
	sigemptyset(&action.sa_mask);
	sigaction(SIGCHLD, &action, &together->before);
}

static void signals_release(const struct together *together)
{
	sigaction(SIGCHLD, &together->before, NULL);
	sigprocmask(SIG_SETMASK, &together->mask, NULL);
}

static void child_run(const struct together *together, size_t number, pid_t parent)
{
	int error;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signals_release(together);
	/* It may have ended before that. */
	if (getppid() != parent)
		_exit(EINTR);
	error = together->body(together->context, number);
	if (output_finish() && !error)
		error = EIO;
	_exit(error);
}

static void child_start(struct together *together, size_t number)
{
	pid_t parent = getpid(), child;

	fflush(stdout);
	child = fork();
	if (!child)
		child_run(together, number, parent);
	together->children[number] = child > 0 ? child : 0;
	if (child < 0)
		together->ended(together->context, number, errno);
}

static void child_over(struct together *together, pid_t child, int status)
{
	size_t i;

	for (i = 0; i < together->count; i++) {
		if (together->children[i] != child)
			continue;
		together->children[i] = 0;
		together->ended(together->context, i,
				WIFEXITED(status) ? WEXITSTATUS(status) : EINTR);
	}
}

static void children_interrupt(const struct together *together)
{
	size_t i;

	for (i = 0; i < together->count; i++)
		if (together->children[i])
			kill(together->children[i], SIGTERM);
}

/* Until there is none any more. */
static void children_wait(struct together *together)
{
	pid_t child;
	int status;

	while ((child = waitpid(-1, &status, WNOHANG)) >= 0) {
		if (child) {
			child_over(together, child, status);
			continue;
		}
		if (interrupt_seen())
			children_interrupt(together);
		sigsuspend(&together->mask);
	}
}

void together_run(size_t count, int (*body)(void *context, size_t number),
		  void (*ended)(void *context, size_t number, int error), void *context)
{
	struct together together = {
		.body = body, .ended = ended, .context = context, .count = count,
		.children = alloc_array(NULL, count, sizeof(*together.children)),
	};
	size_t i;

	for (i = 0; i < count; i++)
		together.children[i] = 0;
	signals_hold(&together);
	for (i = 0; i < count && !interrupt_seen(); i++)
		child_start(&together, i);
	for (; i < count; i++)
		ended(context, i, EINTR);
	children_wait(&together);
	signals_release(&together);
	free(together.children);
}
