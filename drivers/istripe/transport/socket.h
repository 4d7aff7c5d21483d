/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A TCP socket of ours: made for the way of dirty pages to their disk, tuned as the
 * administrator says.
 *
 * A path's socket settings may change at any time. They are read and written as a whole,
 * by istripe_socket_params_copy() only. Each socket remembers what it has been
 * tuned to; whoever tunes it holds the lock that protects the socket and reads the
 * settings under it: then the last one to tune it has seen the last change.
 */
#ifndef ISTRIPE_TRANSPORT_SOCKET_H
#define ISTRIPE_TRANSPORT_SOCKET_H

#include <istripe/params.h>

struct net;
struct socket;

/**
 * istripe_socket_create() - make a TCP socket
 * @net: network namespace; the caller keeps it
 * @family: AF_INET or AF_INET6
 * @sock: set on success
 *
 * sock_release() is its end.
 *
 * Context: process, sleeps; nothing is allocated that the caller's scope forbids, and no
 * lock is waited for that a processor which goes off-line holds.
 * Return: 0 or the error of the network stack.
 */
int istripe_socket_create(struct net *net, int family, struct socket **sock);

/**
 * istripe_socket_tune() - change what is not as it should be
 * @sock: in any state
 * @label: whose it is, for the log
 * @wanted: the path's settings
 * @tuned: what @sock has been tuned to; all zero for a new one
 *
 * What the network stack refuses is said in the log and left as it is: a socket that is
 * not tuned is better than none.
 *
 * Context: process, sleeps; the lock that protects @sock, but not its own lock.
 */
void istripe_socket_tune(struct socket *sock, const char *label,
			 const struct istripe_socket_params *wanted,
			 struct istripe_socket_params *tuned);

/**
 * istripe_socket_check_congestion_control() - does the kernel have this algorithm
 * @net: network namespace of whoever asks
 * @name: as in net.ipv4.tcp_available_congestion_control; empty for the namespace's default
 *
 * Loads its module when it must, for which the caller needs CAP_NET_ADMIN.
 *
 * Context: process, sleeps until user space has loaded a module: no lock that recovery
 * takes.
 * Return: 0; -ENOENT there is none; -EPERM the caller may not; -ENOMEM.
 */
int istripe_socket_check_congestion_control(struct net *net, const char *name);

/**
 * istripe_socket_params_copy() - read or change a path's socket settings, all at a time
 * @to: filled, or the path's
 * @from: the path's, or what they are from now on
 *
 * Context: any but hard interrupts.
 */
void istripe_socket_params_copy(struct istripe_socket_params *to,
				const struct istripe_socket_params *from);

/**
 * istripe_socket_init() - make what all sockets share
 *
 * Context: module init.
 * Return: 0 or the error of the network stack.
 */
int istripe_socket_init(void);

/**
 * istripe_socket_exit() - undo istripe_socket_init()
 *
 * Context: module exit, no other sockets left.
 */
void istripe_socket_exit(void);

#endif
