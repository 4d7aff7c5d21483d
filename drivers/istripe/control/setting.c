// SPDX-License-Identifier: GPL-2.0
/*
 * Values as text: the kinds of settings and what they have in common. Every parser writes the
 * value last, so that a bad text leaves it as it was.
 */
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <compat/hex.h>

#include <istripe/params.h>
#include "control/setting.h"
#include "iscsi/chap.h"
#include "transport/socket.h"

#define GIVEN_BYTES	64	/* of a bad value, repeated in the log */
#define ALLOWED_BYTES	128	/* what is allowed, in words */
#define SECRET_GOOD_BYTES	12	/* 96 bits, RFC 7143 section 9.2.1 */
#define ISID_TYPE_MASK	0xc0
#define ISID_TYPE_NONE	0xc0	/* reserved, RFC 7143 section 11.12.5 */

/* Without one trailing newline; control characters and NULs are refused. */
static int setting_text(char *text, size_t size, const char *page, size_t count)
{
	size_t i;

	if (count && page[count - 1] == '\n')
		count--;
	if (count >= size)
		return -EINVAL;
	for (i = 0; i < count; i++)
		if (iscntrl(page[i]) && isascii(page[i]))
			return -EINVAL;
	memcpy(text, page, count);
	text[count] = '\0';
	return 0;
}

/* Only root may write, but @page may still hold what a terminal obeys. */
static void setting_refuse(const struct istripe_setting *setting, const char *label,
			   const char *page, size_t count)
{
	const struct istripe_setting_kind *kind = setting->kind;
	char allowed[ALLOWED_BYTES];

	if (count && page[count - 1] == '\n')
		count--;
	if (kind->allow)
		kind->allow(setting, allowed, sizeof(allowed));
	else
		scnprintf(allowed, sizeof(allowed), kind->range, setting->min, setting->max);
	if (kind->secret)
		pr_err("%s: %s: the given %zu bytes are refused, allowed is %s\n", label,
		       setting->name, count, allowed);
	else
		pr_err("%s: %s: \"%*pE\"%s is refused, allowed is %s\n", label, setting->name,
		       (int)min_t(size_t, count, GIVEN_BYTES), page,
		       count > GIVEN_BYTES ? " ..." : "", allowed);
}

ssize_t istripe_setting_store(const struct istripe_setting *setting, const char *label,
			      void *value, const char *page, size_t count)
{
	char text[ISTRIPE_SETTING_TEXT_BYTES];
	int ret;

	ret = setting_text(text, sizeof(text), page, count);
	if (!ret)
		ret = setting->kind->parse(setting, text, value);
	if (setting->kind->secret)
		memzero_explicit(text, sizeof(text));
	if (ret) {
		setting_refuse(setting, label, page, count);
		return -EINVAL;
	}
	if (setting->kind->warn)
		setting->kind->warn(setting, label, value);
	return count;
}

ssize_t istripe_setting_show(const struct istripe_setting *setting, const void *value,
			     char *page)
{
	char text[ISTRIPE_SETTING_TEXT_BYTES];
	int ret;

	if (!setting->kind->format)
		return -EPERM;
	ret = setting->kind->format(setting, value, text, sizeof(text));
	if (ret < 0)
		return ret;
	return sysfs_emit(page, "%s\n", text);
}

/* Numbers */

static s64 number_load(const struct istripe_setting *setting, const void *value)
{
	if (setting->size == sizeof(u16))
		return *(const u16 *)value;
	/* Not ?:, which would make both unsigned. */
	if (setting->min < 0)
		return *(const s32 *)value;
	return *(const u32 *)value;
}

/* Timers are read while they change: one store, no tearing. */
static void number_save(const struct istripe_setting *setting, s64 number, void *value)
{
	if (setting->size == sizeof(u16))
		WRITE_ONCE(*(u16 *)value, number);
	else
		WRITE_ONCE(*(u32 *)value, number);
}

static int number_read(const struct istripe_setting *setting, const char *text, s64 *number)
{
	s64 given;

	if (kstrtos64(text, 10, &given) || given < setting->min || given > setting->max)
		return -EINVAL;
	*number = given;
	return 0;
}

static int number_parse(const struct istripe_setting *setting, const char *text, void *value)
{
	s64 number;

	if (number_read(setting, text, &number))
		return -EINVAL;
	number_save(setting, number, value);
	return 0;
}

static int number_format(const struct istripe_setting *setting, const void *value,
			 char *buf, size_t size)
{
	return scnprintf(buf, size, "%lld", number_load(setting, value));
}

const struct istripe_setting_kind istripe_setting_number = {
	.parse = number_parse,
	.format = number_format,
	.range = "a number from %lld to %lld",
};

