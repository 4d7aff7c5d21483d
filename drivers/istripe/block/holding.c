// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/srcu.h>

#include "block/holding.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "transport/conn.h"

static bool session_has_flag(const struct istripe_session *session, u32 flag)
{
	u32 i;

	for (i = 0; i < session->conn_count; i++)
		if (test_bit(flag, &session->conns[i]->flags))
			return true;
	return false;
}

/* The first two have WINDOW_CLOSED set as well: see istripe_session_take_cmd_sn(). */
static const char *session_holding(const struct istripe_session *session)
{
	if (istripe_session_is_quiesced(session))
		return "reset";
	if (istripe_session_is_invalid(session))
		return "revalidation";
	if (session_has_flag(session, ISTRIPE_CONN_WINDOW_CLOSED))
		return "window";
	return session_has_flag(session, ISTRIPE_CONN_WRITES_PACED) ? "pace" : NULL;
}

static const char *nexus_holding(struct istripe_nexus *nexus)
{
	int section = srcu_read_lock(&nexus->srcu);
	const struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	const char *holding = NULL;

	if (session && READ_ONCE(nexus->state) == ISTRIPE_NEXUS_LIVE)
		holding = READ_ONCE(nexus->leg->unfenced_nexuses) ? "fence" :
								     session_holding(session);
	srcu_read_unlock(&nexus->srcu, section);
	return holding;
}

const char *istripe_holding(const struct istripe_path *path)
{
	const char *holding = NULL;
	struct istripe_nexus *nexus;
	u32 at;

	istripe_path_for_each_nexus(path, nexus, at)
		holding = holding ?: nexus_holding(nexus);
	return holding ?: "none";
}
