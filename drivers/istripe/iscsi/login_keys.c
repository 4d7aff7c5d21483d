// SPDX-License-Identifier: GPL-2.0
/* The keys of a login response. CHAP's and the operational ones have files of their own. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "iscsi/login.h"
#include "iscsi/login_keys.h"

int istripe_login_fail(struct istripe_login *login, int err, const char *fmt, ...)
{
	va_list args;
	char *c;

	va_start(args, fmt);
	vscnprintf(login->reason, sizeof(login->reason), fmt, args);
	va_end(args);
	for (c = login->reason; *c; c++) {
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
			*c = '?';
	}
	login->refused |= err == -EACCES;
	login->stage = ISTRIPE_LOGIN_ENDED;
	return err;
}

int istripe_login_too_long(struct istripe_login *login)
{
	return istripe_login_fail(login, -EMSGSIZE, "login text does not fit its buffer");
}

/* One way, CHAP serves the target, which may do without. */
static bool login_needs_chap(const struct istripe_login *login)
{
	return login->params.chap && login->params.chap->target_secret_bytes;
}

const char *istripe_login_methods(const struct istripe_login *login)
{
	if (login_needs_chap(login))
		return "CHAP";
	return login->params.chap ? "CHAP,None" : "None";
}

/* Once in a login, and in its first stage. */
static int login_take_method(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	if (login->stage != ISTRIPE_LOGIN_SECURITY)
		return istripe_login_fail(login, -EPROTO,
					  "target sent AuthMethod after the security stage");
	if (login->method_known)
		return istripe_login_fail(login, -EPROTO, "target sent AuthMethod twice");
	login->method_known = true;
	if (istripe_text_value_is(pair, "CHAP") && login->params.chap) {
		login->auth_chap = true;
		return 0;
	}
	if (istripe_text_value_is(pair, ISTRIPE_TEXT_NONE)) {
		if (!login_needs_chap(login))
			return 0;
		return istripe_login_fail(login, -EACCES,
					  "target wants no authentication, CHAP is required");
	}
	if (istripe_text_value_is(pair, ISTRIPE_TEXT_REJECT))
		return istripe_login_fail(login, -EACCES, "target rejected AuthMethod=%s",
					  istripe_login_methods(login));
	return istripe_login_fail(login, -EPROTO, "target chose AuthMethod=%.40s, offered was %s",
				  pair->value, istripe_login_methods(login));
}

/* Section 13.9 wants it once; a target may repeat itself. */
static int login_take_tpgt(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	const struct istripe_login_params *params = &login->params;
	u32 tpgt;

	if (istripe_text_parse_number(pair, 0, U16_MAX, &tpgt))
		return istripe_login_fail(login, -EPROTO, "TargetPortalGroupTag=%.20s is no group",
					  pair->value);
	if (params->tpgt_known && params->tpgt != tpgt)
		return istripe_login_fail(login, -EPROTO,
					  "portal is in portal group %u, expected was %u", tpgt,
					  params->tpgt);
	if (login->tpgt_known && login->tpgt != tpgt)
		return istripe_login_fail(login, -EPROTO, "portal group changed from %u to %u",
					  login->tpgt, tpgt);
	login->tpgt = tpgt;
	login->tpgt_known = true;
	return 0;
}

static int login_take_alias(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	strscpy(login->target_alias, pair->value, sizeof(login->target_alias));
	return 0;
}

/* An address is allowed in any response (section 13.8), but means something in a redirect only. */
static int login_pass_over(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	return 0;
}

struct login_key {
	const char *name;
	int (*take)(struct istripe_login *login, const struct istripe_text_pair *pair);
};

static const struct login_key login_keys[] = {
	{ "AuthMethod", login_take_method },
	{ "TargetPortalGroupTag", login_take_tpgt },
	{ "TargetAlias", login_take_alias },
	{ "TargetAddress", login_pass_over },
};

static int login_take_chap(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	int err;

	if (login->stage != ISTRIPE_LOGIN_SECURITY || !login->auth_chap)
		return istripe_login_fail(login, -EPROTO, "target sent %s without AuthMethod=CHAP",
					  pair->key);
	err = istripe_chap_receive(&login->chap, pair);
	if (err == -ENOENT)
		return istripe_login_fail(login, -EPROTO,
					  "target sent %s, which CHAP does not have", pair->key);
	return err ? istripe_login_fail(login, err, "%s", login->chap.problem) : 0;
}

/* Answering an offer before the operational stage would negotiate the key twice. */
static bool login_too_early(const struct istripe_login *login, const struct istripe_text_pair *pair)
{
	int key = istripe_key_find(pair->key);

	return login->stage == ISTRIPE_LOGIN_SECURITY && key >= 0 &&
	       key != ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH;
}

static int login_take_operational(struct istripe_login *login,
				  const struct istripe_text_pair *pair)
{
	int err;

	if (login_too_early(login, pair))
		return istripe_login_fail(login, -EPROTO, "target sent %s in the security stage",
					  pair->key);
	err = istripe_negotiation_receive(&login->negotiation, pair, &login->writer);
	if (err == -EMSGSIZE)
		return istripe_login_too_long(login);
	if (err == -ENOENT)
		return istripe_login_fail(login, -EPROTO,
					  "target sent %s, which is not a target's key", pair->key);
	return err ? istripe_login_fail(login, err, "%s", login->negotiation.problem) : 0;
}

static int login_take(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(login_keys); i++) {
		if (istripe_text_pair_is(pair, login_keys[i].name))
			return login_keys[i].take(login, pair);
	}
	if (str_has_prefix(pair->key, "CHAP_"))
		return login_take_chap(login, pair);
	return login_take_operational(login, pair);
}

int istripe_login_take_keys(struct istripe_login *login, const char *text, u32 bytes)
{
	struct istripe_text_reader reader;
	struct istripe_text_pair pair;
	int err;

	istripe_text_reader_init(&reader, text, bytes);
	while ((err = istripe_text_next(&reader, &pair)) > 0) {
		err = login_take(login, &pair);
		if (err)
			return err;
	}
	return err ? istripe_login_fail(login, err, "text of a login response is malformed") : 0;
}
