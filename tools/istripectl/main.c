// SPDX-License-Identifier: GPL-2.0
/* istripectl: creates, shows and removes the volumes of the istripe module. */
#include <stdio.h>
#include <string.h>

#include "command.h"

/* How create and assemble describe a volume. */
#define DESCRIPTION_DETAILS \
"  --initiator NAME     iSCSI name of this host; else that of /etc/iscsi/initiatorname.iscsi\n" \
"  --chunk SIZE         the interleave, as 64K\n" \
"  --metadata md|none   what the legs are known by: superblocks of Linux MD (this is the\n" \
"                       default), or nothing\n" \
"  --set LIST           settings of the volume\n" \
"  --all-paths LIST     settings of every path that does not say otherwise\n" \
"  --leg LIST           one more leg and its first path\n" \
"  --path LIST          one more path of the leg before it; what it does not say is as in\n" \
"                       --leg, but portal, nic, source and isid\n" \
"  --no-up              do not connect\n" \
"  --wait TIME          try again for so long while arrays or the network are not ready:\n" \
"                       seconds, 5min, forever\n" \
"  --dry-run            print lines for a shell instead\n" \
"\n" \
"A LIST is NAME=VALUE,NAME=VALUE; names are those of the module's files (target,\n" \
"source, chunk, initiator and times without _ms are short for them). Sizes may end\n" \
"in K, M, G, times in ms, s, min. Secrets: chap_secret=@FILE (mode 0600) or =@-.\n"

static const char create_details[] =
"With superblocks on the legs (--metadata md), legs that hold anything known, as a file\n"
"system or a volume, are left alone. After a reboot, istripectl assemble.\n"
"\n"
"  --force              take legs that hold anything, too, which is lost\n"
DESCRIPTION_DETAILS
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

static const char path_details[] =
"The volume may be up, and busy. A path that is added logs in, and is used when its\n"
"LUN is the leg's; one that is removed finishes its commands. What LIST does not say\n"
"is as the leg's first path has it, but portal, nic, source, isid\n"
"and secrets.\n"
"\n"
"  istripectl path add db 0 portal=192.0.2.20,nic=eth3\n"
"  istripectl path remove db 0 1\n";

static const char up_details[] =
"  --wait TIME          try again for so long while arrays or the network are not ready:\n"
"                       seconds, 5min, forever. A signal ends it\n"
"\n"
"  istripectl up --wait forever db\n";

static const char down_details[] =
"A disk that is mounted, swap space, part of another device or open is left alone.\n"
"\n"
"  --force              take it away all the same: its I/O fails; delete it although\n"
"                       writes were left that a target may still carry out\n";

static const char rescan_details[] =
"The disk grows when all legs have grown, while it is in use; it never shrinks.\n"
"\n"
"  --json               as JSON\n";

static const char show_details[] =
"  --json               as JSON\n"
"  --command            as the command line that configures it again\n";

static const char status_details[] =
"  --json               as JSON, all counters and negotiated values included\n";

static const char list_details[] =
"  --json               as JSON\n";

static const struct command commands[] = {
	{ "create", "NAME [options] --leg LIST [--path LIST]... [--leg LIST]...",
	  "Make a new volume of empty legs and bring it up", create_details, command_create },
	{ "assemble", "NAME [options] --leg LIST [--path LIST]... [--leg LIST]...",
	  "Configure a volume that was made before and bring it up", assemble_details,
	  command_create },
	{ "up", "[--wait TIME] NAME...", "Connect volumes: their disks appear", up_details,
	  command_up },
	{ "down", "[--force] NAME...", "Take the disks of volumes away, keep their settings",
	  down_details, command_down },
	{ "delete", "[--force] NAME...", "Take volumes down and forget them", down_details,
	  command_delete },
	{ "rescan", "[--json] NAME...", "Ask the targets whether legs have grown", rescan_details,
	  command_rescan },
	{ "show", "[--json | --command] [NAME]...", "Show how volumes are configured",
	  show_details, command_show },
	{ "status", "[--json] [NAME]...", "Show how volumes, legs, paths and connections are",
	  status_details, command_status },
	{ "path", "add NAME LEG LIST | path remove NAME LEG PATH",
	  "Add a path to a leg, or remove one", path_details, command_path },
	{ "list", "[--json] [NAME]...", "List volumes, a line for each", list_details,
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
	fprintf(stderr, "istripectl: there is no command %s\n", name);
	overview(stderr);
	return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		overview(stdout);
		return EXIT_DONE;
	}
	command = command_find(argv[1]);
	return command ? command_help(command) : unknown(argv[1]);
}

/* Output that could not be printed, as on a full disk, is a failure. */
static int finish(int code)
{
	if (fflush(stdout) || ferror(stdout)) {
		perror("istripectl: standard output");
		return code ? code : EXIT_FAILED;
	}
	return code;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		overview(stderr);
		return EXIT_USAGE;
	}
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
