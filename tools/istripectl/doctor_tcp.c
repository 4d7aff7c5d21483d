// SPDX-License-Identifier: GPL-2.0
/* doctor: TCP, against bandwidth and round-trip times. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "fact.h"
#include "place.h"

#define MEGABYTE		1048576
#define TCP_MEM_MAX		0x7ff00000	/* the kernel has it in an int */
#define BITS_PER_BYTE		8
#define RTT_LONG_US		5000	/* reno needs many round trips to fill the link */
#define RTT_RESTART_US		1000	/* a slow start costs several of these */
#define SENT_ENOUGH		10000	/* segments, to judge by */
#define PER_SENT_AGAIN		1000
#define PER_OUT_OF_ORDER	200	/* one loss, and what was on the way behind it */

static bool sysctl_number(const char *name, unsigned int index, long long *value)
{
	char *text = fact_text(place_path("/proc/sys/net/ipv4/%s", name));
	char *word = text ? fact_word(text, index) : NULL;
	bool found = word;

	if (found)
		*value = strtoll(word, NULL, 10);
	free(text);
	free(word);
	return found;
}

/* Buffers */

/* Bytes on the way at full speed, for each connection; 0: a factor is not known. */
static long long bytes_under_way(const struct doctor_path *path)
{
	long long mbit, connections = doctor_setting_number(path, "connections");

	if (!path->rtt_us || !*path->nic ||
	    !fact_number(place_path("/sys/class/net/%s/speed", path->nic), &mbit) || mbit <= 0)
		return 0;
	return mbit * path->rtt_us / BITS_PER_BYTE / (connections > 0 ? connections : 1);
}

/* The least and the first size stay as they are. */
static char *tcp_mem_command(const char *name, long long most)
{
	long long least = 4096, first = 131072;

	sysctl_number(name, 0, &least);
	sysctl_number(name, 1, &first);
	return alloc_printf("sysctl -w net.ipv4.%s=\"%lld %lld %lld\"", name, least, first, most);
}

/* A buffer of @needed bytes is enough; @tcp_mem has what it may become when TCP tunes it. */
static void buffer_check(struct doctor *doctor, const struct doctor_path *path,
			 const char *setting, const char *tcp_mem, long long needed)
{
	long long bytes = doctor_setting_number(path, setting);
	/* Round-trip times differ: what is enough now is not for the next one. */
	long long wanted = needed + bytes_under_way(path) + MEGABYTE - 1;
	char *file = doctor_path_file(doctor, path, setting);
	bool tuned = !bytes;

	wanted -= wanted % MEGABYTE;
	wanted = tuned ? (wanted < TCP_MEM_MAX ? wanted : TCP_MEM_MAX) :
		 doctor_allowed(setting, wanted);
	if (tuned && !sysctl_number(tcp_mem, 2, &bytes))
		doctor_unread(doctor, tcp_mem, 0);
	else if (bytes >= needed || bytes >= wanted)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_printf("%s %s", doctor->subject,
						tuned ? tcp_mem : setting),
			.measured = alloc_printf("%lld", bytes),
			.wanted = alloc_printf("%lld", wanted),
			.next = tuned ? tcp_mem_command(tcp_mem, wanted) :
				alloc_printf("echo %lld > %s", wanted, file),
		},
		"a connection waits for answers, %u us each, with less than the link carries meanwhile",
		path->rtt_us);
	free(file);
}

void doctor_tcp_buffers(struct doctor *doctor, const struct doctor_path *path)
{
	long long bytes = bytes_under_way(path);

	if (!path->live) {
		doctor_skip(doctor, "it is not up");
		return;
	}
	if (!bytes) {
		doctor_skip(doctor, path->rtt_us ? "the speed of the NIC is not known" :
			    "its round-trip time is not known");
		return;
	}
	/* By default (tcp_adv_win_scale) half of a receive buffer is offered to the peer. */
	buffer_check(doctor, path, "receive_buffer_bytes", "tcp_rmem",
		     doctor_setting_number(path, "receive_buffer_bytes") ? bytes : 2 * bytes);
	buffer_check(doctor, path, "send_buffer_bytes", "tcp_wmem", bytes);
}

/* Congestion control */

