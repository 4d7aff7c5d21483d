// SPDX-License-Identifier: GPL-2.0
/*
 * A volume with superblocks has the array's UUID. Without superblocks a volume of one leg has the
 * names of its LUN, whose data it shows; any other has none. A name that is not known has no file:
 * an empty name would be the same for all volumes.
 *
 * All of this is known before the disk is added and does not change while it exists.
 */
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/sysfs.h>

#include "block/disk_names.h"
#include "block/volume.h"

static const u8 *volume_uuid(const struct istripe_volume *volume)
{
	return volume->metadata.legs ? volume->metadata.legs[0].array_uuid : NULL;
}

/* The LUN whose data the disk shows as they are. */
static const struct istripe_lun *volume_lun(const struct istripe_volume *volume)
{
	if (volume->metadata.legs || volume->leg_count > 1)
		return NULL;
	return &volume->legs[0]->lun;
}

/* The device */

static ssize_t vendor_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "istripe\n");
}
static DEVICE_ATTR_RO(vendor);

static ssize_t model_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "volume\n");
}
static DEVICE_ATTR_RO(model);

static ssize_t serial_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct istripe_volume *volume = dev_get_drvdata(dev);
	const u8 *uuid = volume_uuid(volume);

	if (uuid)
		return sysfs_emit(page, "%16phN\n", uuid);
	return sysfs_emit(page, "%s\n", volume_lun(volume)->serial);
}
static DEVICE_ATTR_RO(serial);

static struct attribute *parent_attrs[] = {
	&dev_attr_vendor.attr,
	&dev_attr_model.attr,
	&dev_attr_serial.attr,
	NULL,
};

static umode_t parent_visible(struct kobject *kobj, struct attribute *attr, int index)
{
	const struct istripe_volume *volume = dev_get_drvdata(kobj_to_dev(kobj));
	const struct istripe_lun *lun = volume_lun(volume);

	if (attr != &dev_attr_serial.attr || volume_uuid(volume) || (lun && lun->serial[0]))
		return attr->mode;
	return 0;
}

static const struct attribute_group parent_group = {
	.attrs = parent_attrs,
	.is_visible = parent_visible,
};
__ATTRIBUTE_GROUPS(parent);

/* The class makes "device" of the disk lead to this device. */
static struct class parent_class = {
	.name = "istripe",
	.dev_groups = parent_groups,
};

/* The disk */

static const struct istripe_volume *disk_volume(struct device *dev)
{
	return dev_to_disk(dev)->queue->queuedata;
}

/* The prefixes are those of SCSI and NVMe disks. */
static ssize_t wwid_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct istripe_volume *volume = disk_volume(dev);
	const u8 *uuid = volume_uuid(volume);

	if (uuid)
		return sysfs_emit(page, "uuid.%pUb\n", uuid);
	return sysfs_emit(page, "%s\n", volume_lun(volume)->designator);
}
static DEVICE_ATTR_RO(wwid);

static struct attribute *disk_attrs[] = {
	&dev_attr_wwid.attr,
	NULL,
};

static umode_t disk_visible(struct kobject *kobj, struct attribute *attr, int index)
{
	const struct istripe_volume *volume = disk_volume(kobj_to_dev(kobj));

	return volume_uuid(volume) || volume_lun(volume) ? attr->mode : 0;
}

static const struct attribute_group disk_group = {
	.attrs = disk_attrs,
	.is_visible = disk_visible,
};

const struct attribute_group *istripe_disk_names_groups[] = {
	&disk_group,
	NULL,
};

int istripe_disk_names_create(struct istripe_volume *volume)
{
	struct device *device;

	device = device_create(&parent_class, NULL, MKDEV(0, 0), volume, "istripe%d",
			       volume->id);
	if (IS_ERR(device))
		return PTR_ERR(device);
	volume->device = device;
	return 0;
}

void istripe_disk_names_destroy(struct istripe_volume *volume)
{
	device_unregister(volume->device);
	volume->device = NULL;
}

int istripe_disk_names_init(void)
{
	return class_register(&parent_class);
}

void istripe_disk_names_exit(void)
{
	class_unregister(&parent_class);
}
