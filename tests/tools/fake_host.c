// SPDX-License-Identifier: GPL-2.0
/*
 * A network and a clock of the tests' own, linked into istripectl-test: what the kernel does not
 * say in files is read from files below $ISTRIPECTL_ROOT/fake. Where there is no such file the
 * kernel is asked as ever.
 *
 *	routes		TO BOUND-TO NIC SOURCE MTU, or TO BOUND-TO error ERRNO; "-": none
 *	addresses	NIC ADDRESS PREFIX, then duplicate or tentative
 *	tcp		LOCAL REMOTE RTT-US MTU SENT SENT-AGAIN CONGESTION, then perhaps RECEIVED
 *			OUT-OF-ORDER, of full segments
 *	reach		PORTAL NIC ERRNO; nobody else answers
 *	ping		TO LARGEST-ANSWERED; nobody else answers, when there is a file routes
 *	clock		the status of adjtimex()
 *	user		geteuid()
 *	block/NAME	the logical block of an image of this name, in bytes
 *	ethtool/NIC	pause RX TX; rings RX RX-MAX TX TX-MAX; feature NAME ON CHANGEABLE;
 *			driver NAME
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "alloc.h"
#include "fake_host.h"
#include "portal.h"

static FILE *fake_open(const char *dir, const char *name)
{
	const char *root = getenv("ISTRIPECTL_ROOT");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/fake/%s%s", root ? root : "", dir, name);
	return root ? fopen(path, "re") : NULL;
}

static bool line_next(char *line, int bytes, FILE *file)
{
	return fgets(line, bytes, file) && *line != '\n';
}

static int refuse(int error)
{
	errno = error;
	return -1;
}

int __wrap_adjtimex(struct timex *clock)
{
	FILE *file = fake_open("", "clock");

	if (!file)
		return __real_adjtimex(clock);
	if (fscanf(file, "%d", &clock->status) != 1)
		abort();
	fclose(file);
	return clock->status < 0 ? refuse(-clock->status) : TIME_OK;
}

uid_t __wrap_geteuid(void)
{
	FILE *file = fake_open("", "user");
	unsigned int user;

	if (!file)
		return __real_geteuid();
	if (fscanf(file, "%u", &user) != 1)
		abort();
	fclose(file);
	return user;
}

/* The network */

static int route_take(const char *nic, const char *source, const char *mtu,
		      struct host_route *route)
{
	memset(route, 0, sizeof(*route));
	if (!strcmp(nic, "error"))
		return -atoi(source);
	snprintf(route->nic, sizeof(route->nic), "%.15s", nic);
	snprintf(route->source, sizeof(route->source), "%.45s", source);
	route->mtu = atoi(mtu);
	route->assumed = !strcmp(mtu, "assumed");
	return 0;
}

int __wrap_host_route(const char *to, const char *nic, const char *from,
		      struct host_route *route)
{
	char line[256], name[64], bound[64], by[64], source[64], mtu[64];
	FILE *file = fake_open("", "routes");
	int ret = -ENETUNREACH;

	if (!file)
		return __real_host_route(to, nic, from, route);
	while (ret == -ENETUNREACH && line_next(line, sizeof(line), file)) {
		mtu[0] = '\0';
		if (sscanf(line, "%63s %63s %63s %63s %63s", name, bound, by, source, mtu) < 4)
			abort();
		if (!strcmp(name, to) && !strcmp(bound, *nic ? nic : "-"))
			ret = route_take(by, source, mtu, route);
	}
	fclose(file);
	return ret;
}

