// SPDX-License-Identifier: GPL-2.0
/* Other programs: their output goes to memory, never to a file. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "descriptors.h"
#include "interrupt.h"
#include "run.h"

#define LOOK_US	5000

/* Looks at it as long as @beside has to do. */
static pid_t child_look(pid_t child, int *status, bool (*beside)(void *context), void *context)
{
	pid_t ended = waitpid(child, status, beside ? WNOHANG : 0);

	while (!ended && beside(context)) {
		usleep(LOOK_US);
		ended = waitpid(child, status, WNOHANG);
	}
	return ended ? ended : waitpid(child, status, 0);
}

static int child_wait(pid_t child, bool (*beside)(void *context), void *context, int *code)
{
	int status, ret = 0;

	while (child_look(child, &status, beside, context) < 0)
		if (errno != EINTR) {
			ret = -errno;
			break;
		}
	interrupt_child(0);
	if (!ret && !WIFEXITED(status))
		ret = -EINTR;
	if (!ret)
		*code = WEXITSTATUS(status);
	return ret;
}

/* @whole: no signal ends it, neither one to this process nor one to both. */
static int child_run(int (*body)(void *context), bool (*beside)(void *context), void *context,
		     bool whole, int *code)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		return -errno;
	if (!child) {
		if (whole)
			interrupt_block();
		interrupt_release();
		descriptors_restore();
		_exit(body(context));
	}
	if (!whole)
		interrupt_child(child);
	return child_wait(child, beside, context, code);
}

int run_child(int (*body)(void *context), void *context, int *code)
{
	return run_child_beside(body, NULL, context, code);
}

int run_child_beside(int (*body)(void *context), bool (*beside)(void *context), void *context,
		     int *code)
{
	return child_run(body, beside, context, false, code);
}

struct program {
	char *const *argv;
	int (*prepare)(void *context);
	void *context;
	int out, err;
	bool waits;	/* that has been said */
};

static int program_exec(void *context)
{
	const struct program *program = context;
	/* 0 would not keep a core dump from a program that core_pattern pipes it to. */
	const struct rlimit core = { 1, 1 };

	/* Fails where the limit is 0 for good. */
	setrlimit(RLIMIT_CORE, &core);
	/* Messages are read: they have to be in one language. */
	if (dup2(program->out, STDOUT_FILENO) < 0 || dup2(program->err, STDERR_FILENO) < 0 ||
	    setenv("LC_ALL", "C", 1) || (program->prepare && program->prepare(program->context)))
		return 1;
	execvp(program->argv[0], program->argv);
	return RUN_MISSING;
}

/* iscsiadm waits for its lock, which a killed one leaves behind. */
static bool program_mention(void *context)
{
	struct program *program = context;
	struct fault said;

	if (program->waits || !interrupt_seen())
		return true;
	fault_set(&said, 0, "interrupted; waits for %s to end first", program->argv[0]);
	fault_print(&said);
	program->waits = true;
	return true;
}

static char *output_read(int fd)
{
	off_t bytes = lseek(fd, 0, SEEK_END), got = 0;
	char *text = alloc_array(NULL, bytes > 0 ? bytes + 1 : 1, 1);

	while (got < bytes) {
		ssize_t more = pread(fd, text + got, bytes - got, got);

		if (more <= 0)
			break;
		got += more;
	}
	text[got] = '\0';
	return text;
}

static int program_run(char *const argv[], int (*prepare)(void *context), void *context,
		       bool whole, struct run *run, struct fault *fault)
{
	struct program program = {
		.argv = argv, .prepare = prepare, .context = context,
		.out = memfd_create("out", MFD_CLOEXEC), .err = memfd_create("err", MFD_CLOEXEC),
	};
	int ret = program.out < 0 || program.err < 0 ? -errno : 0;

	memset(run, 0, sizeof(*run));
	if (!ret)
		ret = child_run(program_exec, whole ? program_mention : NULL, &program, whole,
				&run->code);
	if (ret == -EINTR && !interrupt_seen())
		ret = -EIO;
	if (ret == -EINTR) {
		run_interrupted(argv[0], fault);
	} else if (ret) {
		fault_set(fault, ret, "%s: %s", argv[0], strerror(-ret));
	} else {
		run->out = output_read(program.out);
		run->err = output_read(program.err);
	}
	if (program.out >= 0)
		close(program.out);
	if (program.err >= 0)
		close(program.err);
	return ret;
}

int run_program(char *const argv[], int (*prepare)(void *context), void *context,
		struct run *run, struct fault *fault)
{
	return program_run(argv, prepare, context, false, run, fault);
}

int run_program_whole(char *const argv[], int (*prepare)(void *context), void *context,
		      struct run *run, struct fault *fault)
{
	memset(run, 0, sizeof(*run));
	return interrupt_seen() ? run_interrupted(argv[0], fault) :
	       program_run(argv, prepare, context, true, run, fault);
}

int run_interrupted(const char *program, struct fault *fault)
{
	return fault_set(fault, -EINTR, "%s: interrupted", program);
}

int run_missing(const char *program, const char *package, struct fault *fault)
{
	return fault_set(fault, -ENOPKG, "%s is not installed\nnext: install the package %s",
			 program, package);
}

void run_add_errors(const struct run *run, struct fault *fault)
{
	char *copy = alloc_text(run->err), *rest = copy, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			fault_add(fault, "%s", line);
	free(copy);
}

int run_fault(const struct run *run, const char *what, struct fault *fault)
{
	fault_set(fault, -EIO, "%s failed with exit code %d", what, run->code);
	run_add_errors(run, fault);
	return -EIO;
}

void run_free(struct run *run)
{
	alloc_wipe(run->out);
	alloc_wipe(run->err);
	memset(run, 0, sizeof(*run));
}