/* Buffers: 0 when TCP tunes them. */
static int buffer_parse(const struct istripe_setting *setting, const char *text, void *value)
{
	if (strcmp(text, "0"))
		return number_parse(setting, text, value);
	number_save(setting, 0, value);
	return 0;
}

const struct istripe_setting_kind istripe_setting_buffer = {
	.parse = buffer_parse,
	.format = number_format,
	.range = "0 or a number from %lld to %lld",
};

/* A power of two; that somebody has written it counts, and an empty text takes that back. */
static int chunk_parse(const struct istripe_setting *setting, const char *text, void *value)
{
	bool given = *text;
	s64 number;

	if (number_read(setting, given ? text : setting->initial, &number) ||
	    !is_power_of_2(number))
		return -EINVAL;
	*(struct istripe_chunk *)value = (struct istripe_chunk) { number, given };
	return 0;
}

const struct istripe_setting_kind istripe_setting_chunk = {
	.parse = chunk_parse,
	.format = number_format,
	.range = "a power of two from %lld to %lld, or nothing for the default",
};

/* Keys of RFC 7143 section 13 */

/* Only as it reads back: no hexadecimal numbers. */
static int key_parse(const struct istripe_setting *setting, const char *text, void *value)
{
	char shown[ISTRIPE_KEY_TEXT_BYTES];
	u32 given;

	if (istripe_key_parse(setting->key, text, &given) ||
	    istripe_key_format(setting->key, given, shown, sizeof(shown)) < 0 ||
	    strcmp(text, shown))
		return -EINVAL;
	if (setting->max && given > setting->max)
		return -EINVAL;
	*(u32 *)value = given;
	return 0;
}

static int key_format(const struct istripe_setting *setting, const void *value,
		      char *buf, size_t size)
{
	return istripe_key_format(setting->key, *(const u32 *)value, buf, size);
}

static void key_allow(const struct istripe_setting *setting, char *buf, size_t size)
{
	if (setting->max)
		scnprintf(buf, size, "a number from 1 to %lld", setting->max);
	else
		strscpy(buf, istripe_key_range(setting->key), size);
}

const struct istripe_setting_kind istripe_setting_key = {
	.parse = key_parse,
	.format = key_format,
	.allow = key_allow,
};

/* Text; an empty one means that nothing is set. */

static int text_parse(const struct istripe_setting *setting, const char *text, void *value)
{
	bool (*valid)(const char *text) = setting->kind->valid;

	if (strlen(text) >= setting->size || (*text && valid && !valid(text)))
		return -EINVAL;
	strscpy(value, text, setting->size);
	return 0;
}

static int text_format(const struct istripe_setting *setting, const void *value,
		       char *buf, size_t size)
{
	return scnprintf(buf, size, "%s", (const char *)value);
}

static void text_allow(const struct istripe_setting *setting, char *buf, size_t size)
{
	scnprintf(buf, size, "at most %zu bytes of text", setting->size - 1);
}

const struct istripe_setting_kind istripe_setting_text = {
	.parse = text_parse,
	.format = text_format,
	.allow = text_allow,
};

/* RFC 7143 section 4.2.7: a type, then anything but spaces and list separators. */
static bool iscsi_name_valid(const char *name)
{
	if (strncasecmp(name, "iqn.", 4) && strncasecmp(name, "eui.", 4) &&
	    strncasecmp(name, "naa.", 4))
		return false;
	return name[4] && !strpbrk(name, " ,;=");
}

const struct istripe_setting_kind istripe_setting_iscsi_name = {
	.parse = text_parse,
	.valid = iscsi_name_valid,
	.format = text_format,
	.range = "an iSCSI name of at most 223 bytes that begins with iqn., eui. or naa.",
};

const struct istripe_setting_kind istripe_setting_nic = {
	.parse = text_parse,
	.valid = dev_valid_name,
	.format = text_format,
	.range = "the name of a network interface, or nothing for any",
};

/* Of those that the writer's network namespace may use. */
static bool congestion_control_valid(const char *name)
{
	return !istripe_socket_check_congestion_control(current->nsproxy->net_ns, name);
}

const struct istripe_setting_kind istripe_setting_congestion_control = {
	.parse = text_parse,
	.valid = congestion_control_valid,
	.format = text_format,
	.range = "a congestion control of this kernel's TCP, or nothing for the default",
};

/* ISID: six bytes, all zero when the driver derives it. */

static int isid_parse(const struct istripe_setting *setting, const char *text, void *value)
{
	u8 isid[6] = {};

	if (*text && (strlen(text) != 2 * sizeof(isid) || hex2bin(isid, text, sizeof(isid)) ||
		      !memchr_inv(isid, 0, sizeof(isid))))
		return -EINVAL;
	if ((isid[0] & ISID_TYPE_MASK) == ISID_TYPE_NONE)
		return -EINVAL;
	memcpy(value, isid, sizeof(isid));
	return 0;
}

