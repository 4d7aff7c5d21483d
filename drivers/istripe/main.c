// SPDX-License-Identifier: GPL-2.0
/* istripe: a striping iSCSI initiator. Module entry and exit. */
#include <linux/module.h>

#include "block/volume.h"
#include "control/configfs.h"
#include "transport/transport.h"

static int __init istripe_init(void)
{
	int ret;

	ret = istripe_transport_init();
	if (ret)
		return ret;
	ret = istripe_block_init();
	if (ret)
		goto exit_transport;
	ret = istripe_configfs_register();
	if (ret)
		goto exit_block;
	return 0;

exit_block:
	istripe_block_exit();
exit_transport:
	istripe_transport_exit();
	return ret;
}

static void __exit istripe_exit(void)
{
	istripe_configfs_unregister();
	istripe_block_exit();
	istripe_transport_exit();
}

module_init(istripe_init);
module_exit(istripe_exit);

static_assert(BITS_PER_LONG == 64, "jiffies would wrap within weeks");

MODULE_DESCRIPTION("Striping iSCSI initiator");
MODULE_AUTHOR("The istripe authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(ISTRIPE_VERSION);
/* Not a softdep: modprobe -r would complain of modules that are also used elsewhere. */
MODULE_INFO(weakdep, "md5 sha1 sha256 sha3_generic");
