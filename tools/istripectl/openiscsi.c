// SPDX-License-Identifier: GPL-2.0
/*
 * The table of open-iscsi's settings.
 *
 * All names of iscsid.conf and of node and discovery records have a row. The manual page repeats
 * it, and a test compares them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <istripe/settings.h>
#include "alloc.h"
#include "known.h"
#include "openiscsi.h"
#include "records.h"
#include "text.h"
#include "value.h"

enum take {
	TAKE_NOT,
	TAKE_WAY,	/* target, portal, interface: see node.c */
	TAKE_METHOD,	/* whether there is CHAP at all */
	TAKE_CHAP,
	TAKE_ALGORITHMS,	/* of CHAP, too */
	TAKE_TEXT,
	TAKE_OF_LEG,	/* a number of each leg, here of all of them */
	TAKE_SECONDS,	/* here in milliseconds */
	TAKE_TIMEOUT,	/* the same, 0 says nothing */
	TAKE_TOS,
};

struct row {
	const char *theirs;	/* may end in '*' */
	const char *ours;	/* names with blanks between them; "-": none */
	enum take take;
	bool of_volume;		/* else of a path */
	const char *left;	/* open-iscsi's default, for which the default here is taken */
	const char *text;	/* the unit, or why there is none */
};

#define DISCOVERY	"options of istripectl discover; timers are those of iscsiadm"
#define DISCOVERYD	"istripe has nothing like it; import --take-over sets it to No"
#define RESET		"no such step here: after LOGICAL UNIT RESET the session ends"
#define PATH(_theirs, _ours, _take, _left, _text) \
	{ _theirs, _ours, _take, false, _left, _text }
#define VOLUME(_theirs, _ours, _take, _left, _text) \
	{ _theirs, _ours, _take, true, _left, _text }
#define NOT(_theirs, _text) { _theirs, "-", TAKE_NOT, false, NULL, _text }

