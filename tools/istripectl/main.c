// SPDX-License-Identifier: GPL-2.0
/* istripectl: creates, shows and removes the volumes of the istripe module. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "command.h"
#include "descriptors.h"
#include "output.h"
#include "suggest.h"

/* How create and assemble describe a volume. */
#define DESCRIPTION_DETAILS \
"  -i, --initiator NAME   iSCSI name of this host; else that of\n" \
"                         /etc/iscsi/initiatorname.iscsi\n" \
"  -c, --chunk SIZE       the interleave, as 64K\n" \
"  -m, --metadata md|none what the legs are known by: superblocks of Linux MD (this is the\n" \
"                         default), or nothing\n" \
"  -s, --set LIST         settings of the volume\n" \
"  -a, --all-paths LIST   settings of every path that does not say otherwise\n" \
"  -l, --leg LIST         one more leg and its first path\n" \
"  -p, --path LIST        one more path of the leg before it; what it does not say is as in\n" \
"                         --leg, but portal, nic, source and isid\n" \
"      --no-up            do not connect\n" \
"      --save             write /etc/istripe/NAME.conf, when all is done\n" \
"      --boot             the same, and start the volume at boot\n" \
"      --wait TIME        try again for so long while arrays or the network are not ready:\n" \
"                         seconds, 5min, forever\n" \
"  -n, --dry-run          print lines for a shell instead\n" \
"\n" \
"A LIST is NAME=VALUE,NAME=VALUE; names are those of the module's files (target,\n" \
"source, chunk, initiator and times without _ms are short for them). Sizes may end\n" \
"in K, M, G; times need a unit: ms, s, min, h, d; with the names in _ms they are\n" \
"milliseconds without one. Secrets: chap_secret=@FILE (mode 0600) or =@-.\n"

/* Options of tables. */
#define TABLE_DETAILS \
"  -o, --output COLUMNS only these columns, with commas between them: istripectl(8)\n" \
"  -n, --noheadings     without the names of the columns\n" \
"  -P, --pairs          as NAME=\"value\" for each column\n"

static const char create_details[] =
"With superblocks on the legs (--metadata md), legs that hold anything known, as a file\n"
"system or a volume, are left alone. To have it after a reboot: --boot, or --discover.\n"
"\n"
"      --force            take legs that hold anything, too, which is lost\n"
"      --discover PORTAL  find the legs: each LUN that the portal's targets have is a leg, each\n"
"                         portal and interface that reaches it a path. Shows them, and asks\n"
"      --nics LIST        interfaces that it may use\n"
"      --targets LIST     only these targets, in this order\n"
"      --luns LIST        numbers of LUNs; else LUN 0 of each target\n"
"      --chap LIST        user=NAME,secret=@FILE of discovery and paths; mutual_user=,\n"
"                         mutual_secret=\n"
"      --yes              do not ask\n"
"      --no-save          with --discover: do not write /etc/istripe/NAME.conf, which it does\n"
"      --no-boot          with --discover: do not start the volume at boot, which it does\n"
DESCRIPTION_DETAILS
"\n"
"  istripectl create db --discover 192.0.2.10 --nics eth1,eth2\n"
"\n"
"  istripectl create db --initiator iqn.2026-01.com.example:dbhost --chunk 64K \\\n"
"      --leg target=iqn.2026-01.com.example:array1,portal=192.0.2.10,nic=eth1 \\\n"
"      --leg target=iqn.2026-01.com.example:array2,portal=192.0.2.11,nic=eth2\n";

static const char assemble_details[] =
"The superblocks that create or mdadm has written are read; nothing is written on the\n"
"legs. Legs that are not, in this order, all members of one array are refused.\n"
"\n"
DESCRIPTION_DETAILS
"\n"
"  istripectl show --command prints such a line for a volume.\n";

static const char set_details[] =
"All of LIST is written, or nothing: what was written before a refusal is put back. A\n"
"setting that is not live is refused while the volume is up.\n"
"\n"
"  --leg N              settings of this leg\n"
"  --path N             settings of this path of it\n"
"  -n, --dry-run        only print what would change\n"
"\n"
"  istripectl set db command_timeout=30s\n"
"  istripectl set db --leg 0 --path 1 ping_interval=1s,weight=2\n";

static const char path_details[] =
"The volume may be up, and busy. A path that is added logs in, and is used when its\n"
"LUN is the leg's; one that is removed finishes its commands. What LIST does not say\n"
"is as the leg's first path has it, but portal, nic, source, isid and secrets.\n"
"confirm: writes that wait for a lost path are sent again over others, as somebody knows\n"
"that its target does not carry them out any more; asks.\n"
"\n"
"  --yes                of confirm: do not ask\n"
"  -n, --dry-run        only print what would be done\n"
"\n"
"  istripectl path add db 0 portal=192.0.2.20,nic=eth3\n"
"  istripectl path remove db 0 1\n";

