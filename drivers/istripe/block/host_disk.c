// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/container_of.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kmod.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_driver.h>
#include <compat/device.h>
#include <compat/disk.h>

#include <istripe/reason.h>
#include "block/host_disk.h"
#include "block/leg.h"
#include "block/volume.h"
#include "iscsi/error.h"
#include "scsi/vpd.h"

/* A program may hold a new disk for a moment; one that holds it for longer is told of. */
#define QUICK_CHECKS	20
#define QUICK_PAUSE_MS	100
#define SLOW_PAUSE_MS	5000
#define READY_MS	10000	/* an enable waits so long for a disk to get ready */
#define READY_PAUSE_MS	100

static LIST_HEAD(started);
static DEFINE_MUTEX(started_lock);
static typeof_member(struct device, bus) scsi_bus;	/* once a SCSI device has shown it */

struct host_disk {
	struct list_head entry;
	struct scsi_device *sdev;		/* NULL: it is gone */
	struct istripe_compat_claimed *claimed;	/* NULL: claimed by somebody else */
	bool told;				/* that it is claimed, or cannot be */
};

struct search {
	struct istripe_volume *volume;
	enum istripe_host_disk policy;
	bool late;			/* the volume is up already */
	bool patient;			/* a disk that cannot be claimed is not told of yet */
	bool again;			/* there is such a disk */
	struct scsi_device *sdev;	/* is being checked */
	const struct istripe_leg *leg;	/* the leg that @sdev is */
	struct istripe_reason *why;
};

/* Other volumes */

/* The first of legs 0..@end - 1 that is the LUN; either may be known by another designator. */
static const struct istripe_leg *leg_of_lun(const struct istripe_volume *volume, u32 end,
					    const struct istripe_lun *lun)
{
	const struct istripe_lun *other;
	u32 i;

	for (i = 0; i < end; i++) {
		other = &volume->legs[i]->lun;
		if (istripe_lun_was(other, lun->designator, "") ||
		    istripe_lun_was(lun, other->designator, ""))
			return volume->legs[i];
	}
	return NULL;
}

static int lun_claim_check(const struct istripe_volume *volume, u32 index,
			   struct istripe_reason *why)
{
	const struct istripe_lun *lun = &volume->legs[index]->lun;
	const struct istripe_leg *leg = leg_of_lun(volume, index, lun);
	const struct istripe_volume *other;

	if (leg)
		return istripe_reason_fail(why, -EINVAL, "legs %u and %u are the same LUN, %s",
					   leg->index, index, lun->designator);
	list_for_each_entry(other, &started, host_disks.entry) {
		leg = leg_of_lun(other, other->leg_count, lun);
		if (!leg)
			continue;
		return istripe_reason_fail(why, -EBUSY,
					   "leg %u is LUN %s, which is leg %u of volume %s already: that volume must be down first",
					   index, lun->designator, leg->index, other->name);
	}
	return 0;
}

static int luns_claim(struct istripe_volume *volume, struct istripe_reason *why)
{
	int ret = 0;
	u32 i;

	mutex_lock(&started_lock);
	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = lun_claim_check(volume, i, why);
	/* On the list before the search: no disk that comes meanwhile is missed. */
	if (!ret)
		list_add(&volume->host_disks.entry, &started);
	mutex_unlock(&started_lock);
	return ret;
}

static bool volume_is_array(const struct istripe_volume *other, const u8 *uuid)
{
	return other->host_disks.array &&
	       !memcmp(other->metadata.legs[0].array_uuid, uuid,
		       sizeof(other->metadata.legs[0].array_uuid));
}

int istripe_host_disks_claim_array(struct istripe_volume *volume, struct istripe_reason *why)
{
	const struct istripe_volume *other;
	const u8 *uuid;
	int ret = 0;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return 0;
	uuid = volume->metadata.legs[0].array_uuid;
	mutex_lock(&started_lock);
	list_for_each_entry(other, &started, host_disks.entry) {
		if (!volume_is_array(other, uuid))
			continue;
		ret = istripe_reason_fail(why, -EBUSY,
					  "its superblocks are of array %4phN:%4phN:%4phN:%4phN, which is volume %s already: these LUNs, or that volume's, are copies",
					  uuid, uuid + 4, uuid + 8, uuid + 12, other->name);
		break;
	}
	volume->host_disks.array = !ret;
	mutex_unlock(&started_lock);
	return ret;
}

/* The leg that a SCSI device is */

/* Either may be known by another designator of the same LUN. */
static bool lun_is_page(const struct istripe_lun *lun, const struct scsi_vpd *page,
			const char *best)
{
	return istripe_lun_is(lun, best) ||
	       istripe_vpd_designator_offered(page->data, page->len, lun->designator);
}

