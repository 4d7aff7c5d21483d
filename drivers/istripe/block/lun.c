// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/string.h>

#include <istripe/reason.h>
#include "block/lun.h"
#include "iscsi/error.h"
#include "scsi/cdb.h"
#include "scsi/pr_keys.h"
#include "scsi/sense.h"
#include "transport/session.h"

#define ATTEMPTS_MAX		10
#define BUSY_DELAY_MS		200
#define BUSY_ANSWER_MS		500	/* least time for the answer after that */
#define BUSY_KEYS_MS		2000	/* of a LUN that is to tell its keys while it is in use */
#define SLICE_MS		100	/* of a wait that is not all the worker does */
#define PAGE_FIRST_BYTES	252	/* SPC-2 targets take the length from the last byte only */
#define LUN_PLAIN_END		256	/* below, all forms of a number mean the same LUN */
#define LUN_FLAT		0x4000	/* flat space addressing */

/* State of one bring-up. */
struct probe {
	struct istripe_session *session;
	struct scsi_lun number;
	enum istripe_lun_known known;
	enum istripe_alua alua;
	bool tpgs;		/* a refusal may tell the access state of the port */
	bool untold;		/* an answer that is not known here may be given the next time */
	bool reserved;		/* an answer was a reservation conflict */
	struct istripe_vpd_port port;
	const struct istripe_lun_before *before;
	const u8 *data;
	u32 bytes;		/* of the last answer */
	struct istripe_reason *why;
	const struct istripe_lun_time *time;
	unsigned long deadline;	/* jiffies */
	unsigned long end;	/* no later deadline */
	u32 busy_ms;		/* of the next question, as in struct istripe_lun_command */
};

static bool probe_is_stopped(const struct probe *probe)
{
	const struct istripe_task *task = &probe->session->internal.task;

	return task->status == SAM_STAT_CHECK_CONDITION && istripe_sense_stopped(&task->sense);
}

/* The LUN gives answers, however slowly. */
static void probe_renew(struct probe *probe)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(probe->time->timeout_ms);

	if (!probe->time->renews || probe->time->renews(probe->session))
		probe->deadline = time_before(deadline, probe->end) ? deadline : probe->end;
}

static int lun_wait(unsigned long deadline)
{
	if (time_after(jiffies + msecs_to_jiffies(BUSY_DELAY_MS + BUSY_ANSWER_MS), deadline))
		return -EBUSY;
	msleep(BUSY_DELAY_MS);
	return 0;
}

/* For an answer that is not GOOD. 0: ask again; a busy LUN costs no attempt. */
static int lun_check(enum istripe_scsi_verdict verdict, enum istripe_lun_known known,
		     unsigned long deadline, u32 *attempt)
{
	switch (verdict) {
	case ISTRIPE_SCSI_BUSY:
		return lun_wait(deadline);
	case ISTRIPE_SCSI_CHANGED:
		++*attempt;
		/* Nothing has been asked yet, so nothing that is known has changed. */
		return known == ISTRIPE_LUN_UNKNOWN ? 0 : -ESTALE;
	case ISTRIPE_SCSI_TRANSIENT:
		++*attempt;
		return lun_wait(deadline);
	case ISTRIPE_SCSI_DEFERRED:
	case ISTRIPE_SCSI_RETRY:
		++*attempt;
		return 0;
	default:
		return -EIO;
	}
}

static bool lun_refuses_access(const struct istripe_task *task)
{
	return task->status == SAM_STAT_CHECK_CONDITION &&
	       istripe_alua_sense_state(&task->sense) >= 0;
}

static int lun_execute(struct istripe_session *session, const struct istripe_lun_command *command,
		       u32 timeout_ms)
{
	u32 slice_ms = command->meanwhile ? min_t(u32, timeout_ms, SLICE_MS) : timeout_ms;
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	int ret;

	ret = istripe_session_execute(session, command->cdb, command->address, command->bytes,
				      command->write, slice_ms);
	while (ret == -ETIMEDOUT && command->meanwhile && time_before(jiffies, end)) {
		command->meanwhile(session);
		ret = istripe_session_await(session, slice_ms);
	}
	return ret;
}

static unsigned long lun_busy_end(const struct istripe_lun_command *command)
{
	unsigned long end = jiffies + msecs_to_jiffies(command->busy_ms);

	return command->busy_ms && time_before(end, command->deadline) ? end : command->deadline;
}