static const struct row rows[] = {
	PATH("node.name", "target_name", TAKE_WAY, NULL, "the same"),
	PATH("node.conn[0].address", "portal", TAKE_WAY, NULL, "host names become addresses"),
	PATH("node.conn[0].port", "portal", TAKE_WAY, NULL, "behind the address"),
	PATH("iface.net_ifacename", "nic", TAKE_WAY, NULL, "the same"),
	PATH("iface.hwaddress", "nic", TAKE_WAY, NULL, "the interface that has this address"),
	PATH("iface.ipaddress", "source_address", TAKE_WAY, NULL, "the same"),
	VOLUME("iface.initiatorname", "initiator_name", TAKE_TEXT, NULL,
	       "empty: that of initiatorname.iscsi"),
	VOLUME("node.session.timeo.replacement_timeout", "recovery_timeout_ms", TAKE_SECONDS, NULL,
	       "seconds; less than 0: for ever"),
	VOLUME("node.session.queue_depth", "queue_depth", TAKE_OF_LEG, "32",
	       "of each leg there and of all here, so times the number of legs, at most 1024"),
	PATH("node.session.nr_sessions", "connections", TAKE_TEXT, NULL,
	     "sessions of the path"),
	PATH("node.session.auth.authmethod", "chap_user", TAKE_METHOD, NULL,
	     "None counts only without password and password_in, as there"),
	PATH("node.session.auth.username", "chap_user", TAKE_CHAP, NULL, "the same"),
	PATH("node.session.auth.password", "chap_secret", TAKE_CHAP, NULL, "in a file"),
	PATH("node.session.auth.username_in", "chap_mutual_user", TAKE_CHAP, NULL, "the same"),
	PATH("node.session.auth.password_in", "chap_mutual_secret", TAKE_CHAP, NULL, "in a file"),
	PATH("node.session.auth.chap_algs", "chap_algorithms", TAKE_ALGORITHMS, NULL,
	     "the same, for CHAP; their order is not kept, the strongest one is first"),
	PATH("node.session.iscsi.InitialR2T", "initial_r2t", TAKE_TEXT, NULL, "the same"),
	PATH("node.session.iscsi.ImmediateData", "immediate_data", TAKE_TEXT, NULL, "the same"),
	PATH("node.session.iscsi.FirstBurstLength", "first_burst_length", TAKE_TEXT, NULL,
	     "bytes, at most MaxBurstLength, which is not left out with more than 1048576"),
	PATH("node.session.iscsi.MaxBurstLength", "max_burst_length", TAKE_TEXT, "16776192",
	     "bytes"),
	PATH("node.session.iscsi.MaxOutstandingR2T", "max_outstanding_r2t", TAKE_TEXT, "1",
	     "the same"),
	PATH("node.session.iscsi.DefaultTime2Wait", "default_time2wait", TAKE_TEXT, NULL,
	     "seconds"),
	PATH("node.session.iscsi.DefaultTime2Retain", "default_time2retain", TAKE_TEXT, "0",
	     "seconds"),
	PATH("node.conn[0].iscsi.MaxRecvDataSegmentLength", "max_recv_data_segment_length",
	     TAKE_TEXT, NULL, "bytes"),
	PATH("node.conn[0].iscsi.HeaderDigest", "header_digest", TAKE_TEXT, NULL, "the same"),
	PATH("node.conn[0].iscsi.DataDigest", "data_digest", TAKE_TEXT, NULL, "the same"),
	PATH("node.conn[0].timeo.login_timeout", "login_timeout_ms", TAKE_TIMEOUT, NULL, "seconds"),
	PATH("node.conn[0].timeo.noop_out_interval", "ping_interval_ms", TAKE_SECONDS, NULL,
	     "seconds; 0: none"),
	PATH("node.conn[0].timeo.noop_out_timeout", "ping_timeout_ms", TAKE_TIMEOUT, NULL,
	     "seconds"),
	PATH("node.conn[0].tcp.window_size", "receive_buffer_bytes send_buffer_bytes", TAKE_TEXT,
	     "524288", "bytes"),
	PATH("node.conn[0].tcp.type_of_service", "dscp", TAKE_TOS, NULL,
	     "the upper six bits, so divided by four"),
	PATH("node.conn[0].tcp.congestion_control", "congestion_control", TAKE_TEXT, NULL,
	     "the same"),
	NOT("node.tpgt", "the target says it at login"),
	NOT("node.startup", "istripectl save --boot; import --take-over sets it to manual"),
	NOT("node.conn[0].startup", "as node.startup: open-iscsi logs in if either says so"),
	NOT("node.leading_login", "all paths of a volume log in"),
	NOT("node.discovery_address", "where the record is from"),
	NOT("node.discovery_port", "where the record is from"),
	NOT("node.discovery_type", "where the record is from"),
	NOT("node.session.initial_cmdsn", "it is 1"),
	NOT("node.session.initial_login_retry_max", "istripectl up --wait; later without end"),
	NOT("node.session.reopen_max", "logins are tried again without end"),
	NOT("node.session.sess_reopen_log_freq", "the same failure again is not logged"),
	NOT("node.session.conn_reopen_log_freq", "as node.session.sess_reopen_log_freq"),
	NOT("node.session.cmds_max", "the command window of the target is the only bound"),
	NOT("node.session.xmit_thread_priority", "the submitter of a request sends it, no thread"),
	NOT("node.session.scan", "a volume has the LUNs that it names, none is scanned for"),
	NOT("node.session.err_timeo.abort_timeout",
	    "10 s; command_timeout_ms is the time before ABORT TASK"),
	NOT("node.session.err_timeo.lu_reset_timeout",
	    "10 s, longer after each that is not answered"),
	NOT("node.session.err_timeo.tgt_reset_timeout", RESET),
	NOT("node.session.err_timeo.host_reset_timeout", RESET),
	NOT("node.session.iscsi.FastAbort",
	    "R2Ts are answered until the target has dropped the task, as with No"),
	NOT("node.session.iscsi.MaxConnections", "open-iscsi has 1; here: connections, multi=mcs"),
	NOT("node.session.iscsi.ERL", "error recovery level 0 is the only one, as there"),
	NOT("node.conn[0].timeo.logout_timeout", "2 s"),
	NOT("node.conn[0].timeo.auth_timeout", "part of login_timeout_ms"),
	NOT("node.conn[0].iscsi.MaxXmitDataSegmentLength",
	    "the target's limit holds, up to 262144 bytes"),
	NOT("node.conn[0].iscsi.IFMarker", "markers are obsolete (RFC 7143)"),
	NOT("node.conn[0].iscsi.OFMarker", "markers are obsolete (RFC 7143)"),
	NOT("iface.iscsi_ifacename", "names the record"),
	NOT("iface.transport_name", "only tcp: records of other transports are left out"),
	NOT("iface.*", "of adapters that do iSCSI in hardware"),
	NOT("iscsid.*", "of the daemon, which istripe does without"),
	NOT("discovery.sendtargets.use_discoveryd", DISCOVERYD),
	NOT("discovery.isns.use_discoveryd", DISCOVERYD),
	NOT("discovery.sendtargets.auth.*", "istripectl discover --chap"),
	NOT("discovery.*", DISCOVERY),
};

