// SPDX-License-Identifier: GPL-2.0
/* report: all that others need to find a fault, in one archive, without secrets. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "archive.h"
#include "command.h"
#include "conf.h"
#include "fact.h"
#include "host_net.h"
#include "interrupt.h"
#include "klog.h"
#include "live.h"
#include "place.h"
#include "power.h"
#include "records.h"
#include "run.h"
#include "tree.h"
#include "volumes.h"

#define COMMAND_SECONDS	60	/* a program that hangs is left out */
#define DEPTH_MAX	12
#define NICS_MAX	64
#define SELF		"istripectl"

struct report {
	struct archive archive;
	struct file_names volumes;
	bool named;			/* they were, on the command line; else they are all */
	struct records records;
	char *nics[NICS_MAX];
	size_t nic_count;
};

/* Programs */

static int limit_set(void *context)
{
	alarm(*(const unsigned int *)context);
	return 0;
}

/* Splits @line at blanks; this program calls itself, wherever it is installed. For free(). */
static char **words_split(char *line)
{
	char **words = NULL, *word;
	size_t count = 0;

	do {
		word = strsep(&line, " ");
		*alloc_append(words, count) = word;
	} while (word);
	if (!strcmp(words[0], SELF))
		words[0] = (char *)"/proc/self/exe";
	return words;
}

/* Output is for @out; what is wrong with the program is noted. */
static void program_print(struct report *report, FILE *out, const char *line, bool heading)
{
	unsigned int seconds = COMMAND_SECONDS;
	char *copy = alloc_text(line), **words = words_split(copy), *why;
	/* After so many seconds it waits for iscsid, or for its lock, and has none. */
	bool whole = !strcmp(words[0], "iscsiadm");
	struct fault fault = { 0 };
	struct run run = { 0 };
	int ret;

	ret = whole ? run_program_whole(words, limit_set, &seconds, &run, &fault) :
	      run_program(words, limit_set, &seconds, &run, &fault);
	if (ret) {
		archive_error(&report->archive, line, "ended by a signal, or could not be run");
	} else {
		if (heading && run.code != RUN_MISSING)
			fprintf(out, "$ %s\n", line);
		fputs(run.out, out);
		why = alloc_printf("exit code %d%s%s", run.code, *run.err ? ": " : "", run.err);
		if (run.code == RUN_MISSING)
			archive_error(&report->archive, line, "there is no such program");
		else if (*run.err || (run.code && !*run.out))
			archive_error(&report->archive, line, why);
		free(why);
	}
	run_free(&run);
	free(words);
	free(copy);
}

/* One program; its output alone is the file. */
static int program_put(struct report *report, const char *name, const char *line,
		       struct fault *fault)
{
	struct page page;

	page_begin(&page);
	program_print(report, page.out, line, false);
	return page_end(&report->archive, &page, name, fault);
}

/* istripectl, of the volumes that the report is about: all those of the kernel without a name. */
static int self_put(struct report *report, const char *name, const char *words,
		    struct fault *fault)
{
	char *line = alloc_printf(SELF " %s", words);
	int ret;
	size_t i;

	for (i = 0; report->named && i < report->volumes.count; i++) {
		char *more = alloc_printf("%s %s", line, report->volumes.items[i]);

		free(line);
		line = more;
	}
	ret = program_put(report, name, line, fault);
	free(line);
	return ret;
}

/* Files of the kernel and of the configuration */

static void path_print(struct report *report, FILE *out, const char *path)
{
	char *place = place_path("%s", path), *text = NULL;
	int ret = file_read(place, &text);

	if (ret && ret != -ENOENT)
		archive_error(&report->archive, path, strerror(-ret));
	if (!ret)
		fprintf(out, "$ cat %s\n%s\n", path, text);
	free(text);
	free(place);
}

static void value_print(FILE *out, const char *path, const char *name, const char *label)
{
	int mode = file_mode(path);
	char *text = NULL, *rest, *line;

	/* A file that may only be written has a secret, or is a switch. */
	if (mode < 0 || !(mode & 0444) || setting_is_secret(name))
		return;
	if (file_read(path, &text)) {
		fprintf(out, "%s: cannot be read now\n", label);
		return;
	}
	/* A file of several values has them in lines of their own. */
	for (rest = text; (line = strsep(&rest, "\n"));)
		fprintf(out, "%s = %s\n", label, line);
	free(text);
}

