// SPDX-License-Identifier: GPL-2.0
/* Standard output, and a file that others read at any time. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "output.h"

int output_open(struct output *output, const char *path, mode_t mode, struct fault *fault)
{
	int fd;

	output->path = path;
	output->temporary = alloc_printf("%s.XXXXXX", path);
	output->out = NULL;
	fd = mkostemp(output->temporary, O_CLOEXEC);
	if (fd >= 0 && !fchmod(fd, mode))
		output->out = fdopen(fd, "w");
	if (output->out)
		return 0;
	fault_set(fault, -errno, "%s: %s", path, strerror(errno));
	if (fd >= 0) {
		close(fd);
		unlink(output->temporary);
	}
	free(output->temporary);
	return -EIO;
}

int output_close(struct output *output, int ret, struct fault *fault)
{
	bool failed = ferror(output->out);

	/* fclose() tells of a full disk, too. */
	errno = EIO;
	if ((fclose(output->out) || failed) && !ret)
		ret = fault_set(fault, -errno, "%s: %s", output->path, strerror(errno));
	if (!ret && rename(output->temporary, output->path))
		ret = fault_set(fault, -errno, "%s: %s", output->path, strerror(errno));
	if (ret)
		unlink(output->temporary);
	free(output->temporary);
	return ret;
}

/* Where SIGPIPE is not ignored it ends the tool as silently. */
static bool nobody_reads(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP));
}

int output_finish(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	if (!nobody_reads())
		perror("istripectl: standard output");
	return -EIO;
}