int __wrap_host_ping(const char *to, const char *nic, const char *from, size_t bytes)
{
	FILE *routes = fake_open("", "routes"), *file = fake_open("", "ping");
	char line[256], name[64];
	unsigned int largest;
	int ret = 0;

	if (!routes)
		return __real_host_ping(to, nic, from, bytes);
	while (file && line_next(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %u", name, &largest) != 2)
			abort();
		ret |= !strcmp(name, to) && bytes <= largest;
	}
	if (file)
		fclose(file);
	fclose(routes);
	return ret;
}

int __wrap_host_addresses(struct host_address **addresses)
{
	FILE *file = fake_open("", "addresses");
	char line[256], nic[16], text[64], state[16];
	unsigned int prefix;
	int count = 0;

	if (!file)
		return __real_host_addresses(addresses);
	*addresses = NULL;
	while (line_next(line, sizeof(line), file)) {
		struct host_address *to;
		int error;

		if (sscanf(line, "error %d", &error) == 1) {
			count = -error;
			break;
		}
		state[0] = '\0';
		if (sscanf(line, "%15s %63s %u %15s", nic, text, &prefix, state) < 3)
			abort();
		to = alloc_append(*addresses, count);
		memcpy(to->nic, nic, sizeof(nic));
		to->family = strchr(text, ':') ? AF_INET6 : AF_INET;
		to->prefix = prefix;
		to->state = *state == 'd' ? HOST_ADDRESS_DUPLICATE :
			    *state == 't' ? HOST_ADDRESS_TENTATIVE : HOST_ADDRESS_USABLE;
		if (inet_pton(to->family, text, to->bytes) != 1)
			abort();
	}
	fclose(file);
	return count;
}

int __wrap_host_tcp(const char *local, const char *remote, const char *nic, struct host_tcp *tcp)
{
	FILE *file = fake_open("", "tcp");
	char line[256], here[64], there[64];
	unsigned long long sent, again, received;
	struct tcp_info info = { 0 };
	int ret = -ENOENT;

	if (!file)
		return __real_host_tcp(local, remote, nic, tcp);
	memset(tcp, 0, sizeof(*tcp));
	while (ret && line_next(line, sizeof(line), file)) {
		received = 0;
		info.tcpi_rcv_ooopack = 0;
		if (sscanf(line, "%63s %63s %u %u %llu %llu %15s %llu %u", here, there,
			   &info.tcpi_min_rtt, &info.tcpi_pmtu, &sent, &again, tcp->congestion,
			   &received, &info.tcpi_rcv_ooopack) < 7)
			abort();
		info.tcpi_snd_mss = info.tcpi_pmtu ? info.tcpi_pmtu - 52 : 0;
		info.tcpi_rcv_mss = info.tcpi_snd_mss;
		info.tcpi_bytes_received = received * info.tcpi_rcv_mss;
		/* As they begin anew at 32 bits. */
		info.tcpi_segs_out = (unsigned int)sent;
		info.tcpi_total_retrans = (unsigned int)again;
		info.tcpi_bytes_sent = sent * info.tcpi_snd_mss;
		info.tcpi_bytes_retrans = again * info.tcpi_snd_mss;
		if (!strcmp(here, local) && !strcmp(there, remote))
			ret = 0;
	}
	host_tcp_take(&info, sizeof(info), tcp);
	fclose(file);
	return ret;
}

void __wrap_reach_try(struct reach *tries, size_t count)
{
	FILE *file = fake_open("", "reach");
	char line[256], portal[64], nic[16];
	size_t i;
	int error;

	if (!file) {
		__real_reach_try(tries, count);
		return;
	}
	for (i = 0; i < count; i++)
		tries[i].error = -ETIMEDOUT;
	while (line_next(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %15s %d", portal, nic, &error) != 3)
			abort();
		for (i = 0; i < count; i++)
			if (portal_equal(tries[i].portal, portal) && !strcmp(tries[i].nic, nic))
				tries[i].error = -error;
	}
	fclose(file);
}

/* The driver of a NIC */

/* The next line that begins with @word, behind which it is returned. */
static const char *driver_line(FILE *file, const char *word, char line[256])
{
	while (fgets(line, 256, file))
		if (!strncmp(line, word, strlen(word)))
			return line + strlen(word);
	return NULL;
}

static int pause_answer(FILE *file, struct ethtool_pauseparam *answer)
{
	char line[256];
	const char *rest = driver_line(file, "pause ", line);

	if (!rest)
		return refuse(EOPNOTSUPP);
	return sscanf(rest, "%u %u", &answer->rx_pause, &answer->tx_pause) == 2 ? 0 : refuse(EIO);
}

static int rings_answer(FILE *file, struct ethtool_ringparam *answer)
{
	char line[256];
	const char *rest = driver_line(file, "rings ", line);

	if (!rest)
		return refuse(EOPNOTSUPP);
	if (sscanf(rest, "%u %u %u %u", &answer->rx_pending, &answer->rx_max_pending,
		   &answer->tx_pending, &answer->tx_max_pending) != 4)
		return refuse(EIO);
	return 0;
}

static int name_answer(FILE *file, struct ethtool_drvinfo *answer)
{
	char line[256];
	const char *rest = driver_line(file, "driver ", line);

	return rest && sscanf(rest, "%31s", answer->driver) == 1 ? 0 : refuse(EOPNOTSUPP);
}

static int features_answer(FILE *file, __u32 command, void *data)
{
	struct ethtool_gfeatures *values = data;
	struct ethtool_sset_info *info = data;
	struct ethtool_gstrings *names = data;
	unsigned int count = 0, on, changeable;
	char line[256], name[ETH_GSTRING_LEN];
	const char *rest;

	while ((rest = driver_line(file, "feature ", line))) {
		if (sscanf(rest, "%31s %u %u", name, &on, &changeable) != 3)
			abort();
		if (command == ETHTOOL_GSTRINGS)
			memcpy(names->data + count * ETH_GSTRING_LEN, name, sizeof(name));
		if (command == ETHTOOL_GFEATURES) {
			values->features[count / 32].active |= on << count % 32;
			values->features[count / 32].available |= changeable << count % 32;
		}
		count++;
	}
	if (command == ETHTOOL_GSSET_INFO)
		info->data[0] = count;
	return 0;
}

static int driver_answer(FILE *file, void *data)
{
	__u32 command = *(__u32 *)data;

	switch (command) {
	case ETHTOOL_GDRVINFO:
		return name_answer(file, data);
	case ETHTOOL_GPAUSEPARAM:
		return pause_answer(file, data);
	case ETHTOOL_GRINGPARAM:
		return rings_answer(file, data);
	case ETHTOOL_GSSET_INFO:
	case ETHTOOL_GSTRINGS:
	case ETHTOOL_GFEATURES:
		return features_answer(file, command, data);
	default:
		return refuse(EOPNOTSUPP);
	}
}

/* Of an image that is to be a device: -1 when it is not. */
static int block_answer(int fd, int *bytes)
{
	char link[64], path[PATH_MAX];
	ssize_t length;
	FILE *file;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length < 0 ? 0 : length] = '\0';
	file = strrchr(path, '/') ? fake_open("block/", strrchr(path, '/') + 1) : NULL;
	if (!file)
		return -1;
	if (fscanf(file, "%d", bytes) != 1)
		abort();
	fclose(file);
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, void *data)
{
	struct ifreq *interface = data;
	FILE *file;
	int ret;

	if (request == BLKSSZGET && !block_answer(fd, data))
		return 0;
	file = request == SIOCETHTOOL ? fake_open("ethtool/", interface->ifr_name) : NULL;
	if (!file)
		return __real_ioctl(fd, request, data);
	ret = driver_answer(file, interface->ifr_data);
	fclose(file);
	return ret;
}