static const char reconnect_details[] =
"The sessions end, and log in again with the settings that are in use: all paths, those of\n"
"a leg, or one. One path after another, the next one when the one before is live again; I/O\n"
"goes on over the others. Stops at the first that does not come back, and says why. For\n"
"settings of the configuration file that are not in use yet: apply.\n"
"\n"
"  --force              also a path that is the only live one of its leg: its I/O waits\n"
"  --timeout TIME       for each path: seconds, 5min, forever; default: 1min\n"
"  -n, --dry-run        only print what would be done\n"
"  -J, --json           as JSON\n"
"\n"
"  istripectl reconnect db\n"
"  istripectl reconnect db 0 1\n";

static const char discover_details[] =
"Asks with iscsiadm, whose database is not changed. Prints targets, portals, and the words\n"
"for create; and whether volumes of this host have a leg there.\n"
"\n"
"  --chap LIST          user=NAME,secret=@FILE of the discovery; mutual_user=, mutual_secret=\n"
"  --nic NIC            ask over this interface, to which an iface of open-iscsi is bound\n"
"  --luns               disks and their sizes, too: iscsi-ls logs in to each target for them\n"
"  -J, --json           as JSON\n";

static const char import_details[] =
"Each target is a leg, each of its node records a path: istripectl(8) has the table of\n"
"settings. Prints the configuration file; nothing is changed without --save.\n"
"\n"
"  --leg LIST           a leg: target=NAME and, as needed, lun=N, portal=, nic=; without\n"
"                       --leg, LUN 0 of each target that has a record\n"
"  --path LIST          target=OTHER: records of this target lead to the LUN of the leg, too\n"
"  --initiator NAME, --chunk SIZE, --metadata md|none, --set LIST, --all-paths LIST\n"
"                       as in create\n"
"  --save               write /etc/istripe/NAME.conf, and a file for each secret\n"
"  --boot               the same, and start the volume at boot, not now\n"
"  --dry-run            only print, as without --save\n"
"  --take-over          open-iscsi does not log in by these records at boot any more\n"
"  --once               the records are read now only: apply does not read them again\n"
"  --table              print what is done with each setting of open-iscsi, and end\n"
"\n"
"  istripectl import db --leg target=iqn.2026-01.com.example:array1,lun=1 --save\n"
"  iscsiadm -m node -T iqn.2026-01.com.example:array1 -o update \\\n"
"      -n node.conn[0].timeo.noop_out_interval -v 3\n"
"  istripectl apply db\n";

static const char save_details[] =
"The file is /etc/istripe/NAME.conf: istripe.conf(5). Secrets are not in the kernel's\n"
"files: the configuration names files for them, as the one before has.\n"
"\n"
"  --boot               also start the volume at boot: systemctl enable istripe@NAME; one\n"
"                       that is down stays down until then\n"
"  -n, --dry-run        only print what would be done\n";

static const char apply_details[] =
"Settings that can change take effect at once; for the others of a path it logs in anew,\n"
"one path after another, so that I/O goes on; paths come and go. What needs the volume\n"
"down is named, and left. A volume that is not there is configured, and stays down.\n"
"\n"
"  -n, --dry-run        only print what would be done\n"
"  --secrets            secrets have changed, too, which cannot be seen\n";

static const char up_details[] =
"A volume that the kernel does not know is configured from /etc/istripe/NAME.conf.\n"
"\n"
"  --saved              change its configuration to that of the file, if it is another;\n"
"                       one that is up is not changed: apply does that\n"
"  --all                all volumes that have such a file, as it says\n"
"  --create             its legs are empty: make superblocks on them\n"
"  --wait TIME          try again for so long while arrays or the network are not ready:\n"
"                       seconds, 5min, forever. A signal ends it\n"
"  -n, --dry-run        only print what would be done\n"
"\n"
"The exit code is 78 when trying again is no use until a file, a secret or a value has been\n"
"corrected.\n"
"\n"
"  istripectl up --wait forever db\n";

static const char down_details[] =
"A disk that is mounted, swap space, part of another device or open is left alone. So is a\n"
"volume that its unit, or another istripectl, is just bringing up.\n"
"\n"
"  --force              take it away all the same: its I/O fails\n"
"  --all                all volumes that are configured\n"
"  -n, --dry-run        only print what would be done\n";

static const char delete_details[] =
"The configuration file and the unit of the volume stay, and the data on its legs. For\n"
"good: systemctl stop istripe@NAME, systemctl disable istripe@NAME; rm /etc/istripe/NAME.conf.\n"
"\n"
"  --force              also while the disk is in use, whose I/O fails; and although\n"
"                       writes were left that a target may still carry out\n"
"  -n, --dry-run        only print what would be done\n";