int istripe_lun_ask(struct istripe_session *session, const struct istripe_lun_command *command)
{
	const struct istripe_task *task = &session->internal.task;
	unsigned long busy_end = lun_busy_end(command);
	enum istripe_scsi_verdict verdict;
	u32 attempt = 0;
	u32 timeout_ms;
	long left;
	int ret;

	while (attempt < ATTEMPTS_MAX) {
		/* Each time: a unit attention that another command has got is not repeated. */
		if (command->valid && istripe_session_is_invalid(session))
			return -ESTALE;
		left = (long)(command->deadline - jiffies);
		if (left <= 0)
			return -ETIMEDOUT;
		timeout_ms = jiffies_to_msecs(left);
		/* A question may be asked again; a write or flush may take all the time. */
		if (command->known < ISTRIPE_LUN_KNOWN)
			timeout_ms = min_not_zero(timeout_ms, session->internal.answer_ms);
		ret = lun_execute(session, command, timeout_ms);
		if (ret)
			return ret;
		verdict = istripe_sense_verdict(task->status, &task->sense);
		if (verdict == ISTRIPE_SCSI_GOOD)
			return 0;
		if (command->tpgs && lun_refuses_access(task))
			return -ENOLINK;
		/* A unit attention is reported once. */
		if (task->status == SAM_STAT_CHECK_CONDITION)
			session->ops->own_sense(session, command->known == ISTRIPE_LUN_KNOWN);
		session->internal.changed |= verdict == ISTRIPE_SCSI_CHANGED;
		if (istripe_sense_flush_is_lost(command->cdb[0], &task->sense))
			return -EIO;
		ret = lun_check(verdict, command->known, busy_end, &attempt);
		if (ret)
			return ret;
	}
	return -EIO;
}

/* A question that it does not know: it will not know it the next time either. */
static bool lun_knows_not(const struct istripe_task *task)
{
	return task->status == SAM_STAT_CHECK_CONDITION &&
	       task->sense.sense_key == ILLEGAL_REQUEST;
}

/* By another host: nothing is wrong with the path, and the target says it again to all I/O. */
static bool probe_is_reserved(const struct probe *probe)
{
	return probe->session->internal.task.status == SAM_STAT_RESERVATION_CONFLICT;
}

static const char *probe_verdict(const struct probe *probe)
{
	const struct istripe_task *task = &probe->session->internal.task;

	return istripe_scsi_verdict_name(istripe_sense_verdict(task->status, &task->sense));
}

static int probe_send(const struct probe *probe, const u8 *cdb, u32 bytes)
{
	const struct istripe_lun_command command = {
		.address = &probe->number,
		.cdb = cdb,
		.bytes = bytes,
		.tpgs = probe->tpgs,
		.known = probe->known,
		.deadline = probe->deadline,
		.busy_ms = probe->busy_ms,
	};

	return istripe_lun_ask(probe->session, &command);
}

/* An optional question: -EIO the LUN refused, -ENOLINK because of the port's access state. */
static int probe_ask(struct probe *probe, const u8 *cdb, u32 bytes)
{
	int ret = probe_send(probe, cdb, bytes);

	if (!ret || (ret == -EIO && !probe_is_stopped(probe)))
		probe_renew(probe);
	if (ret == -ESTALE)
		istripe_reason_set(probe->why, "the LUN says again and again: %s",
				   istripe_sense_change_name(&probe->session->internal.task.sense));
	probe->bytes = probe->session->internal.task.transferred_bytes;
	probe->untold |= ret == -EIO && !lun_knows_not(&probe->session->internal.task);
	probe->reserved |= ret == -EIO && probe_is_reserved(probe);
	return ret;
}

/* A question that must be answered. */
static int probe_must(struct probe *probe, const u8 *cdb, u32 bytes, const char *name)
{
	const struct istripe_task *task = &probe->session->internal.task;
	int ret = probe_ask(probe, cdb, bytes);

	if (ret == -EIO || ret == -EBUSY)
		istripe_reason_set(probe->why,
				   "LUN bring-up: %s: status 0x%02x, sense %x/%02x/%02x: %s", name,
				   task->status, task->sense.sense_key, task->sense.asc,
				   task->sense.ascq, probe_verdict(probe));
	else if (ret && ret != -ENOTCONN && ret != -ESTALE && ret != -ENOLINK)
		istripe_reason_set(probe->why, "LUN bring-up: %s: %s (%pe)", name,
				   istripe_error_words(ret), ERR_PTR(ret));
	return ret;
}