static char *congestion_of(const struct doctor_path *path)
{
	const char *setting = doctor_setting(path, "congestion_control");

	if (path->measured && *path->tcp.congestion)
		return alloc_text(path->tcp.congestion);
	if (*setting)
		return alloc_text(setting);
	return fact_text(place_path("/proc/sys/net/ipv4/tcp_congestion_control"));
}

/* @why: freed here. */
static void congestion_warn(struct doctor *doctor, const struct doctor_path *path,
			    const char *name, char *why)
{
	char *file = doctor_path_file(doctor, path, "congestion_control");

	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_text(name), .wanted = alloc_text("cubic, or bbr"),
		.next = alloc_printf("echo cubic > %s", file),
	},
	"%s", why);
	free(file);
	free(why);
}

void doctor_congestion(struct doctor *doctor, const struct doctor_path *path)
{
	char *name = congestion_of(path);

	if (!name)
		doctor_unread(doctor, "tcp_congestion_control", 0);
	/* The kernel makes it of dctcp. */
	else if (!strcmp(name, "dctcp-reno"))
		congestion_warn(doctor, path, name,
				alloc_text("the target or the way has no ECN; it is reno"));
	else if (strcmp(name, "reno") && strcmp(name, "dctcp"))
		doctor_pass(doctor);
	else if (!path->rtt_us)
		doctor_skip(doctor, "%s, and the round-trip time is not known", name);
	else if (path->rtt_us < RTT_LONG_US)
		doctor_pass(doctor);
	else
		congestion_warn(doctor, path, name,
				alloc_printf("a loss makes it slow for many round trips of %u us",
					     path->rtt_us));
	free(name);
}

bool doctor_tcp_is_judged(const struct host_tcp *tcp)
{
	return tcp->sent_bytes && tcp->sent_bytes / SENT_ENOUGH >= tcp->segment_bytes;
}

bool doctor_tcp_loses(const struct host_tcp *tcp)
{
	return tcp->sent_again_bytes > tcp->sent_bytes / PER_SENT_AGAIN;
}

static void sent_check(struct doctor *doctor, const struct doctor_path *path)
{
	const struct host_tcp *tcp = &path->tcp;

	if (!doctor_tcp_loses(tcp))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%llu", tcp->sent_again_bytes),
			.wanted = alloc_printf("%llu", tcp->sent_bytes / PER_SENT_AGAIN),
			.next = *path->nic ? alloc_printf("ethtool -S %s", path->nic) :
				alloc_text("nstat -a TcpRetransSegs"),
		},
		"of %llu sent were sent again: packets are lost on the way", tcp->sent_bytes);
}

/* TCP does not see what the target sends again, but counts all that comes behind a lost segment. */
static void received_check(struct doctor *doctor, const struct doctor_path *path)
{
	const struct host_tcp *tcp = &path->tcp;

	if (tcp->out_of_order_bytes <= tcp->received_bytes / PER_OUT_OF_ORDER)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%llu", tcp->out_of_order_bytes),
			.wanted = alloc_printf("%llu", tcp->received_bytes / PER_OUT_OF_ORDER),
			.next = *path->nic ? alloc_printf("ethtool -S %s # then %s", path->nic,
				"the counters of the switch port and of the target") :
				alloc_text("nstat -a TcpExtTCPOFOQueue"),
		},
		"of %llu received came out of order: packets are lost on the way to this host",
		tcp->received_bytes);
}

void doctor_tcp_loss(struct doctor *doctor, const struct doctor_path *path)
{
	const struct host_tcp *tcp = &path->tcp;
	bool sent = doctor_tcp_is_judged(tcp);
	bool received = tcp->received_bytes &&
			tcp->received_bytes / SENT_ENOUGH >= tcp->received_segment_bytes;

	if (!path->measured)
		doctor_skip(doctor, "TCP has no such connection in this network namespace");
	else if (!sent && !received)
		doctor_skip(doctor, "it has sent %llu bytes, and received %llu, only",
			    tcp->sent_bytes, tcp->received_bytes);
	if (sent)
		sent_check(doctor, path);
	if (received)
		received_check(doctor, path);
}