static const struct istripe_leg *leg_of_designator(const struct istripe_volume *volume,
						   struct scsi_device *sdev, bool *named)
{
	char designator[ISTRIPE_DESIGNATOR_BYTES] = "";
	const struct istripe_leg *leg = NULL;
	const struct scsi_vpd *page;
	u32 i;

	rcu_read_lock();
	page = rcu_dereference(sdev->vpd_pg83);
	if (page)
		istripe_vpd_designator_decode(page->data, page->len, designator,
					      sizeof(designator));
	for (i = 0; designator[0] && !leg && i < volume->leg_count; i++)
		if (lun_is_page(&volume->legs[i]->lun, page, designator))
			leg = volume->legs[i];
	rcu_read_unlock();
	*named = designator[0];
	return leg;
}

/* A serial number is unique among the devices of one vendor and product. */
static bool leg_has_serial(const struct istripe_lun *lun, const char *serial,
			   const struct istripe_vpd_inquiry *inquiry)
{
	return !strcmp(lun->serial, serial) && !strcmp(lun->inquiry.vendor, inquiry->vendor) &&
	       !strcmp(lun->inquiry.product, inquiry->product);
}

/* A device that has a designator may be a leg that is known by its serial number from before. */
static const struct istripe_leg *leg_of_serial(const struct istripe_volume *volume,
					       struct scsi_device *sdev, bool named)
{
	char serial[ISTRIPE_SERIAL_BYTES] = "";
	struct istripe_vpd_inquiry inquiry;
	const struct scsi_vpd *page;
	u32 i;

	rcu_read_lock();
	page = rcu_dereference(sdev->vpd_pg80);
	if (page)
		istripe_vpd_serial_decode(page->data, page->len, serial, sizeof(serial));
	rcu_read_unlock();
	if (!serial[0] ||
	    istripe_vpd_inquiry_decode(sdev->inquiry, sdev->inquiry_len, &inquiry))
		return NULL;
	for (i = 0; i < volume->leg_count; i++)
		if (leg_has_serial(&volume->legs[i]->lun, serial, &inquiry) &&
		    (!named || volume->legs[i]->lun.by_serial))
			return volume->legs[i];
	return NULL;
}

static const struct istripe_leg *leg_of_device(const struct istripe_volume *volume,
					       struct scsi_device *sdev)
{
	const struct istripe_leg *leg;
	bool named;

	leg = leg_of_designator(volume, sdev, &named);
	return leg ?: leg_of_serial(volume, sdev, named);
}

/* The disks that a volume knows */

static struct host_disk *disk_find(const struct istripe_volume *volume,
				   const struct scsi_device *sdev)
{
	struct host_disk *disk;

	lockdep_assert_held(&started_lock);
	list_for_each_entry(disk, &volume->host_disks.known, entry)
		if (disk->sdev == sdev)
			return disk;
	return NULL;
}

static void disk_free(struct host_disk *disk)
{
	if (disk->claimed)
		istripe_compat_bdev_release(disk->claimed);
	kfree(disk);
}

static bool device_is_going(const struct scsi_device *sdev)
{
	enum scsi_device_state state = READ_ONCE(sdev->sdev_state);

	return state == SDEV_CANCEL || state == SDEV_DEL;
}

/*
 * The disk of a SCSI device is complete when its driver is bound. This state is read without the
 * lock of the device, which the driver's probe holds until then.
 */
static bool device_is_ready(const struct scsi_device *sdev)
{
	return READ_ONCE(sdev->sdev_gendev.links.status) == DL_DEV_DRIVER_BOUND;
}

/*
 * The SCSI layer sets the state before it calls device_gone(): either that finds the disk in the
 * list, or this function sees the state. Returns whether there is something to tell.
 */
static bool disk_remember(struct search *search, struct host_disk *disk)
{
	struct istripe_volume *volume = search->volume;
	struct host_disk *known;
	bool tell = false;

	mutex_lock(&started_lock);
	known = disk_find(volume, disk->sdev);
	if (known && known->claimed) {
		known = NULL;
	} else if (known) {
		swap(known->claimed, disk->claimed);
	} else if (!device_is_going(disk->sdev)) {
		known = disk;
		list_add(&disk->entry, &volume->host_disks.known);
	}
	if (known) {
		tell = known->claimed || !(search->patient || known->told);
		known->told |= tell;
		search->again |= !known->claimed;
	}
	mutex_unlock(&started_lock);
	if (known != disk)
		disk_free(disk);
	return tell;
}

static void disks_free(struct list_head *disks)
{
	struct host_disk *disk, *next;

	list_for_each_entry_safe(disk, next, disks, entry)
		disk_free(disk);
}