/* Gives an error without a reason its words. */
static int probe_end(struct probe *probe, int error)
{
	if (!error || probe->why->text[0])
		return error;
	return istripe_reason_fail(probe->why, error, "LUN bring-up: %s (%pe)",
				   istripe_error_words(error), ERR_PTR(error));
}

static int probe_nonsense(struct probe *probe, const char *name)
{
	return istripe_reason_fail(probe->why, -EPROTO,
				   "LUN bring-up: the answer to %s makes no sense", name);
}

/* When the list does not say: flat addressing is made for numbers that need it. */
static void probe_guess_address(struct probe *probe, u16 number)
{
	int_to_scsilun(number < LUN_PLAIN_END ? number : LUN_FLAT | number, &probe->number);
}

static int probe_find_address(struct probe *probe, u16 number)
{
	int ret;

	int_to_scsilun(number, &probe->number);
	ret = istripe_vpd_lun_listed(probe->data, probe->bytes, &probe->number);
	if (ret == 1)
		return ret;
	int_to_scsilun(LUN_FLAT | number, &probe->number);
	ret = istripe_vpd_lun_listed(probe->data, probe->bytes, &probe->number);
	if (ret == -ENODATA)
		probe_guess_address(probe, number);
	return ret;
}

/* REPORT LUNS goes to LUN 0, which answers it even when nothing is there. */
static int probe_listed(struct probe *probe, u16 number)
{
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	int_to_scsilun(0, &probe->number);
	istripe_cdb_report_luns(cdb, ISTRIPE_INTERNAL_BYTES);
	ret = probe_ask(probe, cdb, ISTRIPE_INTERNAL_BYTES);
	if (ret && ret != -EIO)
		return ret;
	if (ret)
		probe_guess_address(probe, number);
	else
		ret = probe_find_address(probe, number);
	if (ret == -EPROTO)
		return probe_nonsense(probe, "REPORT LUNS");
	/* Refused, or the list is too long: INQUIRY will tell. */
	if (ret)
		return 0;
	return istripe_reason_fail(probe->why, -ENXIO, "the target has no LUN %u for us", number);
}

static int probe_no_device(const struct probe *probe)
{
	return istripe_reason_fail(probe->why, -ENXIO, "there is no device at this LUN");
}

/* So says a port that is unavailable, too (SPC-4); its access state will tell. */
static bool probe_may_be_unavailable(const struct probe *probe, const struct istripe_lun *lun)
{
	return lun->inquiry.qualifier == ISTRIPE_VPD_NOT_CONNECTED && lun->inquiry.tpgs &&
	       probe->alua == ISTRIPE_ALUA_ON;
}

static int probe_inquiry(struct probe *probe, struct istripe_lun *lun)
{
	u8 cdb[ISTRIPE_CDB_BYTES];
	bool disk;
	int ret;

	istripe_cdb_inquiry(cdb, 96);
	ret = probe_must(probe, cdb, 96, "INQUIRY");
	if (ret)
		return ret;
	if (istripe_vpd_inquiry_decode(probe->data, probe->bytes, &lun->inquiry))
		return probe_nonsense(probe, "INQUIRY");
	disk = lun->inquiry.device_type == TYPE_DISK || lun->inquiry.device_type == TYPE_RBC;
	/* Of a LUN that is not there yet arrays say so, too, and that it has no type. */
	if (lun->inquiry.qualifier && !(disk && probe_may_be_unavailable(probe, lun)))
		return probe_no_device(probe);
	if (disk)
		return 0;
	return istripe_reason_fail(probe->why, -EMEDIUMTYPE,
				   "the LUN is a device of type 0x%02x, not a disk",
				   lun->inquiry.device_type);
}

static int probe_page_of(struct probe *probe, u8 page, u32 bytes)
{
	u8 cdb[ISTRIPE_CDB_BYTES];

	istripe_cdb_inquiry_vpd(cdb, page, bytes);
	return probe_ask(probe, cdb, bytes);
}

