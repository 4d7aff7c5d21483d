/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP sockets: made for the writeback of dirty pages, tuned by the path's socket settings.
 *
 * These settings may change at any time, with istripe_params_write(). They are read as a whole,
 * with istripe_params_read(): the caller of istripe_socket_tune() does so under the lock that
 * protects the socket, so the last one to tune it has seen the last change.
 */
#ifndef ISTRIPE_TRANSPORT_SOCKET_H
#define ISTRIPE_TRANSPORT_SOCKET_H

#include <istripe/params.h>

struct net;
struct socket;

/*
 * Makes a TCP socket in @net, which the caller keeps, for @family AF_INET or AF_INET6;
 * sock_release() ends it. Sleeps, but allocates nothing that the caller's scope forbids, and waits
 * for no lock that a processor which goes off-line holds. Returns 0 or an error of the stack.
 */
int istripe_socket_create(struct net *net, int family, struct socket **sock);

/*
 * Changes what differs from @wanted; @tuned is what @sock has, all zero for a new one. A setting
 * that the network stack refuses is logged for @label and left as it is: such a socket is better
 * than none. Sleeps, under the lock that protects @sock, without its socket lock.
 */
void istripe_socket_tune(struct socket *sock, const char *label,
			 const struct istripe_socket_params *wanted,
			 struct istripe_socket_params *tuned);

/**
 * istripe_socket_check_congestion_control() - does the kernel have this algorithm
 * @net: network namespace of the caller
 * @name: as in net.ipv4.tcp_available_congestion_control; empty for the namespace's default
 *
 * Loads its module if necessary, for which the caller needs CAP_NET_ADMIN.
 *
 * Context: process, sleeps until user space has loaded a module: under no lock that recovery
 * takes.
 * Return: 0; -ENOENT there is none; -EPERM the caller may not; -ENOMEM.
 */
int istripe_socket_check_congestion_control(struct net *net, const char *name);

/**
 * istripe_socket_hold_congestion_control() - no login has to load a module that is on the lost disk
 * @net: kept by the caller meanwhile
 * @name: of the algorithm to keep loaded; empty: none any more
 * @holder: NULL at first; stays as it is without success
 * Context: as istripe_socket_check_congestion_control().
 */
void istripe_socket_hold_congestion_control(struct net *net, const char *name,
					    struct socket **holder);

/**
 * istripe_params_read() - read settings that may change meanwhile, all at a time
 * @to: filled
 * @from: one setting, or several
 * @bytes: their size
 * Context: any but hard interrupts.
 */
void istripe_params_read(void *to, const void *from, size_t bytes);

/**
 * istripe_params_write() - change a setting that others may read meanwhile
 * @to: the setting
 * @from: its new value
 * @bytes: its size; a word is written by one store, for those who read it without the lock
 * Context: any but hard interrupts.
 */
void istripe_params_write(void *to, const void *from, size_t bytes);

int istripe_socket_init(void);

/* No other sockets are left. */
void istripe_socket_exit(void);

#endif