static const char rescan_details[] =
"The disk grows when all legs have grown, while it is in use; it never shrinks.\n"
"\n"
"  -J, --json           as JSON\n"
"  -n, --dry-run        only print what would be done\n";

static const char show_details[] =
"  -J, --json           as JSON\n"
"  --command            as the command line that configures it again\n"
"  --conf               as a configuration file, see istripe.conf(5)\n";

static const char status_details[] =
"  -J, --json           as JSON, all counters and negotiated values included\n"
"  --watch[=TIME]       again when a state has changed, and every 2 seconds, or TIME\n"
TABLE_DETAILS;

static const char top_details[] =
"Rates of an interval, again and again; those of the disk are what programs get, those\n"
"of legs, paths and connections what is on the wire. - stands for what is not counted.\n"
"\n"
"  --once               one interval\n"
"  --interval TIME      seconds, or as 500ms; default: 1\n"
"  -J, --json           as JSON, a line for each interval\n"
TABLE_DETAILS;

static const char monitor_details[] =
"Until a signal ends it. What changes and changes back within some hundredths of a second\n"
"may be missed.\n"
"\n"
"  -J, --json           as JSON, a line for each change\n"
"  --program PROGRAM    run it for each event: PROGRAM EVENT VOLUME [LEG [PATH]]\n"
"  --exec PROGRAM       run it for each change: PROGRAM VOLUME LEG PATH OLD NEW REASON\n"
"\n"
"  istripectl monitor --program /usr/local/sbin/istripe-alert\n"
"  systemctl enable --now istripe-monitor@istripe-alert   # the same from each boot on\n";

static const char metrics_details[] =
"In the text format of Prometheus, for the textfile collector of its node_exporter:\n"
"istripe-metrics.timer writes them every 15 seconds. istripectl(8) has all names.\n"
"\n"
"  -o, --output FILE    write this file, which readers never see in part\n"
"\n"
"  systemctl enable --now istripe-metrics.timer\n";

static const char report_details[] =
"For those who look for a fault: status, configuration, doctor, sysfs, the kernel's lines,\n"
"network interfaces and connections, open-iscsi's records. Secrets are left out. Without a\n"
"name: all volumes. Each file that is written is named.\n"
"\n"
"  -o, --output NAME    an archive, NAME.tar.gz, or a new folder, NAME; without it,\n"
"                       istripe-report-HOST-TIME.tar.gz in the current folder\n";

static const char examine_details[] =
"Reads superblocks, those that create or mdadm has written, of devices or of images of them,\n"
"also while they are in use, and writes nothing. With the devices of all legs, says whether\n"
"they make their array, and in which order.\n"
"\n"
"  -J, --json           as JSON\n"
"\n"
"  istripectl examine /dev/sdb /dev/sdc\n"
"\n"
"Exit codes: 0 all are legs of complete arrays, 1 one is not, or cannot be read, 2 wrong\n"
"usage.\n";

static const char list_details[] =
"  -J, --json           as JSON\n"
TABLE_DETAILS;

static const char doctor_details[] =
"Looks at volumes, and at this host as far as they use it, and says what is not as it\n"
"should be, why, and which command mends it. It changes nothing, and sends nothing but\n"
"pings to portals, and TCP connections without data to those of paths that are not logged\n"
"in. Without a name: all volumes. istripectl(8) has all checks.\n"
"\n"
"  -J, --json           as JSON\n"
"  --list               print the names of the checks, and do nothing\n"
"\n"
"Exit codes: 0 all checks pass or are skipped, 1 a check warns, or the volume cannot be\n"
"read, 2 wrong usage.\n";

