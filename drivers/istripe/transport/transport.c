// SPDX-License-Identifier: GPL-2.0
#include <linux/workqueue.h>

#include "transport/inject.h"
#include "transport/resolve.h"
#include "transport/socket.h"
#include "transport/submitter.h"
#include "transport/transport.h"
#include "transport/zerocopy.h"

struct workqueue_struct *istripe_io_wq;

int istripe_transport_init(void)
{
	int ret;

	istripe_io_wq = alloc_workqueue("istripe_io", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!istripe_io_wq)
		return -ENOMEM;
	ret = istripe_sender_init();
	if (ret)
		goto destroy_wq;
	ret = istripe_resolve_init();
	if (ret)
		goto exit_sender;
	ret = istripe_socket_init();
	if (ret)
		goto exit_resolve;
	istripe_inject_init();
	return 0;

exit_resolve:
	istripe_resolve_exit();
exit_sender:
	istripe_sender_exit();
destroy_wq:
	destroy_workqueue(istripe_io_wq);
	return ret;
}

void istripe_transport_exit(void)
{
	istripe_inject_exit();
	istripe_zerocopy_exit();
	istripe_socket_exit();
	istripe_resolve_exit();
	istripe_sender_exit();
	destroy_workqueue(istripe_io_wq);
}
