/* SPDX-License-Identifier: GPL-2.0 */
/* import: what its files share. */
#ifndef ISTRIPECTL_IMPORT_H
#define ISTRIPECTL_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "discoveryd.h"
#include "fault.h"
#include "file.h"
#include "host_lun.h"
#include "model.h"
#include "parse.h"
#include "records.h"

struct import {
	bool take_over;		/* open-iscsi does not log in by the records any more */
	bool once;		/* the volume does not follow the records afterwards */
	bool table;
	struct create_options options;
	struct volume given;	/* the legs as they were given */
	struct volume volume;
	struct records records;
	const struct settings **used;	/* the records of the paths */
	size_t used_count;
	struct discoveries discoveries;	/* by which iscsid logs in to targets of the volume */
	struct host_luns host;	/* what sessions of open-iscsi show */
	struct file_names others;	/* further targets that show LUNs of the volume */
	struct file_names back;	/* commands that undo what was done to records */
	unsigned int shown;	/* commands of a message */
	struct fault *fault;
};

#endif
