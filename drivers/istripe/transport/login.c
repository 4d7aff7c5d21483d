// SPDX-License-Identifier: GPL-2.0
#include <crypto/hash.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <trace/events/istripe.h>

#include <istripe/reason.h>
#include "iscsi/error.h"
#include "transport/conn.h"
#include "transport/inject.h"
#include "transport/login.h"
#include "transport/resolve.h"
#include "transport/socket.h"

static const char *const hash_names[ISTRIPE_CHAP_ALGORITHMS] = {
	[ISTRIPE_CHAP_MD5] = "md5",
	[ISTRIPE_CHAP_SHA1] = "sha1",
	[ISTRIPE_CHAP_SHA256] = "sha256",
	[ISTRIPE_CHAP_SHA3_256] = "sha3-256",
};

static bool chap_supported(void *ctx, u8 algorithm)
{
	struct istripe_login_buffers *buffers = ctx;

	if (algorithm >= ISTRIPE_CHAP_ALGORITHMS)
		return false;
	/* Pairs with the release in istripe_chap_hashes_add(). */
	return smp_load_acquire(&buffers->hashes->of[algorithm]);
}

static int chap_digest(void *ctx, u8 algorithm, u8 id, const u8 *secret, u32 secret_len,
		       const u8 *challenge, u32 challenge_len, u8 *out)
{
	struct istripe_login_buffers *buffers = ctx;
	SHASH_DESC_ON_STACK(desc, buffers->hashes->of[algorithm]);
	int ret;

	desc->tfm = buffers->hashes->of[algorithm];
	ret = crypto_shash_init(desc) ?:
	      crypto_shash_update(desc, &id, sizeof(id)) ?:
	      crypto_shash_update(desc, secret, secret_len) ?:
	      crypto_shash_finup(desc, challenge, challenge_len, out);
	shash_desc_zero(desc);
	return ret;
}

static void chap_random(void *ctx, u8 *buf, u32 len)
{
	get_random_bytes(buf, len);
}

static const struct istripe_chap_ops chap_ops = {
	.supported = chap_supported,
	.digest = chap_digest,
	.random = chap_random,
};

struct istripe_chap_config istripe_login_chap_config(const struct istripe_credentials *chap)
{
	return (struct istripe_chap_config) {
		.name = chap->own.name,
		.secret = chap->own.secret,
		.secret_bytes = chap->own.secret_bytes,
		.target_name = chap->target.name,
		.target_secret = chap->target.secret,
		.target_secret_bytes = chap->target.secret_bytes,
		.algorithms = chap->algorithms ?: ISTRIPE_CHAP_MASK_ALL,
	};
}

/* -ENOMEM: a lack of memory must not lead to a weaker hash. */
int istripe_chap_hashes_add(struct istripe_chap_hashes *hashes,
			    const struct istripe_credentials *chap)
{
	u32 wanted = istripe_login_chap_config(chap).algorithms & ~hashes->asked;
	struct crypto_shash *hash;
	u32 i;

	for (i = 0; chap->own.secret_bytes && i < ISTRIPE_CHAP_ALGORITHMS; i++) {
		if (!hash_names[i] || !(wanted & ISTRIPE_CHAP_MASK(i)))
			continue;
		hash = crypto_alloc_shash(hash_names[i], 0, 0);
		if (hash == ERR_PTR(-ENOMEM))
			return -ENOMEM;
		hashes->asked |= ISTRIPE_CHAP_MASK(i);
		/* A hash that this kernel lacks (FIPS mode, no module) is not offered. */
		smp_store_release(&hashes->of[i], IS_ERR(hash) ? NULL : hash);
	}
	return 0;
}

void istripe_chap_hashes_free(struct istripe_chap_hashes *hashes)
{
	u32 i;

	for (i = 0; i < ISTRIPE_CHAP_ALGORITHMS; i++)
		crypto_free_shash(hashes->of[i]);
}

struct istripe_login_buffers *
istripe_login_buffers_alloc(const struct istripe_chap_hashes *hashes)
{
	/* kmalloc() would round the size up to a power of two. */
	struct istripe_login_buffers *buffers = vzalloc(sizeof(*buffers));

	if (buffers)
		buffers->hashes = hashes;
	return buffers;
}

void istripe_login_buffers_free(struct istripe_login_buffers *buffers)
{
	if (!buffers)
		return;
	istripe_resolve_put(buffers->resolve);
	kvfree_sensitive(buffers, sizeof(*buffers));
}