static int probe_page(struct probe *probe, u8 page)
{
	int ret = probe_page_of(probe, page, PAGE_FIRST_BYTES);
	u32 whole;

	if (ret)
		return ret;
	whole = istripe_vpd_page_bytes(probe->data, probe->bytes);
	if (whole <= PAGE_FIRST_BYTES)
		return 0;
	return probe_page_of(probe, page, min_t(u32, whole, ISTRIPE_INTERNAL_BYTES));
}

/* Asking for a page that is not listed upsets some targets. */
static int probe_supported(struct probe *probe, bool *listed, const u8 *pages, u32 count)
{
	int ret = probe_page(probe, ISTRIPE_VPD_SUPPORTED);
	u32 i;

	for (i = 0; i < count; i++)
		listed[i] = !ret && istripe_vpd_page_listed(probe->data, probe->bytes, pages[i]);
	return ret == -EIO ? 0 : ret;
}

/* @refused: VPD 83h was. If it is listed, its refusal says nothing about the LUN. */
static int probe_serial(struct probe *probe, struct istripe_lun *lun, bool refused)
{
	static const u8 pages[] = { ISTRIPE_VPD_IDENTIFICATION, ISTRIPE_VPD_SERIAL };
	bool listed[ARRAY_SIZE(pages)];
	int ret = probe_supported(probe, listed, pages, ARRAY_SIZE(pages));

	if (!ret && ((refused && listed[0]) || !listed[1]))
		ret = -ENOENT;
	ret = ret ?: probe_page(probe, ISTRIPE_VPD_SERIAL);
	ret = ret ?: istripe_vpd_serial_designator(probe->data, probe->bytes, &lun->inquiry,
						   lun->designator, sizeof(lun->designator));
	lun->by_serial = !ret;
	return ret;
}

static int probe_designator(struct probe *probe, struct istripe_lun *lun)
{
	int ret = probe_page(probe, ISTRIPE_VPD_IDENTIFICATION);
	bool refused = ret == -EIO;

	lun->by_serial = false;
	lun->identification_bytes = ret ? 0 : min_t(u32, probe->bytes,
							sizeof(lun->identification));
	memcpy(lun->identification, probe->data, lun->identification_bytes);
	if (!ret && probe->tpgs)
		istripe_vpd_port_decode(probe->data, probe->bytes, &probe->port);
	if (!ret)
		ret = istripe_vpd_designator_decode(probe->data, probe->bytes, lun->designator,
						    sizeof(lun->designator));
	if (refused || ret == -ENOENT)
		ret = probe_serial(probe, lun, refused);
	if (ret == -EIO || ret == -ENOENT || ret == -EPROTO)
		return istripe_reason_fail(probe->why, -EPROTO,
					   "the LUN does not say who it is (VPD 83h): it cannot be told from others");
	return ret;
}

/* After a refusal or nonsense the cautious default stays. */
static int probe_optional(struct probe *probe, struct istripe_lun *lun, u8 page)
{
	int ret = probe_page(probe, page);

	if (ret)
		return ret == -EIO ? 0 : ret;
	switch (page) {
	case ISTRIPE_VPD_SERIAL:
		istripe_vpd_serial_decode(probe->data, probe->bytes, lun->serial,
					  sizeof(lun->serial));
		istripe_vpd_serial_designator(probe->data, probe->bytes, &lun->inquiry,
					      lun->serial_designator,
					      sizeof(lun->serial_designator));
		break;
	case ISTRIPE_VPD_BLOCK_LIMITS:
		istripe_vpd_block_limits_decode(probe->data, probe->bytes, &lun->limits);
		break;
	case ISTRIPE_VPD_CHARACTERISTICS:
		lun->rotational = istripe_vpd_rotational(probe->data, probe->bytes);
		break;
	case ISTRIPE_VPD_PROVISIONING:
		istripe_vpd_provisioning_decode(probe->data, probe->bytes, &lun->provisioning);
		break;
	}
	return 0;
}