static void disks_free_gone(struct istripe_volume *volume)
{
	struct host_disk *disk, *next;
	LIST_HEAD(gone);

	mutex_lock(&started_lock);
	list_for_each_entry_safe(disk, next, &volume->host_disks.known, entry)
		if (!disk->sdev)
			list_move(&disk->entry, &gone);
	mutex_unlock(&started_lock);
	disks_free(&gone);
}

static bool disk_is_claimed(struct istripe_volume *volume, const struct scsi_device *sdev)
{
	const struct host_disk *disk;
	bool claimed;

	mutex_lock(&started_lock);
	disk = disk_find(volume, sdev);
	claimed = disk && disk->claimed;
	mutex_unlock(&started_lock);
	return claimed;
}

/* Search */

static void disk_tell(const struct search *search, const char *name, int error)
{
	const char *volume = search->volume->name;
	u32 leg = search->leg->index;

	if (!error)
		pr_warn("%s: leg %u is also /dev/%s of this host, through another initiator: claimed, so that nobody mounts it\n",
			volume, leg, name);
	else if (error == -EBUSY)
		pr_err("%s: leg %u is also in use as /dev/%s of this host, through another initiator: two users of the same blocks: end that use (lsblk /dev/%s) and log out there at once (iscsiadm -m node -T TARGET -u)\n",
		       volume, leg, name, name);
	else
		pr_warn("%s: leg %u is also /dev/%s of this host, through another initiator, and cannot be claimed: %s (%pe): do not use it\n",
			volume, leg, name, istripe_error_words(error), ERR_PTR(error));
}

/* A volume that is up cannot be refused any more. */
static int disk_decide(const struct search *search, const char *name, int error)
{
	const struct istripe_leg *leg = search->leg;

	if (search->late)
		return 0;
	if (error == -EBUSY)
		return istripe_reason_fail(search->why, -EBUSY,
					   "leg %u is LUN %s, which this host uses as /dev/%s, through another initiator: unmount it, or end the multipath, LVM, MD or swap that holds it, and log out",
					   leg->index, leg->lun.designator, name);
	if (search->policy == ISTRIPE_HOST_DISK_CLAIM)
		return 0;
	return istripe_reason_fail(search->why, -EBUSY,
				   "leg %u is LUN %s, which is /dev/%s of this host, through another initiator: log out there, or set host_disks to claim, which keeps it from being mounted",
				   leg->index, leg->lun.designator, name);
}

/*
 * Only one child of a SCSI device is the disk; others are sg, bsg and the like. The volume is the
 * holder, and may claim a disk twice.
 */
static int disk_check(struct device *dev, void *data)
{
	struct istripe_compat_claimed *claimed;
	struct search *search = data;
	struct host_disk *disk;
	int error, ret;

	if (!dev->class || strcmp(dev->class->name, "block"))
		return 0;
	disk = kzalloc(sizeof(*disk), GFP_KERNEL);
	if (!disk)
		return -ENOMEM;
	claimed = istripe_compat_bdev_claim(dev->devt, search->volume);
	error = PTR_ERR_OR_ZERO(claimed);
	disk->sdev = search->sdev;
	disk->claimed = error ? NULL : claimed;
	ret = disk_decide(search, dev_name(dev), error);
	if (ret)
		disk_free(disk);
	else if (disk_remember(search, disk))
		disk_tell(search, dev_name(dev), error);
	return ret;
}

static int device_check(struct device *dev, void *data)
{
	struct scsi_device *sdev = class_to_sdev(dev);
	struct search *search = data;

	search->leg = leg_of_device(search->volume, sdev);
	if (!search->leg || (search->late && disk_is_claimed(search->volume, sdev)))
		return 0;
	if (!device_is_ready(sdev))
		return 0;
	search->sdev = sdev;
	return device_for_each_child(&sdev->sdev_gendev, search, disk_check);
}

/* SCSI devices that come and go */

static void host_disks_check(struct istripe_volume *volume)
{
	atomic_set(&volume->host_disks.checks, 0);
	mod_delayed_work(system_long_wq, &volume->host_disks.work, 0);
}

static void device_check_volumes(struct scsi_device *sdev)
{
	struct istripe_volume *volume;

	mutex_lock(&started_lock);
	list_for_each_entry(volume, &started, host_disks.entry)
		if (!volume->host_disks.ending && leg_of_device(volume, sdev))
			host_disks_check(volume);
	mutex_unlock(&started_lock);
}

/* The disk has just been announced to udev, whose rules assemble the arrays that are on it. */
static int bus_event(struct notifier_block *unused, unsigned long event, void *dev)
{
	if (event == BUS_NOTIFY_BOUND_DRIVER && scsi_is_sdev_device(dev))
		device_check_volumes(to_scsi_device(dev));
	return NOTIFY_DONE;
}