static const struct command commands[] = {
	{ "create", "NAME [options] --leg LIST [--path LIST]... | --discover PORTAL --nics LIST",
	  "Make a new volume of empty legs and bring it up", create_details, command_create },
	{ "assemble", "NAME [options] --leg LIST [--path LIST]... [--leg LIST]...",
	  "Configure a volume that was made before and bring it up", assemble_details,
	  command_create },
	{ "discover", "PORTAL [--chap LIST] [--nic NIC] [--luns] [--json]",
	  "Find targets, and the words to use them", discover_details, command_discover },
	{ "import", "NAME [options] [--leg LIST [--path LIST]...]... | --table",
	  "Make a configuration of records of open-iscsi", import_details, command_import },
	{ "save", "[--boot] [--dry-run] NAME...", "Write configuration files of volumes",
	  save_details, command_save },
	{ "apply", "[--dry-run] [--secrets] NAME...",
	  "Make volumes as their configuration files say", apply_details, command_apply },
	{ "up", "[--wait TIME] [--saved] [--create] [--dry-run] NAME... | --all",
	  "Connect volumes: their disks appear", up_details, command_up },
	{ "down", "[--force] [--dry-run] NAME... | --all",
	  "Take the disks of volumes away, keep their settings", down_details, command_down },
	{ "delete", "[--force] [--dry-run] NAME...", "Take volumes down and forget them",
	  delete_details, command_delete },
	{ "rescan", "[--json | --dry-run] NAME...", "Ask the targets whether legs have grown",
	  rescan_details, command_rescan },
	{ "show", "[--json | --command | --conf] [NAME]...", "Show how volumes are configured",
	  show_details, command_show },
	{ "status", "[--watch[=TIME]] [--json | -o COLUMNS --noheadings -P] [NAME]...",
	  "Show how volumes, legs, paths and connections are",
	  status_details, command_status },
	{ "top", "[--once] [--interval TIME] [--json | -o COLUMNS --noheadings -P] [NAME]...",
	  "Show what volumes, legs, paths and connections do at the moment", top_details,
	  command_top },
	{ "monitor", "[--json] [--program PROGRAM] [--exec PROGRAM]",
	  "Print each change of a state of volumes, legs and paths", monitor_details,
	  command_monitor },
	{ "metrics", "[--output FILE]", "Print states and counters for Prometheus",
	  metrics_details, command_metrics },
	{ "report", "[--output NAME] [NAME]...", "Collect what others need to find a fault",
	  report_details, command_report },
	{ "examine", "[--json] DEVICE...", "Show the superblocks of devices or images",
	  examine_details, command_examine },
	{ "set", "[--dry-run] NAME [--leg N [--path N]] LIST",
	  "Change settings of a volume, a leg or a path", set_details, command_set },
	{ "doctor", "[--json] [NAME]... | --list",
	  "Check volumes and this host for what costs speed or safety", doctor_details,
	  command_doctor },
	{ "path", "add NAME LEG LIST | path remove NAME LEG PATH | path confirm NAME LEG PATH",
	  "Add a path to a leg, remove one, or let its waiting writes go on", path_details,
	  command_path },
	{ "reconnect", "[--force] [--timeout TIME] [--json | --dry-run] NAME [LEG [PATH]]",
	  "Let paths log in again, one after another", reconnect_details, command_reconnect },
	{ "list", "[--json | -o COLUMNS --noheadings -P] [NAME]...",
	  "List volumes, a line for each", list_details,
	  command_list },
	{ NULL, NULL, NULL, NULL, NULL },
};

static const struct command *command_find(const char *name)
{
	const struct command *command;

	for (command = commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}

static void overview(FILE *out)
{
	const struct command *command;

	fputs("usage: istripectl COMMAND ...\n\n", out);
	for (command = commands; command->name; command++)
		fprintf(out, "  %-9s %s\n", command->name, command->summary);
	fputs("\n  help [COMMAND], COMMAND --help, --version\n\n"
	      "Exit codes: 0 done, 1 failed, 2 wrong usage. See istripectl(8).\n", out);
}

static int unknown(const char *name)
{
	struct suggestion best = { 0 };
	const struct command *command;

	for (command = commands; command->name; command++)
		suggest_name(name, command->name, &best);
	suggest_of_others(name, &best);
	fprintf(stderr, "istripectl: there is no command %s\n", name);
	if (best.name)
		fprintf(stderr, "            did you mean %s?\n", best.name);
	overview(stderr);
	return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2 || !strcmp(argv[1], "help")) {
		overview(stdout);
		return EXIT_DONE;
	}
	command = command_find(argv[1]);
	return command ? command_help(command) : unknown(argv[1]);
}

/* Output that could not be printed, as on a full disk, is a failure. */
static int finish(int code)
{
	return output_finish() && !code ? EXIT_FAILED : code;
}

/*
 * A file that was closed before would be the next one that is opened, and written to. As before,
 * nothing can be read from standard input, or written to the others.
 */
static void standard_files_open(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
	const struct command *command;

	standard_files_open();
	descriptors_raise();
	/* No core dump holds a secret; those of programs, see run_program(). */
	prctl(PR_SET_DUMPABLE, 0);
	/* Inherited as ignored: no child could be waited for, no limit would end it. */
	signal(SIGCHLD, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	if (argc < 2) {
		overview(stderr);
		return EXIT_USAGE;
	}
	/* Other letters than those of English have their width in tables. */
	setlocale(LC_CTYPE, "");
	if (!strcmp(argv[1], "--version")) {
		puts("istripectl " ISTRIPECTL_VERSION);
		return finish(EXIT_DONE);
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return finish(help(argc - 1, argv + 1));
	command = command_find(argv[1]);
	if (!command)
		return unknown(argv[1]);
	return finish(command->run(command, argc - 1, argv + 1));
}
