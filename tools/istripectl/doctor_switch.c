// SPDX-License-Identifier: GPL-2.0
/* doctor: the switches behind the NICs, as LLDP tells them. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "fact.h"
#include "run.h"
#include "text.h"

/* The value of a line as lldp.eth1.chassis.mac=00:53:00:00:00:01, for free(); NULL: none. */
static char *switch_value(const char *text, const char *nic, const char *name)
{
	char *key = alloc_printf("lldp.%s.chassis.%s=", nic, name);
	char *value = fact_line(text, key);

	if (value)
		text_clean(value);
	free(key);
	return value;
}

/* An address or another text that the switch gives itself; NULL: it does not say. */
static char *switch_id(const char *text, const char *nic)
{
	static const char *const kinds[] = { "mac", "local", "ip", "ifname" };
	struct file_names ports = { 0 };
	char *id = NULL;
	size_t i, j;

	doctor_lower_nics(nic, &ports);
	for (i = 0; !id && i < ports.count; i++)
		for (j = 0; !id && j < sizeof(kinds) / sizeof(*kinds); j++)
			id = switch_value(text, ports.items[i], kinds[j]);
	file_names_free(&ports);
	return id;
}

static void switch_warn(struct doctor *doctor, const struct doctor_path *paths, size_t count,
			const char *id)
{
	struct file_names nics = { 0 };
	char *all = alloc_text(""), *name;
	size_t i;

	for (i = 0; i < count; i++)
		file_names_add_new(&nics, paths[i].nic);
	for (i = 0; i < nics.count; i++) {
		char *longer = alloc_printf("%s%s%s", all, i ? " " : "", nics.items[i]);

		free(all);
		all = longer;
	}
	name = switch_value(doctor->lldp, nics.items[0], "name");
	/* One NIC is the matter of shared-nic. */
	if (nics.count < 2)
		doctor_skip(doctor, "all paths use %s", all);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%s lead to one switch, %s%s%s", all,
						 name ? name : "", name ? " " : "", id),
			.wanted = alloc_text("two switches"),
			.next = alloc_printf("connect %s to another switch, and see: lldpctl",
					     nics.items[nics.count - 1]),
		},
		"when the switch restarts all paths are lost, unless it is a stack of several");
	file_names_free(&nics);
	free(name);
	free(all);
}

/* One path over another switch is enough. */
static void leg_switches(struct doctor *doctor, const struct doctor_volume *volume,
			 const struct doctor_path *paths, size_t count)
{
	char *first = switch_id(doctor->lldp, paths[0].nic);
	const char *unknown = first ? NULL : paths[0].nic;
	bool differs = false;
	size_t i;

	(void)volume;
	for (i = 1; first && i < count; i++) {
		char *other = switch_id(doctor->lldp, paths[i].nic);

		differs |= other && strcmp(first, other);
		unknown = other ? unknown : paths[i].nic;
		free(other);
	}
	if (differs)
		doctor_pass(doctor);
	else if (unknown)
		doctor_skip(doctor, "LLDP does not tell the switch of %s", unknown);
	else
		switch_warn(doctor, paths, count, first);
	free(first);
}

void doctor_shared_switch(struct doctor *doctor, const struct doctor_volume *volume)
{
	char *const argv[] = { "lldpctl", "-f", "keyvalue", NULL };
	struct fault fault = { 0 };
	struct run run = { 0 };

	if (run_program(argv, NULL, NULL, &run, &fault) || run.code) {
		doctor_skip(doctor, run.code == RUN_MISSING ?
			    "lldpctl, which asks the switches, is not installed" :
			    "lldpctl does not answer: lldpd does not run");
	} else {
		doctor->lldp = run.out;
		doctor_legs(doctor, volume, leg_switches);
		doctor->lldp = NULL;
	}
	run_free(&run);
}
