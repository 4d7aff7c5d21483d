// SPDX-License-Identifier: GPL-2.0
/*
 * Input: a status byte, then sense data of any length. Only GOOD, CONDITION MET and a
 * recovered error of this very command may count as success.
 */
#include <stdlib.h>
#include <string.h>

#include "scsi/sense.h"
#include "fuzz.h"

#define require(condition) do { if (!(condition)) __builtin_trap(); } while (0)

static bool may_be_good(u8 status, const struct scsi_sense_hdr *sense)
{
	if (status == SAM_STAT_GOOD || status == SAM_STAT_CONDITION_MET)
		return true;
	return status == SAM_STAT_CHECK_CONDITION && sense->sense_key == RECOVERED_ERROR &&
	       (sense->response_code == 0x70 || sense->response_code == 0x72);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	enum istripe_scsi_verdict verdict;
	struct scsi_sense_hdr sense;
	u8 *exact;

	if (!size || size > 253)
		return 0;
	exact = malloc(size - 1 ?: 1);
	require(exact);
	memcpy(exact, data + 1, size - 1);
	scsi_normalize_sense(exact, size - 1, &sense);
	verdict = istripe_sense_verdict(data[0], &sense);
	free(exact);
	require(verdict < ISTRIPE_SCSI_VERDICT_COUNT);
	require((verdict == ISTRIPE_SCSI_GOOD) == may_be_good(data[0], &sense));
	require(istripe_scsi_verdict_name(verdict)[0]);
	return 0;
}