static int probe_pages(struct probe *probe, struct istripe_lun *lun)
{
	static const u8 pages[] = {
		ISTRIPE_VPD_SERIAL, ISTRIPE_VPD_BLOCK_LIMITS, ISTRIPE_VPD_CHARACTERISTICS,
		ISTRIPE_VPD_PROVISIONING,
	};
	bool listed[ARRAY_SIZE(pages)];
	int ret = probe_supported(probe, listed, pages, ARRAY_SIZE(pages));
	u32 i;

	if (!ret)
		ret = probe_designator(probe, lun);
	for (i = 0; !ret && i < ARRAY_SIZE(pages); i++)
		if (listed[i])
			ret = probe_optional(probe, lun, pages[i]);
	return ret;
}

/* As sd does: it is told to start once, and then waited for. Its refusal changes no reason. */
static int probe_start(struct probe *probe, const u8 *ready)
{
	u8 start[ISTRIPE_CDB_BYTES];
	int ret;

	istripe_cdb_start_unit(start);
	ret = probe_send(probe, start, 0);
	if (ret == -EIO)
		return ret;
	while (!ret) {
		ret = probe_must(probe, ready, 0, "TEST UNIT READY");
		if (ret != -EIO || !probe_is_stopped(probe))
			break;
		ret = lun_wait(probe->deadline);
	}
	if (ret != -EIO && ret != -EBUSY)
		probe->why->text[0] = '\0';
	return ret;
}

static int probe_ready(struct probe *probe)
{
	bool untold = probe->untold;
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	istripe_cdb_init(cdb, TEST_UNIT_READY);
	ret = probe_must(probe, cdb, 0, "TEST UNIT READY");
	if (ret == -EIO && probe_is_stopped(probe)) {
		ret = probe_start(probe, cdb);
		probe->untold = untold;
	}
	if (ret == -EIO && probe_is_reserved(probe)) {
		probe->why->text[0] = '\0';
		probe->untold = untold;
		ret = 0;
	}
	/* From here on a change may concern something that was asked before. */
	if (!ret)
		probe->known = ISTRIPE_LUN_ASKED;
	return ret;
}

/* They report no limit, or a wrong one; the kernel has them, too (BLIST_MAX_1024). */
static const struct {
	const char *vendor;
	const char *product;	/* its beginning */
	u32 bytes;
} transfer_rows[] = {
	{ "QNAP", "iSCSI Storage", 512 << 10 },
	{ "SYNOLOGY", "iSCSI Storage", 512 << 10 },
	{ "MSFT", "Virtual HD", 512 << 10 },
};

static void lun_cap_transfer(struct istripe_lun *lun)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(transfer_rows); i++)
		if (!strcmp(lun->inquiry.vendor, transfer_rows[i].vendor) &&
		    strstarts(lun->inquiry.product, transfer_rows[i].product))
			lun->limits.max_transfer =
				min_not_zero(lun->limits.max_transfer,
					     transfer_rows[i].bytes / lun->capacity.block_bytes);
}

/* The block layer cannot cut a request to less than a page. */
static int probe_transfer(struct probe *probe, struct istripe_lun *lun)
{
	u64 bytes;

	lun_cap_transfer(lun);
	bytes = (u64)lun->limits.max_transfer * lun->capacity.block_bytes;
	if (!bytes || bytes >= PAGE_SIZE)
		return 0;
	return istripe_reason_fail(probe->why, -EPROTO,
				   "the LUN takes at most %llu bytes at a time: at least %lu are needed",
				   bytes, PAGE_SIZE);
}

/* LIO refuses the long command only; so sd, too, knows the capacity. */
static int probe_capacity_reserved(struct probe *probe, struct istripe_lun *lun)
{
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	probe->why->text[0] = '\0';
	lun->capacity = probe->before->capacity;
	if (probe->before->known)
		return probe_transfer(probe, lun);
	/* Their granularity depends on the physical blocks, which only the long command tells. */
	lun->limits.max_atomic = 0;
	istripe_cdb_init(cdb, READ_CAPACITY);
	ret = probe_must(probe, cdb, 8, "READ CAPACITY(10)");
	if (ret)
		return ret;
	ret = istripe_vpd_capacity10_decode(probe->data, probe->bytes, &lun->capacity);
	if (ret == -EOVERFLOW)
		return istripe_reason_fail(probe->why, -EBUSY,
					   "another host has reserved the LUN, which does not tell its size then (2^32 blocks or more)");
	if (ret)
		return probe_nonsense(probe, "READ CAPACITY(10)");
	return probe_transfer(probe, lun);
}

