// SPDX-License-Identifier: GPL-2.0
/*
 * Input: a byte for what is known of the port, its group (2 bytes), its number (2 bytes), then
 * what a target might answer to REPORT TARGET PORT GROUPS. A group that is found must be in it.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/errno.h>
#include <linux/minmax.h>

#include <compat/unaligned.h>

#include "scsi/alua.h"
#include "scsi/vpd.h"
#include "fuzz.h"

#define GROUP_KNOWN	1
#define PORT_KNOWN	2
#define PORT_BYTES	5

#define require(condition) do { if (!(condition)) __builtin_trap(); } while (0)

static void require_same(const struct istripe_access *a, const struct istripe_access *b)
{
	require(a->known == b->known && a->preferred == b->preferred);
	require(a->may_optimize == b->may_optimize && a->state == b->state);
	require(a->transition_s == b->transition_s && a->group == b->group);
	require(a->tpgs == b->tpgs && a->asked_at == b->asked_at);
}

static bool holds(const u8 *data, u32 bytes, u16 value)
{
	u32 at;

	for (at = 4; at + 2 <= bytes; at++)
		if (get_unaligned_be16(data + at) == value)
			return true;
	return false;
}

static void check_found(const u8 *data, u32 bytes, const struct istripe_vpd_port *port,
			const struct istripe_access *access)
{
	struct istripe_vpd_port group = { .group_known = true, .group = access->group };
	struct istripe_access again = {};

	require(bytes >= 12 && access->known && access->state < 16);
	require(istripe_alua_state_name(access->state)[0]);
	require(holds(data, bytes, access->group));
	if (port->group_known)
		require(access->group == port->group);
	else
		require(port->port_known && bytes >= 16 && holds(data, bytes, port->port));
	require(!istripe_alua_decode(data, bytes, &group, &again));
	require(again.known && again.group == access->group);
}

static void check(const u8 *data, u32 bytes, const struct istripe_vpd_port *port)
{
	struct istripe_access access = { .tpgs = 3 }, again = { .tpgs = 3 };
	int ret = istripe_alua_decode(data, bytes, port, &access);

	require(ret == 0 || ret == -EPROTO || ret == -ENOENT);
	require((ret == -EPROTO) == (bytes < 4));
	if (ret)
		require(!access.known && !access.preferred && !access.state && !access.group);
	else
		check_found(data, bytes, port, &access);
	if (ret == -EPROTO)
		return;
	/* Bytes behind what the target says it sends do not count. */
	bytes = min_t(u64, bytes, 4 + (u64)get_unaligned_be32(data));
	require(istripe_alua_decode(data, bytes, port, &again) == ret);
	require_same(&access, &again);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct istripe_vpd_port port = {};
	u8 *exact;

	if (size < PORT_BYTES || size > PORT_BYTES + 4096)
		return 0;
	port.group_known = data[0] & GROUP_KNOWN;
	port.port_known = data[0] & PORT_KNOWN;
	port.group = get_unaligned_be16(data + 1);
	port.port = get_unaligned_be16(data + 3);
	exact = malloc(size - PORT_BYTES ?: 1);
	require(exact);
	memcpy(exact, data + PORT_BYTES, size - PORT_BYTES);
	check(exact, size - PORT_BYTES, &port);
	free(exact);
	return 0;
}