/* As long as they are the same, hashes that have been left out stay so. */
void istripe_login_take(struct istripe_login_buffers *buffers,
			const struct istripe_path_params *path)
{
	istripe_params_read(&buffers->next, &path->chap, sizeof(buffers->next));
	if (memcmp(&buffers->credentials, &buffers->next, sizeof(buffers->next))) {
		buffers->credentials = buffers->next;
		buffers->chap = istripe_login_chap_config(&buffers->credentials);
	}
	memzero_explicit(&buffers->next, sizeof(buffers->next));
}

static long login_time_left(unsigned long deadline)
{
	long left = (long)(deadline - jiffies);

	return max(left, 1L);
}

static int login_send(struct istripe_conn *conn, const struct iscsi_login_req *bhs,
		      const char *text, u32 text_bytes, unsigned long deadline)
{
	static const u8 pad[ISCSI_PAD_LEN];
	struct kvec parts[] = {
		{ .iov_base = (void *)bhs, .iov_len = sizeof(*bhs) },
		{ .iov_base = (void *)text, .iov_len = text_bytes },
		{ .iov_base = (void *)pad, .iov_len = istripe_framing_pad_bytes(text_bytes) },
	};
	size_t bytes = parts[0].iov_len + parts[1].iov_len + parts[2].iov_len;
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	int ret;

	if (istripe_inject(ISTRIPE_INJECT_LOGIN))
		return -ECONNRESET;
	conn->sock->sk->sk_sndtimeo = login_time_left(deadline);
	ret = kernel_sendmsg(conn->sock, &msg, parts, ARRAY_SIZE(parts), bytes);
	if (ret < 0)
		return ret == -EAGAIN ? -ETIMEDOUT : ret;
	if (ret != bytes)
		return -ETIMEDOUT;
	conn->bytes_sent += bytes;
	conn->pdus_sent++;
	trace_istripe_pdu_send(conn->session->label, conn->cid, bhs->opcode & ISCSI_OPCODE_MASK,
			       be32_to_cpu((__force __be32)bhs->itt),
			       be32_to_cpu(bhs->cmdsn), text_bytes);
	return 0;
}

static int login_receive_bytes(struct istripe_conn *conn, void *to, u32 bytes,
			       unsigned long deadline)
{
	struct kvec part = { .iov_base = to, .iov_len = bytes };
	struct msghdr msg = {};
	int ret;

	if (!bytes)
		return 0;
	conn->sock->sk->sk_rcvtimeo = login_time_left(deadline);
	ret = kernel_recvmsg(conn->sock, &msg, &part, 1, bytes, MSG_WAITALL);
	if (ret == bytes) {
		conn->bytes_received += bytes;
		return 0;
	}
	if (ret == -EAGAIN || time_after_eq(jiffies, deadline))
		return -ETIMEDOUT;
	return ret < 0 ? ret : -ECONNRESET;
}

static int login_receive(struct istripe_conn *conn, struct iscsi_hdr *bhs, char *segment,
			 u32 *text_bytes, unsigned long deadline)
{
	int ret = login_receive_bytes(conn, bhs, sizeof(*bhs), deadline);

	if (ret)
		return ret;
	*text_bytes = ntoh24(bhs->dlength);
	if (bhs->hlength || *text_bytes > ISTRIPE_LOGIN_SEGMENT_BYTES)
		return -EMSGSIZE;
	conn->pdus_received++;
	trace_istripe_pdu_receive(conn->session->label, conn->cid, bhs->opcode & ISCSI_OPCODE_MASK,
				  be32_to_cpu((__force __be32)bhs->itt),
				  be32_to_cpu(bhs->statsn), *text_bytes);
	return login_receive_bytes(conn, segment, ALIGN(*text_bytes, ISCSI_PAD_LEN), deadline);
}

/* LIO closes the connection when it wants CHAP and none is offered. */
static void login_lost_why(const struct istripe_login *login, int error, struct istripe_reason *why)
{
	bool hung_up = error == -ECONNRESET && login->requests == 1 && !login->params.chap;

	if (error == -ETIMEDOUT)
		istripe_reason_set(why, "login: the target does not answer (%pe)", ERR_PTR(error));
	else
		istripe_reason_set(why, "login: connection lost: %s (%pe)%s",
				   istripe_error_words(error), ERR_PTR(error),
				   hung_up ? "; no chap_secret is set, and it may want CHAP" : "");
}