static int probe_capacity(struct probe *probe, struct istripe_lun *lun)
{
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	istripe_cdb_read_capacity16(cdb, 32);
	ret = probe_must(probe, cdb, 32, "READ CAPACITY(16)");
	if (ret == -EIO && probe_is_reserved(probe))
		return probe_capacity_reserved(probe, lun);
	if (ret)
		return ret;
	if (istripe_vpd_capacity_decode(probe->data, probe->bytes, &lun->capacity))
		return probe_nonsense(probe, "READ CAPACITY(16)");
	return probe_transfer(probe, lun);
}

/* A LUN without the caching page says in front of any other one that it is write protected. */
static int probe_mode_page(struct probe *probe)
{
	static const u8 pages[] = {
		ISTRIPE_MODE_PAGE_CACHING, ISTRIPE_MODE_PAGES_ALL, ISTRIPE_MODE_PAGE_VENDOR,
	};
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret = -EIO;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		istripe_cdb_mode_sense6(cdb, pages[i], 192);
		ret = probe_ask(probe, cdb, 192);
		if (ret != -EIO || !lun_knows_not(&probe->session->internal.task))
			break;
	}
	return ret;
}

static int probe_caching(struct probe *probe, struct istripe_lun *lun)
{
	int ret = probe_mode_page(probe);

	if (ret && ret != -EIO)
		return ret;
	/* Nonsense is taken as a refusal; the next answer may be better. */
	if (!ret && istripe_vpd_caching_decode(probe->data, probe->bytes, &lun->caching))
		probe->untold = true;
	if (ret && probe_is_reserved(probe) && probe->before->known)
		lun->caching = probe->before->caching;
	return 0;
}

/* The identity comes before the access state: it is all that some ports tell. */
static int probe_port(struct probe *probe, struct istripe_lun *lun)
{
	int ret;

	probe->tpgs = lun->inquiry.tpgs && probe->alua == ISTRIPE_ALUA_ON;
	lun->access.tpgs = probe->tpgs ? lun->inquiry.tpgs : 0;
	lun->access.asked_at = jiffies;
	if (!probe->tpgs)
		return 0;
	ret = probe_designator(probe, lun);
	return ret == -EPROTO && lun->inquiry.qualifier ? probe_no_device(probe) : ret;
}

static int probe_port_groups(struct probe *probe, bool extended)
{
	u8 cdb[ISTRIPE_CDB_BYTES];

	istripe_cdb_report_target_port_groups(cdb, ISTRIPE_INTERNAL_BYTES, extended);
	return probe_ask(probe, cdb, ISTRIPE_INTERNAL_BYTES);
}

/* A port that fails to tell its state is no better than before. One that refuses will say so. */
static void probe_keep_access(const struct probe *probe, struct istripe_lun *lun)
{
	const struct istripe_access *before = &probe->before->access;

	if (lun->access.known || before->tpgs != lun->access.tpgs ||
	    !istripe_alua_usable(before->state))
		return;
	lun->access.state = before->state;
	lun->access.group = before->group;
	lun->access.preferred = before->preferred;
	lun->access.may_optimize = before->may_optimize;
}

/* After a refusal or nonsense the port counts as one whose state is not told. */
static int probe_access(struct probe *probe, struct istripe_lun *lun)
{
	int ret;

	if (!probe->tpgs)
		return 0;
	ret = probe_port_groups(probe, true);
	/* Not all know the extended header. */
	if (ret == -EIO)
		ret = probe_port_groups(probe, false);
	if (ret == -EIO && !lun_knows_not(&probe->session->internal.task))
		probe_keep_access(probe, lun);
	if (ret)
		return ret == -EIO ? 0 : ret;
	istripe_alua_decode(probe->data, probe->bytes, &probe->port, &lun->access);
	return istripe_alua_usable(lun->access.state) ? 0 : -ENOLINK;
}

/* The port takes I/O, but may have been unavailable when INQUIRY was answered. */
static int probe_connected(struct probe *probe, struct istripe_lun *lun)
{
	int ret = lun->inquiry.qualifier ? probe_inquiry(probe, lun) : 0;

	return ret || !lun->inquiry.qualifier ? ret : probe_no_device(probe);
}