static void tree_print(FILE *out, const char *dir, const char *label, int depth)
{
	struct file_names names = { 0 };
	size_t i;

	file_list(dir, &names);
	for (i = 0; i < names.count; i++) {
		char *path = alloc_printf("%s/%s", dir, names.items[i]);
		char *name = alloc_printf("%s/%s", label, names.items[i]);

		if (!file_is_dir(path))
			value_print(out, path, names.items[i], name);
		else if (depth < DEPTH_MAX)
			tree_print(out, path, name, depth + 1);
		free(name);
		free(path);
	}
	file_names_free(&names);
}

/* Its files cannot be read while a write to one of them waits for a leg. */
static void queue_print(struct report *report, FILE *out, const char *device)
{
	char *path = place_path("/sys/block/%s/queue", device);
	char *state = fact_text(place_path("/sys/block/%s/istripe/state", device));

	if (state && !live_takes_io(state))
		archive_error(&report->archive, path, "I/O waits for a leg: not read");
	else
		tree_print(out, path, "queue", 0);
	free(state);
	free(path);
}

static int disk_put(struct report *report, const char *device, struct fault *fault)
{
	static const char *const files[] = { "size", "ro", "stat", "wwid", "inflight", NULL };
	char *dir = place_path("/sys/block/%s/istripe", device);
	char *name = alloc_printf("sysfs-%s.txt", device);
	struct page page;
	size_t i;
	int ret;

	page_begin(&page);
	for (i = 0; files[i]; i++) {
		char *path = place_path("/sys/block/%s/%s", device, files[i]);

		value_print(page.out, path, files[i], files[i]);
		free(path);
	}
	tree_print(page.out, dir, "istripe", 0);
	queue_print(report, page.out, device);
	ret = page_end(&report->archive, &page, name, fault);
	free(name);
	free(dir);
	return ret;
}

static int conf_put(struct report *report, const char *volume, struct fault *fault)
{
	char *path = conf_path(volume), *name = alloc_printf("conf-%s.conf", volume), *text = NULL;
	int ret = file_read(path, &text);

	if (ret && ret != -ENOENT)
		archive_error(&report->archive, path, strerror(-ret));
	ret = ret ? 0 : archive_put(&report->archive, name, text, fault);
	free(name);
	free(path);
	return ret;
}

static int configfs_put(struct report *report, const char *volume, struct fault *fault)
{
	char *dir = tree_path(volume, NULL), *name = alloc_printf("configfs-%s.txt", volume);
	struct page page;
	int ret = 0;

	if (file_is_dir(dir)) {
		page_begin(&page);
		tree_print(page.out, dir, volume, 0);
		ret = page_end(&report->archive, &page, name, fault);
	}
	free(name);
	free(dir);
	return ret;
}

static int volume_put(struct report *report, const char *volume, struct fault *fault)
{
	char *device = power_device(volume), *line;
	int ret = conf_put(report, volume, fault);

	if (!ret)
		ret = configfs_put(report, volume, fault);
	if (!ret && device)
		ret = disk_put(report, device, fault);
	if (!ret && device) {
		char *name = alloc_printf("udev-%s.txt", device);

		line = alloc_printf("udevadm info /dev/%s", device);
		ret = program_put(report, name, line, fault);
		free(line);
		free(name);
	}
	free(device);
	return ret;
}

/* Network interfaces */

static void nic_add(struct report *report, const char *nic)
{
	size_t i;

	if (!*nic || strchr(nic, '/') || *nic == '-' || report->nic_count == NICS_MAX)
		return;
	for (i = 0; i < report->nic_count; i++)
		if (!strcmp(report->nics[i], nic))
			return;
	report->nics[report->nic_count++] = alloc_text(nic);
}

/* The one that it is bound to, else the one that the route says. */
static void path_nic_add(struct report *report, const struct path *path)
{
	const char *nic = settings_value(&path->settings, "nic");
	char *to = host_address_of(settings_value(&path->settings, "portal"));
	struct host_route route;

	nic_add(report, nic);
	if (!*nic && *to && !host_route(to, "",
					settings_value(&path->settings, "source_address"), &route))
		nic_add(report, route.nic);
	free(to);
}

static void nics_find(struct report *report)
{
	size_t i, j, k;

	for (i = 0; i < report->volumes.count; i++) {
		const char *name = report->volumes.items[i];
		struct volume volume = { 0 };
		struct fault fault = { 0 };
		char *path = conf_path(name);

		if (tree_read(name, &volume, &fault)) {
			volume_free(&volume);
			memset(&volume, 0, sizeof(volume));
			conf_read(path, name, &volume, &fault);
		}
		for (j = 0; j < volume.leg_count; j++)
			for (k = 0; k < volume.legs[j].path_count; k++)
				path_nic_add(report, &volume.legs[j].paths[k]);
		volume_free(&volume);
		free(path);
	}
}