#define ROWS	(sizeof(rows) / sizeof(*rows))

void openiscsi_table(void)
{
	size_t i;

	for (i = 0; i < ROWS; i++) {
		const struct row *row = &rows[i];

		printf("%-46s %s: %s", row->theirs, row->ours, row->text);
		printf(row->left ? "; %s is left out\n" : "%s\n", row->left ? row->left : "");
	}
}

/* Whether @name is among the words of @names. */
static bool has_word(const char *names, const char *name)
{
	size_t bytes = strlen(name), word;

	for (; *names; names += word + (names[word] == ' ')) {
		word = strcspn(names, " ");
		if (word == bytes && !strncmp(names, name, bytes))
			return true;
	}
	return false;
}

static const struct row *row_find(const char *name)
{
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (rows[i].take > TAKE_METHOD && has_word(rows[i].ours, name))
			return &rows[i];
	return NULL;
}

const char *openiscsi_name(const char *name)
{
	const struct row *row = row_find(name);

	return row ? row->theirs : NULL;
}

/* Ranges: those that are not in the driver's table are rules of its login keys. */

static const struct known keys[] = {
	{ .name = "connections", .min = 1, .max = ISTRIPE_CONNECTIONS_MAX },
	{ .name = "max_outstanding_r2t", .min = 1, .max = 16 },
	{ .name = "first_burst_length", .min = 512, .max = 16777215 },
	{ .name = "max_burst_length", .min = 512, .max = 16777215 },
	{ .name = "max_recv_data_segment_length", .min = 512, .max = 16777215 },
};

static const struct known *range_find(const char *name)
{
	const struct known *known = known_anywhere(name, NULL);
	size_t i;

	if (known && known->max)
		return known;
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static int range_check(const struct row *row, const struct settings *record, const char *name,
		       const char *value, struct fault *fault)
{
	const struct known *range = range_find(name);
	bool secret = setting_is_secret(name);
	long long number = strlen(value);
	char *words;

	if (!range || (!secret && value_number(value, &number) &&
		       number >= range->min && number <= range->max) ||
	    (secret && number >= range->min && number <= range->max) ||
	    (range->kind == KNOWN_BUFFER && !number))
		return 0;
	words = record_words(record);
	fault_set(fault, -ERANGE, "%s = %s of record %s: %s is %lld to %lld%s", row->theirs,
		  secret ? "..." : settings_value(record, row->theirs), words, name, range->min,
		  range->max, secret ? " bytes" : "");
	fault_add(fault, "next: iscsiadm -m node %s -o update -n %s -v VALUE", words, row->theirs);
	free(words);
	return -ERANGE;
}

/* Values */

/* Text that is no number is left as it is, for range_check() to refuse. */
static char *number_scale(const char *text, long long times, long long by)
{
	long long number;

	if (!value_number(text, &number) || __builtin_mul_overflow(number, times, &number))
		return alloc_text(text);
	if (number % by)
		return alloc_printf("%s/%lld", text, by);
	return alloc_printf("%lld", number / by);
}

/* The strongest one first, as the module has them; others are for it to refuse. */
static char *algorithms_order(const char *text)
{
	static const char *const known[] = { "SHA3-256", "SHA256", "SHA1", "MD5" };
	char *ordered = alloc_text(""), *longer;
	bool same;
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!strstr(text, known[i]))
			continue;
		longer = alloc_printf("%s%s%s", ordered, *ordered ? "," : "", known[i]);
		free(ordered);
		ordered = longer;
	}
	same = strlen(ordered) == strlen(text);
	if (!same)
		free(ordered);
	return same ? ordered : alloc_text(text);
}