/* The port takes no I/O. When REPORT TARGET PORT GROUPS did not say so, a refusal has. */
static int probe_no_access(struct probe *probe, struct istripe_lun *lun)
{
	if (istripe_alua_usable(lun->access.state))
		lun->access.state =
			istripe_alua_sense_state(&probe->session->internal.task.sense);
	lun->access.known = true;
	if (probe->port.group_known)
		lun->access.group = probe->port.group;
	if (lun->designator[0])
		return 0;
	return istripe_reason_fail(probe->why, -EIO,
				   "the LUN does not say who it is: its target port is %s",
				   istripe_alua_state_name(lun->access.state));
}

/* A LUN that does not know the question has no keys; any other refusal says nothing. */
static int probe_keys(struct probe *probe, struct istripe_lun *lun)
{
	bool untold = probe->untold;
	struct istripe_pr_keys keys = {};
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	if (probe->before->keyed)
		return 0;
	istripe_cdb_reserve_in_keys(cdb, ISTRIPE_INTERNAL_BYTES);
	/* Commands and error handling wait for a revalidation; istripe_pr_key_ask() goes on. */
	probe->busy_ms = probe->session->internal.answer_ms ? BUSY_KEYS_MS : 0;
	ret = probe_ask(probe, cdb, ISTRIPE_INTERNAL_BYTES);
	probe->busy_ms = 0;
	probe->untold = untold;
	if (ret == -EIO)
		lun->keys.told = lun_knows_not(&probe->session->internal.task);
	else if (!ret)
		lun->keys.told = !istripe_pr_keys_decode(probe->data, probe->bytes, 0, &keys);
	lun->keys.listed = keys.listed;
	lun->keys.busy = ret == -EBUSY;
	return ret == -EIO || ret == -EBUSY ? 0 : ret;
}

static int probe_all(struct probe *probe, u16 number, struct istripe_lun *lun)
{
	int ret;

	probe->known = ISTRIPE_LUN_UNKNOWN;
	probe->tpgs = false;
	probe->untold = false;
	probe->reserved = false;
	probe->why->text[0] = '\0';
	/* Until the LUN says otherwise: it spins and has a cache that must be flushed. */
	*lun = (struct istripe_lun) { .rotational = true, .caching.write_cache = true };
	ret = probe_listed(probe, number);
	lun->address = probe->number;
	ret = ret ?:
	      probe_inquiry(probe, lun) ?:
	      probe_port(probe, lun) ?:
	      probe_access(probe, lun) ?:
	      probe_connected(probe, lun) ?:
	      probe_ready(probe) ?:
	      probe_pages(probe, lun) ?:
	      probe_capacity(probe, lun) ?:
	      probe_caching(probe, lun) ?:
	      /* Again, after the unit attentions of changes since. */
	      probe_access(probe, lun) ?:
	      probe_keys(probe, lun);
	return ret == -ENOLINK ? probe_no_access(probe, lun) : ret;
}

int istripe_lun_probe(struct istripe_session *session, u16 number, enum istripe_alua alua,
		      const struct istripe_lun_time *time, const struct istripe_lun_before *before,
		      struct istripe_lun *lun, struct istripe_reason *why)
{
	struct probe probe = {
		.session = session,
		.alua = alua,
		.before = before,
		.data = page_address(session->internal.page),
		.why = why,
		.time = time,
		.deadline = jiffies + msecs_to_jiffies(time->timeout_ms),
		.end = jiffies + msecs_to_jiffies(time->all_ms),
	};
	u32 attempt = 0;
	int ret;

	session->internal.changed = false;
	do {
		ret = probe_all(&probe, number, lun);
	} while (ret == -ESTALE && ++attempt < ATTEMPTS_MAX);
	lun->changed = session->internal.changed;
	lun->untold = probe.untold;
	lun->reserved = probe.reserved;
	return probe_end(&probe, ret);
}

bool istripe_lun_is(const struct istripe_lun *lun, const char *designator)
{
	return !strcmp(lun->designator, designator) ||
	       istripe_vpd_designator_offered(lun->identification, lun->identification_bytes,
					      designator);
}

bool istripe_lun_was(const struct istripe_lun *lun, const char *known, const char *since)
{
	const struct istripe_vpd_names names = {
		.best = lun->designator, .serial = lun->serial_designator,
		.page = lun->identification, .page_bytes = lun->identification_bytes,
	};

	return istripe_vpd_names_are(&names, known, since);
}
