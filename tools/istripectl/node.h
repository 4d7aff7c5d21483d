/* SPDX-License-Identifier: GPL-2.0 */
/* Node records of open-iscsi and the paths of volumes: which is which. */
#ifndef ISTRIPECTL_NODE_H
#define ISTRIPECTL_NODE_H

#include <stdbool.h>
#include <string.h>

#include "fault.h"
#include "model.h"
#include "records.h"

#define NODE_SETTING	"from_node"	/* of the volume or a path, for the tool alone */

/**
 * node_way() - from where to where a record leads
 * @record: the record
 * @wanted: the portal that is looked for, with an address, or empty: of a host name with several
 *	addresses the one that leads there is taken, or else the first one
 * @settings: gets target_name, portal, and nic and source_address when the record has them
 * @taken: set to what is to be said when it is the first one
 * @fault: set on failure
 *
 * Return: 0; -EINVAL: no interface or several have the hardware address; -EAGAIN: a host name is
 * not known.
 */
int node_way(const struct settings *record, const char *wanted, struct settings *settings,
	     struct fault *taken, struct fault *fault);

/**
 * node_usable() - whether a path can be made of a record at all
 * @record: the record
 *
 * Return: false for transports other than TCP.
 */
bool node_usable(const struct settings *record);

/**
 * node_follows() - whether a volume or a path of it follows the records
 * @volume: as its file says
 * @fault: set on failure
 *
 * Return: 1; 0; -EINVAL: from_node is neither yes nor no.
 */
int node_follows(const struct volume *volume, struct fault *fault);

static inline bool node_says(const struct settings *settings, const char *word)
{
	return !strcmp(settings_value(settings, NODE_SETTING), word);
}

/**
 * node_follows_path() - whether a path follows its record
 * @volume: as its file says
 * @path: of it; one that says nothing is as the volume
 *
 * Return: whether it does.
 */
static inline bool node_follows_path(const struct volume *volume, const struct settings *path)
{
	return node_says(path, "yes") ||
	       (node_says(&volume->settings, "yes") && !node_says(path, "no"));
}

/**
 * node_record() - the record of a path, by target, portal and interface
 * @records: all there are
 * @path: its settings
 * @record: set; NULL: there is none
 * @fault: set on failure
 *
 * Return: 0; -EINVAL, -EAGAIN: there is none, but one of the target that leads nowhere, as
 * node_way() says.
 */
int node_record(const struct records *records, const struct settings *path,
		const struct settings **record, struct fault *fault);

/**
 * node_drop() - forget whether a volume and its paths follow the records
 * @volume: as its file says; then without settings that the module does not have
 */
void node_drop(struct volume *volume);

/**
 * node_refuse() - an error for from_node where nothing would remember it
 * @settings: of a volume, or of a path, as they were given
 * @volume: its name
 * @fault: set on failure
 *
 * Return: 0; -EINVAL.
 */
int node_refuse(const struct settings *settings, const char *volume, struct fault *fault);

/**
 * openiscsi_refresh() - read the settings of a volume from the records anew
 * @volume: each path that follows and has a record, by target, portal and interface, has then what
 *	the record says, and so has a volume that follows; secrets must have been loaded before.
 *	A path is as its file says, with a warning, when its record may be one that leads nowhere
 * @warn: print that
 * @fault: set on failure
 *
 * Return: 0; -ENOENT: no path that follows has a record, or one does not that says itself that it
 * follows; -EINVAL: only the volume follows; -ENOPKG iscsiadm is not installed; another -errno.
 */
int openiscsi_refresh(struct volume *volume, bool warn, struct fault *fault);

#endif