static int nic_put(struct report *report, const char *nic, struct fault *fault)
{
	static const char *const options[] = {
		"", "-i ", "-k ", "-g ", "-a ", "-c ", "-l ", "-S "
	};
	char *name = alloc_printf("ethtool-%s.txt", nic);
	struct page page;
	size_t i;
	int ret;

	page_begin(&page);
	for (i = 0; i < sizeof(options) / sizeof(*options); i++) {
		char *line = alloc_printf("ethtool %s%s", options[i], nic);

		program_print(report, page.out, line, true);
		free(line);
	}
	ret = page_end(&report->archive, &page, name, fault);
	free(name);
	return ret;
}

/* open-iscsi */

static int records_put(struct report *report, struct fault *fault)
{
	struct page page;
	size_t i, j;

	if (!report->records.count)
		return 0;
	page_begin(&page);
	for (i = 0; i < report->records.count; i++) {
		for (j = 0; j < report->records.items[i].count; j++) {
			const struct setting *item = &report->records.items[i].items[j];
			bool secret = strstr(item->name, ".password");

			fprintf(page.out, "%s = %s\n", item->name,
				!item->value || !*item->value ? "<empty>" :
				secret ? "(left out)" : item->value);
		}
		fputc('\n', page.out);
	}
	return page_end(&report->archive, &page, "open-iscsi-records.txt", fault);
}

/* The whole */

/* Files of one kind: each with the texts of files and the output of programs. */
static const struct {
	const char *name;
	const char *const *files;
	const char *const *programs;
} pages[] = {
	{ "versions.txt", (const char *const []) {
		"/proc/version", "/sys/module/istripe/version", "/sys/module/istripe/srcversion",
		"/sys/kernel/config/istripe/features", "/etc/os-release", NULL
	}, (const char *const []) {
		SELF " --version", "uname -a", "iscsiadm --version", "systemctl --version", NULL
	} },
	{ "host.txt", (const char *const []) {
		"/proc/uptime", "/proc/loadavg", "/proc/meminfo", "/proc/pressure/cpu",
		"/proc/pressure/memory", "/proc/pressure/io", "/proc/diskstats", "/proc/mdstat",
		NULL
	}, (const char *const []) {
		"lscpu",
		"lsblk -o NAME,KNAME,MAJ:MIN,TYPE,SIZE,RO,FSTYPE,MOUNTPOINT,MODEL,SERIAL,WWN",
		NULL
	} },
	{ "interrupts.txt", (const char *const []) {
		"/proc/interrupts", "/proc/softirqs", NULL
	}, NULL },
	{ "proc-net.txt", (const char *const []) {
		"/proc/net/dev", "/proc/net/snmp", "/proc/net/snmp6", "/proc/net/netstat",
		"/proc/net/sockstat", "/proc/net/sockstat6", "/proc/net/softnet_stat",
		"/proc/net/route", "/proc/net/if_inet6", "/proc/net/arp", NULL
	}, NULL },
	{ "sysctl-net.txt", (const char *const []) {
		"/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem",
		"/proc/sys/net/ipv4/tcp_mem", "/proc/sys/net/ipv4/tcp_sack",
		"/proc/sys/net/ipv4/tcp_timestamps", "/proc/sys/net/ipv4/tcp_window_scaling",
		"/proc/sys/net/ipv4/tcp_congestion_control", "/proc/sys/net/ipv4/tcp_ecn",
		"/proc/sys/net/ipv4/tcp_slow_start_after_idle",
		"/proc/sys/net/ipv4/tcp_mtu_probing", "/proc/sys/net/ipv4/tcp_retries2",
		"/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max",
		"/proc/sys/net/core/netdev_max_backlog", "/proc/sys/net/core/default_qdisc", NULL
	}, NULL },
	{ "network.txt", NULL, (const char *const []) {
		"ip -s -d link", "ip address", "ip rule", "ip route show table all",
		"ip -6 route show table all", "ip neighbour", "ss -tienmO", NULL
	} },
	{ "systemd.txt", NULL, (const char *const []) {
		"systemctl --no-pager --full list-units --all istripe* iscsi* open-iscsi*",
		"systemctl --no-pager --full status istripe@*",
		"journalctl --no-pager -b -o short-precise -n 2000 -u istripe@*", NULL
	} },
	{ "open-iscsi.txt", (const char *const []) {
		"/etc/iscsi/initiatorname.iscsi", "/etc/iscsi/iscsid.conf", NULL
	}, (const char *const []) {
		"iscsiadm -m session -P 1", NULL
	} },
};

