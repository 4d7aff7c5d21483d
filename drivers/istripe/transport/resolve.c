// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/dns_resolver.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include <istripe/reason.h>
#include "transport/resolve.h"
#include "transport/session.h"

#define NAME_BYTES_MIN	3	/* of dns_query() */
#define ANSWER_MAX_AGE	(60 * HZ)

/* One question. */
struct istripe_resolve {
	struct work_struct work;
	refcount_t refs;	/* the login's, and the work's */
	struct net *net;
	bool ipv6;		/* to be asked for first */
	bool any;		/* then for the other family */
	bool done;		/* the rest is the work's until then */
	int error;
	unsigned long done_at;	/* jiffies */
	char address[ISTRIPE_RESOLVED_BYTES];
	char host[ISTRIPE_REDIRECT_HOST_MAX + 1];
};

static struct workqueue_struct *resolve_wq;
static DECLARE_WAIT_QUEUE_HEAD(resolve_waiting);

void istripe_resolve_interrupt(void)
{
	wake_up_all(&resolve_waiting);
}

void istripe_resolve_put(struct istripe_resolve *resolve)
{
	if (!resolve || !refcount_dec_and_test(&resolve->refs))
		return;
	put_net(resolve->net);
	kfree(resolve);
}

/*
 * With a type each family has a key of its own: the kernel finds a key by type and name, and the
 * one without a type is what file systems ask for.
 */
static int resolve_ask(struct istripe_resolve *resolve, bool ipv6)
{
	char *text = NULL;
	int ret;

	if (!IS_ENABLED(CONFIG_DNS_RESOLVER))
		return -EOPNOTSUPP;
	/* The program runs in the first namespace, where a name may have another address. */
	if (!net_eq(resolve->net, &init_net))
		return -EADDRNOTAVAIL;
	ret = dns_query(resolve->net, ipv6 ? "aaaa" : "a", resolve->host, strlen(resolve->host),
			ipv6 ? "ipv6" : "ipv4", &text, NULL, false);
	if (ret < 0)
		return ret;
	/* Somebody else may have asked for a list. */
	text[strcspn(text, ",")] = '\0';
	ret = *text ? strscpy(resolve->address, text, sizeof(resolve->address)) : -ENODATA;
	kfree(text);
	return min(ret, 0);
}

static void resolve_work(struct work_struct *work)
{
	struct istripe_resolve *resolve = container_of(work, struct istripe_resolve, work);

	resolve->error = resolve_ask(resolve, resolve->ipv6);
	if (resolve->error && resolve->any)
		resolve->error = resolve_ask(resolve, !resolve->ipv6);
	resolve->done_at = jiffies;
	/* Pairs with the acquire in resolve_is_done(). */
	smp_store_release(&resolve->done, true);
	istripe_resolve_interrupt();
	istripe_resolve_put(resolve);
	/* istripe_resolve_exit() waits for what is left of this function. */
	module_put(THIS_MODULE);
}

static struct istripe_resolve *resolve_begin(const struct istripe_session_params *params,
					     const char *host, int family)
{
	struct istripe_resolve *resolve = kzalloc(sizeof(*resolve), GFP_NOIO);

	if (!resolve)
		return NULL;
	INIT_WORK(&resolve->work, resolve_work);
	refcount_set(&resolve->refs, 2);
	resolve->net = get_net(params->net);
	resolve->ipv6 = family == AF_INET6;
	resolve->any = params->way.source_address.ss_family == AF_UNSPEC;
	strscpy(resolve->host, host, sizeof(resolve->host));
	__module_get(THIS_MODULE);
	queue_work(resolve_wq, &resolve->work);
	return resolve;
}

static bool resolve_answers(const struct istripe_resolve *resolve, const char *host, int family)
{
	return !resolve->error && !strcmp(resolve->host, host) &&
	       time_before(jiffies, resolve->done_at + ANSWER_MAX_AGE) &&
	       resolve->ipv6 == (family == AF_INET6);
}

static bool resolve_is_done(const struct istripe_resolve *resolve)
{
	/* Pairs with the release in resolve_work(). */
	return smp_load_acquire(&resolve->done);
}

static bool resolve_await(const struct istripe_resolve *resolve,
			  const struct istripe_session *session, unsigned long deadline)
{
	wait_event_idle_timeout(resolve_waiting, resolve_is_done(resolve) ||
				test_bit(ISTRIPE_SESSION_INTERRUPTED, &session->flags),
				max((long)(deadline - jiffies), 1L));
	return resolve_is_done(resolve);
}

static int resolve_fail(const struct istripe_resolve *resolve,
			const struct istripe_session *session, const char *host,
			struct istripe_reason *why)
{
	const char *family = resolve->any ? "address" :
			     resolve->ipv6 ? "IPv6 address" : "IPv4 address";

	if (test_bit(ISTRIPE_SESSION_INTERRUPTED, &session->flags))
		return istripe_reason_fail(why, -EINTR, "interrupted");
	if (!resolve_is_done(resolve))
		return istripe_reason_fail(why, -ETIMEDOUT,
					   "the target redirects to a name, and its address is not found within login_timeout_ms: %.60s",
					   host);
	if (resolve->error == -EOPNOTSUPP)
		return istripe_reason_fail(why, -EPROTO,
					   "the target redirects to a name, and this kernel resolves none, without CONFIG_DNS_RESOLVER: %.60s",
					   host);
	if (resolve->error == -EADDRNOTAVAIL)
		return istripe_reason_fail(why, -EPROTO,
					   "the target redirects to a name, and the kernel resolves none for another network namespace than the first: %.60s",
					   host);
	if (strlen(host) < NAME_BYTES_MIN)
		return istripe_reason_fail(why, -EPROTO,
					   "the target redirects to a name, and the kernel resolves none of less than %u characters: %.60s",
					   NAME_BYTES_MIN, host);
	return istripe_reason_fail(why, -EHOSTUNREACH,
				   "the target redirects to a name, and no %s of it is found (the package keyutils does that): %.60s",
				   family, host);
}

/* A question whose answer is late is waited for by the next login: there is one at a time. */
int istripe_resolve(const struct istripe_session *session,
		    const struct istripe_session_params *params, const char *host, int family,
		    char *address, struct istripe_reason *why)
{
	u32 timeout_ms = READ_ONCE(params->path->timers.login_timeout_ms);
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms);
	struct istripe_resolve *resolve = params->buffers->resolve;

	if (resolve && !resolve_await(resolve, session, deadline))
		return resolve_fail(resolve, session, host, why);
	if (!resolve || !resolve_answers(resolve, host, family)) {
		istripe_resolve_put(resolve);
		resolve = resolve_begin(params, host, family);
		params->buffers->resolve = resolve;
	}
	if (!resolve)
		return istripe_reason_fail(why, -ENOMEM, "no memory to resolve a name");
	if (!resolve_await(resolve, session, deadline) || resolve->error)
		return resolve_fail(resolve, session, host, why);
	strscpy(address, resolve->address, ISTRIPE_RESOLVED_BYTES);
	params->buffers->resolve = NULL;
	istripe_resolve_put(resolve);
	return 0;
}

int istripe_resolve_init(void)
{
	resolve_wq = alloc_workqueue("istripe_resolve", WQ_UNBOUND, 0);
	return resolve_wq ? 0 : -ENOMEM;
}

void istripe_resolve_exit(void)
{
	destroy_workqueue(resolve_wq);
}