void doctor_slow_start(struct doctor *doctor, const struct doctor_volume *volume)
{
	unsigned int rtt_us = 0;
	long long value;
	size_t i;

	for (i = 0; i < volume->path_count; i++)
		if (volume->paths[i].rtt_us > rtt_us)
			rtt_us = volume->paths[i].rtt_us;
	if (!sysctl_number("tcp_slow_start_after_idle", 0, &value))
		doctor_unread(doctor, "tcp_slow_start_after_idle", 0);
	else if (value && !rtt_us)
		doctor_skip(doctor,
			    "tcp_slow_start_after_idle is %lld, and no round-trip time is known",
			    value);
	else if (!value || rtt_us < RTT_RESTART_US)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_text("tcp_slow_start_after_idle"),
			.measured = alloc_printf("%lld", value), .wanted = alloc_text("0"),
			.next = alloc_text("sysctl -w net.ipv4.tcp_slow_start_after_idle=0"),
		},
		"after each pause a connection needs several round trips, of %u us, to fill the link",
		rtt_us);
}

/* The whole host */

void doctor_tcp_options(struct doctor *doctor)
{
	static const struct {
		const char *name, *why;
	} options[] = {
		{ "tcp_sack", "after a loss all that followed is sent again" },
		{ "tcp_timestamps", "round-trip times are not measured well" },
		{ "tcp_window_scaling", "a connection has at most 64 KiB on the way" },
	};
	long long value;
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (!sysctl_number(options[i].name, 0, &value))
			doctor_unread(doctor, options[i].name, 0);
		else if (value)
			doctor_pass(doctor);
		else
			doctor_warn(doctor, &(struct doctor_warning){
				.subject = alloc_text(options[i].name),
				.measured = alloc_text("0"), .wanted = alloc_text("1"),
				.next = alloc_printf("sysctl -w net.ipv4.%s=1", options[i].name),
			},
			"%s", options[i].why);
	}
}

/* The word behind @name in the line of @text that begins with @line. */
static bool line_number(const char *text, const char *line, const char *name, long long *number)
{
	char *rest = fact_line(text, line);
	const char *at = rest ? strstr(rest, name) : NULL;

	if (at)
		*number = strtoll(at + strlen(name), NULL, 10);
	free(rest);
	return at;
}

void doctor_tcp_memory(struct doctor *doctor)
{
	char *sockets = fact_text(place_path("/proc/net/sockstat"));
	long long used, pressure;

	if (!sockets || !line_number(sockets, "TCP:", " mem ", &used) ||
	    !sysctl_number("tcp_mem", 1, &pressure))
		doctor_unread(doctor, "sockstat or tcp_mem", 0);
	else if (used < pressure)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%lld", used),
			.wanted = alloc_printf("%lld", pressure - 1),
			.next = alloc_printf("sysctl -w net.ipv4.tcp_mem=\"%lld %lld %lld\"",
					     2 * used, 3 * used, 4 * used),
		},
		"TCP makes all windows small and drops what it could keep");
	free(sockets);
}

/* A line of names and one of values, both beginning with TcpExt. */
static bool tcp_counter(const char *text, const char *name, long long *value)
{
	const char *names = strstr(text, "TcpExt:"), *values;
	bool found = false;
	unsigned int i;

	values = names ? strstr(names + 1, "\nTcpExt:") : NULL;
	for (i = 1; values && !found; i++) {
		char *word = fact_word(names, i), *number = fact_word(values + 1, i);

		found = word && number && !strcmp(word, name);
		if (found)
			*value = strtoll(number, NULL, 10);
		/* The words of the second line follow those of the first one. */
		if (!word || !number || !strcmp(word, "TcpExt:"))
			values = NULL;
		free(word);
		free(number);
	}
	return found;
}

void doctor_tcp_pressure(struct doctor *doctor)
{
	char *text = fact_text(place_path("/proc/net/netstat"));
	long long times;

	if (!text || !tcp_counter(text, "TCPMemoryPressures", &times))
		doctor_unread(doctor, "TCPMemoryPressures", 0);
	else if (!times)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%lld", times), .wanted = alloc_text("0"),
			.next = alloc_text("sysctl net.ipv4.tcp_mem; grep TCP: /proc/net/sockstat"),
		},
		"TCP has made all windows small, and has dropped data");
	free(text);
}
