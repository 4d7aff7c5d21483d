/* SPDX-License-Identifier: GPL-2.0 */
/* Other programs, and what they print. */
#ifndef ISTRIPECTL_RUN_H
#define ISTRIPECTL_RUN_H

#include <stdbool.h>

#include "fault.h"

#define RUN_MISSING	127	/* exit code: there is no such program */

struct run {
	int code;		/* exit code */
	char *out, *err;	/* what it has printed */
};

/**
 * run_child() - do something in a process of its own
 * @body: called in the child with @context; returns its exit code, if at all
 * @context: for @body
 * @code: exit code, set on success
 *
 * A signal to this tool ends the child, too.
 *
 * Return: 0; -errno: -EINTR a signal has ended the child.
 */
int run_child(int (*body)(void *context), void *context, int *code);

/**
 * run_child_beside() - run_child(), and do something meanwhile
 * @body: called in the child with @context
 * @beside: called in this process, every few milliseconds, until it returns false or the child has
 *	ended; of a child that ends soon it may never be called
 * @context: for both
 * @code: exit code, set on success
 *
 * Return: as run_child().
 */
int run_child_beside(int (*body)(void *context), bool (*beside)(void *context), void *context,
		     int *code);

/**
 * run_program() - run a program to its end, without a shell
 * @argv: its words, the program being the first one; ends with NULL
 * @prepare: called in the child before the program, or NULL; the child ends with 1 unless it
 *	returns 0, and what it has printed to standard error is in @run
 * @context: for @prepare
 * @run: filled on success, for run_free()
 * @fault: set on failure
 *
 * A signal to this tool ends the program, too. It dumps no core, which could hold a secret.
 *
 * Return: 0, whatever the exit code of the program is; -errno, -EINTR interrupted.
 */
int run_program(char *const argv[], int (*prepare)(void *context), void *context,
		struct run *run, struct fault *fault);

/**
 * run_program_whole() - run_program(), and no signal to this tool, or to both, ends the program
 * @argv: as there: iscsiadm, say, whose lock would stay behind, for which all others wait in vain
 * @prepare: as there
 * @context: for @prepare
 * @run: filled on success, also when a signal has come meanwhile; for run_free()
 * @fault: set on failure
 *
 * A signal meanwhile is answered with a line of what it waits for.
 *
 * Return: as run_program(); -EINTR: one had come before, and the program has not run.
 */
int run_program_whole(char *const argv[], int (*prepare)(void *context), void *context,
		      struct run *run, struct fault *fault);

/**
 * run_interrupted() - say that a signal has come
 * @program: what it has kept from being run, or from counting
 * @fault: set
 *
 * Return: -EINTR.
 */
int run_interrupted(const char *program, struct fault *fault);

/**
 * run_missing() - say that there is no such program
 * @program: its name
 * @package: the package that has it
 * @fault: set
 *
 * Return: -ENOPKG.
 */
int run_missing(const char *program, const char *package, struct fault *fault);

/**
 * run_add_errors() - say what a program has printed to standard error
 * @run: what it has printed
 * @fault: gets its lines
 */
void run_add_errors(const struct run *run, struct fault *fault);

/**
 * run_fault() - say that a program has failed, with what it has said itself
 * @run: what it has printed
 * @what: what it was to do
 * @fault: set
 *
 * Return: -EIO.
 */
int run_fault(const struct run *run, const char *what, struct fault *fault);

/**
 * run_free() - forget what a program has printed, secrets included
 * @run: empty afterwards
 */
void run_free(struct run *run);

#endif
