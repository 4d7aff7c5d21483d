/* SPDX-License-Identifier: GPL-2.0 */
/* Somebody wants the tool to end: it does so without leaving halves behind. */
#ifndef ISTRIPECTL_INTERRUPT_H
#define ISTRIPECTL_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * interrupt_catch() - from now on SIGINT, SIGTERM and SIGHUP are only noted, SIGPIPE is ignored
 */
void interrupt_catch(void);

/**
 * interrupt_release() - in a child: they end the process again
 */
void interrupt_release(void);

/**
 * interrupt_block() - in a child: they wait until its end, also when it becomes another program
 */
void interrupt_block(void);

/**
 * interrupt_seen() - whether one has come
 *
 * Return: whether it has.
 */
bool interrupt_seen(void);

/**
 * interrupt_hold() - whether those that come, or have come, are overlooked for now
 * @hold: while something is put back that must not stay half done
 */
void interrupt_hold(bool hold);

/**
 * interrupt_child() - a process that is killed when one comes
 * @child: the process, 0 for none any more
 */
void interrupt_child(pid_t child);

#endif