static struct notifier_block bus_events = {
	.notifier_call = bus_event,
};

/* One at a time. A disk that is ready is found at once, the bus tells of one that gets ready. */
static int device_come(ISTRIPE_COMPAT_CLASS_DEVICE(dev))
{
	struct scsi_device *sdev = class_to_sdev(dev);

	if (!scsi_bus && !bus_register_notifier(sdev->sdev_gendev.bus, &bus_events))
		scsi_bus = sdev->sdev_gendev.bus;
	device_check_volumes(sdev);
	return 0;
}

static void device_gone(ISTRIPE_COMPAT_CLASS_DEVICE(dev))
{
	struct istripe_volume *volume;
	struct host_disk *disk;

	mutex_lock(&started_lock);
	list_for_each_entry(volume, &started, host_disks.entry) {
		disk = volume->host_disks.ending ? NULL : disk_find(volume, class_to_sdev(dev));
		if (!disk)
			continue;
		disk->sdev = NULL;
		host_disks_check(volume);
	}
	mutex_unlock(&started_lock);
}

static struct class_interface host_devices = {
	.add_dev = device_come,
	.remove_dev = device_gone,
};

/* Disks of others, and a module that waits for them, must not hold up a volume. */
static int device_is_awaited(struct device *dev, void *volume)
{
	struct scsi_device *sdev = class_to_sdev(dev);

	return !device_is_ready(sdev) && !device_is_going(sdev) && leg_of_device(volume, sdev);
}

static bool host_disks_awaited(struct istripe_volume *volume)
{
	return class_for_each_device(host_devices.class, NULL, volume, device_is_awaited);
}

static void host_disks_load(void)
{
	request_module_nowait("sd_mod");
}

static void host_disks_work(struct work_struct *work)
{
	struct istripe_volume *volume = container_of(to_delayed_work(work), struct istripe_volume,
						     host_disks.work);
	struct search search = { .volume = volume, .late = true };
	int checks, ret;

	disks_free_gone(volume);
	checks = atomic_fetch_add_unless(&volume->host_disks.checks, 1, QUICK_CHECKS);
	if (!checks && host_disks_awaited(volume))
		host_disks_load();
	search.patient = checks < QUICK_CHECKS;
	ret = class_for_each_device(host_devices.class, NULL, &search, device_check);
	if (ret)
		pr_err("%s: cannot claim a disk of this host that is a LUN of it: %s (%pe)\n",
		       volume->name, istripe_error_words(ret), ERR_PTR(ret));
	if (search.again)
		queue_delayed_work(system_long_wq, &volume->host_disks.work,
				   msecs_to_jiffies(search.patient ? QUICK_PAUSE_MS :
								     SLOW_PAUSE_MS));
}

/* Volumes */

void istripe_host_disks_init(struct istripe_volume *volume)
{
	INIT_LIST_HEAD(&volume->host_disks.entry);
	INIT_LIST_HEAD(&volume->host_disks.known);
	INIT_DELAYED_WORK(&volume->host_disks.work, host_disks_work);
}

static void host_disks_wait(struct istripe_volume *volume)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(READY_MS);
	bool awaited = host_disks_awaited(volume);

	if (!awaited)
		return;
	host_disks_load();
	while (awaited && time_before(jiffies, deadline)) {
		msleep(READY_PAUSE_MS);
		awaited = host_disks_awaited(volume);
	}
}

int istripe_host_disks_start(struct istripe_volume *volume, enum istripe_host_disk policy,
			     struct istripe_reason *why)
{
	struct search search = {
		.volume = volume, .policy = policy, .why = why,
	};
	int ret;

	ret = luns_claim(volume, why);
	if (ret)
		return ret;
	host_disks_wait(volume);
	ret = class_for_each_device(host_devices.class, NULL, &search, device_check);
	if (!ret && search.again)
		host_disks_check(volume);
	return ret;
}

void istripe_host_disks_stop(struct istripe_volume *volume)
{
	mutex_lock(&started_lock);
	volume->host_disks.ending = true;
	mutex_unlock(&started_lock);
	/* Now nothing else queues the work again or finds the disks. */
	cancel_delayed_work_sync(&volume->host_disks.work);
	disks_free(&volume->host_disks.known);
	/* Last: another volume may claim the LUNs at once. */
	mutex_lock(&started_lock);
	list_del(&volume->host_disks.entry);
	mutex_unlock(&started_lock);
}

int istripe_host_disks_register(void)
{
	return scsi_register_interface(&host_devices);
}

void istripe_host_disks_unregister(void)
{
	scsi_unregister_interface(&host_devices);
	if (scsi_bus)
		bus_unregister_notifier(scsi_bus, &bus_events);
}
