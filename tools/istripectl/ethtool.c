// SPDX-License-Identifier: GPL-2.0
/* What the driver of a network interface says. */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "alloc.h"
#include "ethtool.h"

#define FEATURES_MAX	1024

static int ask(const char *nic, void *data)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret = 0;
	struct ifreq request = { .ifr_data = data };

	if (fd < 0)
		return -errno;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", nic);
	if (ioctl(fd, SIOCETHTOOL, &request) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

bool ethtool_is_dummy(const char *nic)
{
	struct ethtool_drvinfo answer = { .cmd = ETHTOOL_GDRVINFO };

	return !ask(nic, &answer) && !strcmp(answer.driver, "dummy");
}

int ethtool_pause(const char *nic, struct ethtool_pause *pause)
{
	struct ethtool_pauseparam answer = { .cmd = ETHTOOL_GPAUSEPARAM };
	int ret = ask(nic, &answer);

	pause->receive = answer.rx_pause;
	pause->transmit = answer.tx_pause;
	return ret;
}

int ethtool_rings(const char *nic, struct ethtool_rings *rings)
{
	struct ethtool_ringparam answer = { .cmd = ETHTOOL_GRINGPARAM };
	int ret = ask(nic, &answer);

	rings->receive = answer.rx_pending;
	rings->receive_max = answer.rx_max_pending;
	rings->transmit = answer.tx_pending;
	rings->transmit_max = answer.tx_max_pending;
	return ret;
}

static int features_count(const char *nic)
{
	struct {
		struct ethtool_sset_info info;
		__u32 count;
	} answer = {
		.info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES },
	};
	int ret = ask(nic, &answer);

	if (!ret && !answer.info.sset_mask)
		ret = -EOPNOTSUPP;
	return ret ?: (int)(answer.count < FEATURES_MAX ? answer.count : FEATURES_MAX);
}

static int features_name(const char *nic, struct ethtool_feature *features, int count)
{
	struct ethtool_gstrings *strings;
	int i, ret;

	strings = alloc_array(NULL, sizeof(*strings) + count * ETH_GSTRING_LEN, 1);
	memset(strings, 0, sizeof(*strings) + count * ETH_GSTRING_LEN);
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	strings->len = count;
	ret = ask(nic, strings);
	for (i = 0; !ret && i < count; i++) {
		memcpy(features[i].name, strings->data + i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		features[i].name[ETH_GSTRING_LEN - 1] = '\0';
	}
	free(strings);
	return ret;
}

static int features_value(const char *nic, struct ethtool_feature *features, int count)
{
	int i, ret, blocks = (count + 31) / 32;
	struct ethtool_gfeatures *values;
	size_t bytes = sizeof(*values) + blocks * sizeof(values->features[0]);

	values = alloc_array(NULL, bytes, 1);
	memset(values, 0, bytes);
	values->cmd = ETHTOOL_GFEATURES;
	values->size = blocks;
	ret = ask(nic, values);
	for (i = 0; !ret && i < count; i++) {
		struct ethtool_get_features_block *block = &values->features[i / 32];

		features[i].on = block->active >> i % 32 & 1;
		features[i].changeable = block->available >> i % 32 & 1;
	}
	free(values);
	return ret;
}

int ethtool_features(const char *nic, struct ethtool_feature **features)
{
	int count = features_count(nic), ret;

	*features = NULL;
	if (count < 0)
		return count;
	*features = alloc_array(NULL, count, sizeof(**features));
	ret = features_name(nic, *features, count);
	if (!ret)
		ret = features_value(nic, *features, count);
	return ret ?: count;
}
