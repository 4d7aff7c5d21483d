// SPDX-License-Identifier: GPL-2.0
/* doctor: processors and the clock of this host. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "alloc.h"
#include "doctor.h"
#include "fact.h"
#include "place.h"

#define CPUFREQ	"/sys/devices/system/cpu/cpufreq"

void doctor_governor(struct doctor *doctor)
{
	char *dir = place_path(CPUFREQ), *other = NULL;
	struct file_names names = { 0 };
	size_t i, slow = 0, known = 0;

	file_list(dir, &names);
	for (i = 0; i < names.count; i++) {
		char *text = fact_text(place_path(CPUFREQ "/%s/scaling_governor", names.items[i]));

		known += !!text;
		if (text && strcmp(text, "performance")) {
			slow++;
			free(other);
			other = text;
		} else {
			free(text);
		}
	}
	if (!known)
		doctor_skip(doctor, "the kernel does not scale the frequency");
	else if (!slow)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%s on %zu of %zu", other, slow, known),
			.wanted = alloc_text("performance"),
			.next = alloc_text("cpupower frequency-set -g performance"),
		},
		"a processor that wakes for a packet is slow at first");
	free(other);
	file_names_free(&names);
	free(dir);
}

void doctor_clock(struct doctor *doctor)
{
	struct timex clock = { 0 };
	int state = adjtimex(&clock);

	if (state < 0)
		doctor_unread(doctor, "the state of the clock", -errno);
	else if (!(clock.status & STA_UNSYNC))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_text("not synchronised"),
			.wanted = alloc_text("synchronised"),
			.next = alloc_text(fact_rpm() ?
				"dnf install chrony && systemctl enable --now chronyd" :
				"apt install chrony && systemctl enable --now chrony"),
		},
		"the logs of host and array cannot be compared");
}