/* open-iscsi uses CHAP with a password also when the method is None. */
static bool has_chap(const struct settings *record)
{
	return !strcmp(settings_value(record, "node.session.auth.authmethod"), "CHAP") ||
	       *settings_value(record, "node.session.auth.password") ||
	       *settings_value(record, "node.session.auth.password_in");
}

/* Empty: the default. */
static char *value_take(const struct row *row, const struct settings *record)
{
	const char *text = settings_value(record, row->theirs);
	long long number;

	if ((row->left && !strcmp(row->left, text)) ||
	    ((row->take == TAKE_CHAP || row->take == TAKE_ALGORITHMS) && !has_chap(record)) ||
	    (row->take == TAKE_TIMEOUT && !strcmp(text, "0")))
		return alloc_text("");
	switch (row->take) {
	case TAKE_SECONDS:
	case TAKE_TIMEOUT:
		if (value_number(text, &number) && number < 0)
			return alloc_text("-1");
		return number_scale(text, 1000, 1);
	case TAKE_ALGORITHMS:
		return algorithms_order(text);
	case TAKE_TOS:
		return number_scale(text, 1, 4);
	default:
		return alloc_text(text);
	}
}

/* The part of each leg in @value; with '/' if it is no whole number. */
static char *of_each_leg(const char *name, const char *value, size_t legs)
{
	long long number, most = range_find(name)->max;

	/* More than the most has become the most. */
	if (value_number(value, &number) && number == most)
		return alloc_printf("%lld", (most + (long long)legs - 1) / (long long)legs);
	return number_scale(value, 1, legs);
}

char *openiscsi_value(const char *name, const char *value, size_t legs)
{
	const struct row *row = row_find(name);
	long long number;
	char *theirs;

	if (row->take == TAKE_SECONDS && value_number(value, &number) && number < 0)
		theirs = alloc_text("-1");
	else if (row->take == TAKE_OF_LEG)
		theirs = of_each_leg(name, value, legs);
	else if (row->take == TAKE_SECONDS || row->take == TAKE_TIMEOUT)
		theirs = number_scale(value, 1, 1000);
	else
		theirs = number_scale(value, row->take == TAKE_TOS ? 4 : 1, 1);
	/*
	 * A part of a second; a default that is left out; 0 of a timeout that says nothing; all
	 * algorithms that there are.
	 */
	if (strchr(theirs, '/') || (row->left && !strcmp(row->left, theirs)) ||
	    (row->take == TAKE_TIMEOUT && !strcmp(theirs, "0")) ||
	    (row->take == TAKE_ALGORITHMS && !*theirs)) {
		free(theirs);
		return NULL;
	}
	return theirs;
}

static int row_take(const struct row *row, const struct settings *record,
		    struct settings *settings, struct fault *fault)
{
	char *value = value_take(row, record), *names = alloc_text(row->ours), *rest = names, *name;
	int ret = 0;