static int login_request(struct istripe_conn *conn, struct istripe_login_buffers *buffers,
			 unsigned long deadline, struct istripe_reason *why)
{
	struct istripe_login *login = &buffers->login;
	struct iscsi_login_req request;
	struct iscsi_hdr response;
	const char *text;
	u32 bytes;
	int ret;

	ret = istripe_login_request(login, &request, &text, &bytes);
	if (ret)
		return istripe_reason_fail(why, ret, "login: %s", login->reason);
	ret = login_send(conn, &request, text, bytes, deadline);
	if (!ret)
		ret = login_receive(conn, &response, buffers->segment, &bytes, deadline);
	if (ret == -EMSGSIZE)
		return istripe_reason_fail(why, -EPROTO,
					   "login: the target sends %u bytes and %u of AHS", bytes,
					   response.hlength * 4);
	if (ret) {
		login_lost_why(login, ret, why);
		return ret;
	}
	ret = istripe_login_response(login, &response, buffers->segment, bytes);
	if (ret < 0)
		istripe_reason_set(why, "login: %s", login->reason);
	return ret;
}

static int login_begin(const struct istripe_conn *conn, const struct istripe_session_params *params)
{
	struct istripe_login_buffers *buffers = params->buffers;
	struct istripe_keys offer = params->path->offer;
	struct istripe_login_params login_params = {
		.initiator_name = params->initiator_name,
		.target_name = params->path->target_name,
		.cid = conn->cid,
		.cmd_sn = 1,
		.tpgt = params->tpgt,
		.prefer_ipv6 = conn->remote_address.ss_family == AF_INET6,
		.offer = &offer,
		.chap = buffers->credentials.own.secret_bytes ? &buffers->chap : NULL,
		.chap_ops = &chap_ops,
		.chap_ctx = buffers,
	};

	offer.value[ISTRIPE_KEY_MAX_CONNECTIONS] = params->connections;
	memcpy(login_params.isid, params->isid, sizeof(login_params.isid));
	if (conn->cid) {
		login_params.tpgt = conn->session->tpgt;
		login_params.tsih = conn->session->tsih;
		login_params.itt = ISTRIPE_SLOT_LOGIN;
		login_params.cmd_sn = conn->session->cmd_sn;
		login_params.session = &conn->session->negotiation.result;
	}
	return istripe_login_init(&buffers->login, &login_params, buffers->text);
}

int istripe_conn_login(struct istripe_conn *conn, const struct istripe_session_params *params,
		       struct istripe_reason *why)
{
	struct istripe_login_buffers *buffers = params->buffers;
	struct istripe_login *login = &buffers->login;
	unsigned long deadline = jiffies +
		msecs_to_jiffies(READ_ONCE(params->path->timers.login_timeout_ms));
	int ret = login_begin(conn, params);

	if (ret)
		return istripe_reason_fail(why, ret, "login: %s", login->reason);
	istripe_conn_set_state(conn, ISTRIPE_CONN_IN_LOGIN);
	do {
		ret = login_request(conn, buffers, deadline, why);
	} while (ret == ISTRIPE_LOGIN_SEND_NEXT);
	if (login->refused && !conn->cid)
		set_bit(ISTRIPE_SESSION_REFUSED, &conn->session->flags);
	/* Leaving out hashes (istripe_login_with_other_hash()) has not helped. */
	if (ret < 0)
		buffers->chap = istripe_login_chap_config(&buffers->credentials);
	if (ret != ISTRIPE_LOGIN_DONE)
		return ret;
	conn->exp_stat_sn = login->exp_stat_sn;
	conn->keys = login->negotiation.result;
	istripe_rx_init(conn);
	istripe_conn_transmit_init(conn);
	istripe_conn_set_state(conn, ISTRIPE_CONN_LOGGED_IN);
	return ISTRIPE_LOGIN_DONE;
}

bool istripe_login_with_other_hash(const struct istripe_session_params *params)
{
	struct istripe_login_buffers *buffers = params->buffers;
	const struct istripe_login *login = &buffers->login;
	u32 left = istripe_login_hashes_left(login);

	if (!left)
		return false;
	buffers->chap.algorithms = left;
	if (login->chap.state == ISTRIPE_CHAP_OFFERED)
		pr_info_ratelimited("%s: %s in answer to a list of CHAP hashes, which Linux before 3.15 cannot read: once more with MD5 alone\n",
				    params->label, login->reason);
	else
		pr_info_ratelimited("%s: %s with SHA256, which Linux's tgt takes for SHA1: once more without it\n",
				    params->label, login->reason);
	return true;
}
