// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>

#include "iscsi/error.h"

static const struct {
	int error;
	const char *words;
} error_rows[] = {
	{ -EADDRINUSE,		"the source address and port are in use" },
	{
		-EADDRNOTAVAIL,
		"the source address cannot be used: it is not on this host, still being checked, or a duplicate; or no port is free",
	},
	{ -EBADMSG,		"a digest that is wrong" },
	{ -EBUSY,		"busy until the time was up" },
	{ -ECANCELED,		"the target has dropped the command" },
	{ -ECONNABORTED,	"the connection was aborted here" },
	{ -ECONNREFUSED,	"nobody listens there" },
	{ -ECONNRESET,		"the other side has closed the connection" },
	{ -EEXIST,		"there is one already" },
	{ -EHOSTUNREACH,	"no such host can be reached" },
	{ -EINTR,		"interrupted" },
	{ -EINVAL,		"not valid" },
	{ -EIO,			"refused" },
	{ -EMSGSIZE,		"too long" },
	{ -ENETDOWN,		"the network is down" },
	{ -ENETUNREACH,		"no route to that network" },
	{ -ENODEV,		"no such network device" },
	{ -ENOENT,		"there is none" },
	{ -ENOLINK,		"the target port takes no I/O" },
	{ -ENOMEM,		"not enough memory" },
	{ -ENOSPC,		"no room" },
	{ -ENOTCONN,		"the connection was lost" },
	{ -EOPNOTSUPP,		"not supported" },
	{ -EPERM,		"not permitted" },
	{ -EPIPE,		"the connection is closed" },
	{ -EPROTO,		"an answer that makes no sense" },
	{ -ESTALE,		"the LUN says that it has changed" },
	{ -ETIMEDOUT,		"no answer in time" },
	{ -EXDEV,		"another portal group" },
};

const char *istripe_error_words(int error)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(error_rows); i++)
		if (error_rows[i].error == error)
			return error_rows[i].words;
	return "failed";
}