	while (!ret && (name = strsep(&rest, " "))) {
		if (*value)
			ret = range_check(row, record, name, value, fault);
		if (!ret)
			settings_put(settings, name, value);
	}
	if (row->take == TAKE_CHAP)
		explicit_bzero(value, strlen(value));
	free(names);
	free(value);
	return ret;
}

static void bursts_warn(const struct settings *record, long long first, const char *most)
{
	char *words = record_words(record);
	struct fault warning;

	fault_set(&warning, 0,
		  "warning: record %s: node.session.iscsi.FirstBurstLength = %lld is more than MaxBurstLength: %s is taken for both, as by open-iscsi",
		  words, first, most);
	fault_print(&warning);
	free(words);
}

/* As open-iscsi logs in: a first burst is never longer than others. */
static void bursts_fit(const struct settings *record, struct settings *settings)
{
	static const char first_name[] = "first_burst_length", most_name[] = "max_burst_length";
	const char *text = settings_value(settings, most_name);
	long long first, most;

	if (!value_number(settings_value(settings, first_name), &first))
		return;
	if (!*text && value_number(known_default(KNOWN_PATH, most_name), &most) && first > most) {
		settings_put(settings, most_name, row_find(most_name)->left);
		text = settings_value(settings, most_name);
	}
	if (!value_number(text, &most) || first <= most)
		return;
	bursts_warn(record, first, text);
	settings_put(settings, first_name, text);
}

static int rows_take(const struct settings *record, bool of_volume, struct settings *settings,
		     struct fault *fault)
{
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < ROWS; i++)
		if (rows[i].take > TAKE_METHOD && rows[i].of_volume == of_volume &&
		    settings_find(record, rows[i].theirs))
			ret = row_take(&rows[i], record, settings, fault);
	return ret;
}

int openiscsi_path(const struct settings *record, struct settings *settings, struct fault *fault)
{
	int ret = rows_take(record, false, settings, fault);

	if (!ret)
		bursts_fit(record, settings);
	return ret;
}

/* A name of an interface is set there, for all records that are bound to it. */
static void update_add(const struct row *row, const struct settings *record, struct fault *fault)
{
	bool of_iface = !strncmp(row->theirs, "iface.", strlen("iface."));
	char *words = of_iface ? text_quoted(settings_value(record, "iface.iscsi_ifacename")) :
		      record_words(record);

	fault_add(fault, "next: iscsiadm -m %s %s -o update -n %s -v VALUE",
		  of_iface ? "iface -I" : "node", words, row->theirs);
	free(words);
}

static int differ(const struct row *row, const struct settings *a, const struct settings *b,
		  struct fault *fault)
{
	const struct settings *const both[] = { a, b };
	size_t i;

	fault_set(fault, -EINVAL, "%s differs, and a volume has one %s:", row->theirs, row->ours);
	for (i = 0; i < 2; i++) {
		const char *value = settings_value(both[i], row->theirs);
		char *words = record_words(both[i]);

		fault_add(fault, "  %s in record %s", *value ? value : "empty", words);
		free(words);
	}
	update_add(row, b, fault);
	return -EINVAL;
}

int openiscsi_volume(const struct settings *record, const struct settings *first,
		     struct settings *settings, struct fault *fault)
{
	size_t i;

	for (i = 0; first && i < ROWS; i++)
		if (rows[i].of_volume && strcmp(settings_value(record, rows[i].theirs),
						settings_value(first, rows[i].theirs)))
			return differ(&rows[i], first, record, fault);
	return rows_take(record, true, settings, fault);
}

bool openiscsi_of_all_legs(struct settings *settings, const char *name, size_t legs)
{
	const struct row *row = row_find(name);
	long long number, most;
	char *text;

	if (legs < 2 || !row || row->take != TAKE_OF_LEG ||
	    !value_number(settings_value(settings, name), &number))
		return false;
	most = range_find(name)->max;
	if (__builtin_mul_overflow(number, (long long)legs, &number) || number > most)
		number = most;
	text = alloc_printf("%lld", number);
	settings_put(settings, name, text);
	free(text);
	return true;
}