static int pages_put(struct report *report, struct fault *fault)
{
	struct page page;
	size_t i, j;
	int ret = 0;

	for (i = 0; !ret && i < sizeof(pages) / sizeof(*pages); i++) {
		page_begin(&page);
		for (j = 0; pages[i].files && pages[i].files[j]; j++)
			path_print(report, page.out, pages[i].files[j]);
		for (j = 0; pages[i].programs && pages[i].programs[j]; j++)
			program_print(report, page.out, pages[i].programs[j], true);
		ret = page_end(&report->archive, &page, pages[i].name, fault);
	}
	return ret;
}

static int log_put(struct report *report, struct fault *fault)
{
	struct page page;
	int ret;

	page_begin(&page);
	ret = klog_print(page.out);
	if (ret)
		archive_error(&report->archive, "/dev/kmsg", strerror(-ret));
	return page_end(&report->archive, &page, "kernel-log.txt", fault);
}

/* The other commands of this program. */
static int selves_put(struct report *report, struct fault *fault)
{
	static const char *const commands[][2] = {
		{ "list.txt", "list" }, { "status.txt", "status" },
		{ "status.json", "status --json" }, { "show.txt", "show" },
		{ "show.json", "show --json" }, { "show-command.txt", "show --command" },
		{ "top.txt", "top --once" }, { "doctor.txt", "doctor" },
		{ "doctor.json", "doctor --json" },
	};
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < sizeof(commands) / sizeof(*commands); i++)
		ret = self_put(report, commands[i][0], commands[i][1], fault);
	return ret ? ret : program_put(report, "metrics.txt", SELF " metrics", fault);
}

static int report_collect(void *data, struct fault *fault)
{
	struct report *report = data;
	int ret = selves_put(report, fault);
	size_t i;

	for (i = 0; !ret && i < report->volumes.count; i++)
		ret = volume_put(report, report->volumes.items[i], fault);
	if (!ret)
		ret = log_put(report, fault);
	if (!ret)
		ret = pages_put(report, fault);
	for (i = 0; !ret && i < report->nic_count; i++)
		ret = nic_put(report, report->nics[i], fault);
	if (!ret)
		ret = records_put(report, fault);
	return ret;
}

static char *default_name(void)
{
	time_t now = time(NULL);
	struct utsname host;
	struct tm parts;
	char text[32];

	localtime_r(&now, &parts);
	strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &parts);
	uname(&host);
	host.nodename[strcspn(host.nodename, "./")] = '\0';
	return alloc_printf("istripe-report-%s-%s.tar.gz", host.nodename, text);
}

static int volumes_choose(struct report *report, const struct command_line *line,
			  struct fault *fault)
{
	struct file_names known = { 0 };
	bool loaded;
	int ret = volumes_list(&known, &loaded, fault);
	size_t i;

	report->named = line->count;
	for (i = 0; !ret && i < line->count; i++) {
		file_names_add_new(&report->volumes, line->names[i]);
		if (!file_names_have(&known, line->names[i]))
			ret = tree_volume_missing(line->names[i], fault);
	}
	if (!ret && !line->count)
		report->volumes = known;
	else
		file_names_free(&known);
	return ret;
}

static void report_free(struct report *report)
{
	size_t i;

	for (i = 0; i < report->nic_count; i++)
		free(report->nics[i]);
	file_names_free(&report->volumes);
	records_free(&report->records);
	archive_free(&report->archive);
}

static int report_make(struct report *report, const char *path, struct fault *fault)
{
	struct fault missing = { 0 };

	/* Without open-iscsi there are no records. */
	if (records_read(&report->records, &missing) == -EINTR) {
		*fault = missing;
		return -EINTR;
	}
	scrub_collect(&report->archive.scrub, &report->records);
	nics_find(report);
	return archive_make(&report->archive, path, report_collect, report, fault);
}

int command_report(const struct command *command, int argc, char **argv)
{
	struct report report = { 0 };
	struct fault fault = { 0 };
	struct command_line line;
	char *path;
	int code, ret;

	if (!command_begin(command, argc, argv, COMMAND_OUTPUT, &line, false, &code))
		return code;
	interrupt_catch();
	path = line.output ? alloc_text(line.output) : default_name();
	ret = volumes_choose(&report, &line, &fault);
	if (!ret)
		ret = report_make(&report, path, &fault);
	if (!ret)
		printf("report: %s\n", path);
	else
		fault_print(&fault);
	report_free(&report);
	free(path);
	return ret ? EXIT_FAILED : EXIT_DONE;
}