static int isid_format(const struct istripe_setting *setting, const void *value,
		       char *buf, size_t size)
{
	if (!memchr_inv(value, 0, setting->size))
		return scnprintf(buf, size, "%s", "");
	return scnprintf(buf, size, "%*phN", (int)setting->size, value);
}

const struct istripe_setting_kind istripe_setting_isid = {
	.parse = isid_parse,
	.format = isid_format,
	.range = "12 hexadecimal digits of a type that RFC 7143 defines, or nothing",
};

/* CHAP_A: a mask, 0 when everything that the kernel can compute is offered. */

static const u8 chap_algorithms[] = {
	ISTRIPE_CHAP_SHA3_256, ISTRIPE_CHAP_SHA256, ISTRIPE_CHAP_SHA1, ISTRIPE_CHAP_MD5,
};

static u32 algorithm_mask(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(chap_algorithms); i++)
		if (!strcmp(name, istripe_chap_algorithm_name(chap_algorithms[i])))
			return ISTRIPE_CHAP_MASK(chap_algorithms[i]);
	return 0;
}

static int algorithms_parse(const struct istripe_setting *setting, const char *text,
			    void *value)
{
	char copy[ISTRIPE_SETTING_TEXT_BYTES], *rest = copy, *name;
	u32 mask = 0;

	strscpy(copy, text, sizeof(copy));
	while (*text && (name = strsep(&rest, ","))) {
		u32 bit = algorithm_mask(name);

		if (!bit || (mask & bit))
			return -EINVAL;
		mask |= bit;
	}
	*(u32 *)value = mask;
	return 0;
}

static int algorithms_format(const struct istripe_setting *setting, const void *value,
			     char *buf, size_t size)
{
	u32 mask = *(const u32 *)value;
	int used = 0;
	size_t i;

	*buf = '\0';
	for (i = 0; i < ARRAY_SIZE(chap_algorithms); i++)
		if (mask & ISTRIPE_CHAP_MASK(chap_algorithms[i]))
			used += scnprintf(buf + used, size - used, "%s%s", used ? "," : "",
					  istripe_chap_algorithm_name(chap_algorithms[i]));
	return used;
}

const struct istripe_setting_kind istripe_setting_algorithms = {
	.parse = algorithms_parse,
	.format = algorithms_format,
	.range = "a list of SHA3-256, SHA256, SHA1 and MD5, or nothing for all",
};

/* Choices: an enum, by the names of its values. */

static int choice_parse(const struct istripe_setting *setting, const char *text, void *value)
{
	int found = __sysfs_match_string(setting->names, setting->name_count, text);

	if (found < 0)
		return -EINVAL;
	WRITE_ONCE(*(u32 *)value, found);
	return 0;
}

static int choice_format(const struct istripe_setting *setting, const void *value,
			 char *buf, size_t size)
{
	return scnprintf(buf, size, "%s", setting->names[READ_ONCE(*(const u32 *)value)]);
}

static void choice_allow(const struct istripe_setting *setting, char *buf, size_t size)
{
	size_t i, used = 0;

	for (i = 0; i < setting->name_count; i++)
		used += scnprintf(buf + used, size - used, "%s%s",
				  !i ? "" : i + 1 < setting->name_count ? ", " : " or ",
				  setting->names[i]);
}

const struct istripe_setting_kind istripe_setting_choice = {
	.parse = choice_parse,
	.format = choice_format,
	.allow = choice_allow,
};

/* The value is a whole struct istripe_chap_identity; only its secret changes. */
static int chap_secret_parse(const struct istripe_setting *setting, const char *text,
			     void *value)
{
	struct istripe_chap_identity *identity = value;
	size_t bytes = strlen(text);

	if (bytes && (bytes < setting->min || bytes > setting->max))
		return -EINVAL;
	memzero_explicit(identity->secret, sizeof(identity->secret));
	memcpy(identity->secret, text, bytes);
	identity->secret_bytes = bytes;
	return 0;
}

/* A recorded login is enough to try secrets, without the target. */
static void chap_secret_warn(const struct istripe_setting *setting, const char *label,
			     const void *value)
{
	const struct istripe_chap_identity *identity = value;

	if (identity->secret_bytes && identity->secret_bytes < SECRET_GOOD_BYTES)
		pr_warn("%s: %s: a secret of %u bytes is easily found from a recorded login: RFC 7143 asks for %u or more\n",
			label, setting->name, identity->secret_bytes, SECRET_GOOD_BYTES);
}

const struct istripe_setting_kind istripe_setting_chap_secret = {
	.parse = chap_secret_parse,
	.range = "%lld to %lld bytes of text, or nothing to clear it",
	.secret = true,
	.warn = chap_secret_warn,
};
