// SPDX-License-Identifier: GPL-2.0
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/ip6_fib.h>
#include <net/ip_fib.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <net/rtnetlink.h>
#include <compat/sock.h>

#include "transport/nic.h"

static bool nic_has_address4(const struct net_device *dev, __be32 address)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);
	const struct in_ifaddr *own;

	if (in_dev)
		in_dev_for_each_ifa_rcu(own, in_dev)
			if (own->ifa_local == address)
				return true;
	return false;
}

static bool nic_has_address6(const struct net_device *dev, const struct in6_addr *address)
{
	const struct inet6_dev *in6_dev = __in6_dev_get(dev);
	const struct inet6_ifaddr *own;

	if (in6_dev)
		list_for_each_entry_rcu(own, &in6_dev->addr_list, if_list)
			if (ipv6_addr_equal(&own->addr, address))
				return true;
	return false;
}

/* Whether an address of @owner is for @dev, too. */
static bool nic_may_use(const struct net_device *dev, const struct net_device *owner)
{
	const struct rtnl_link_ops *ops = owner->rtnl_link_ops;

	return owner == dev || owner == l3mdev_master_dev_rcu(dev) ||
	       owner->flags & IFF_LOOPBACK || (ops && !strcmp(ops->kind, "dummy"));
}

static bool nic_has_route4(const struct net_device *dev, __be32 to)
{
	struct flowi4 flow = {
		.daddr = to, .flowi4_oif = dev->ifindex, .flowi4_iif = LOOPBACK_IFINDEX,
	};
	struct fib_result result;

	return !fib_lookup(dev_net(dev), &flow, &result, 0);
}

static bool nic_has_source4(const struct net_device *dev, __be32 to)
{
	__be32 source = inet_select_addr(dev, to, RT_SCOPE_LINK);
	const struct net_device *owner;
	bool has;

	rcu_read_lock();
	has = nic_has_route4(dev, to);
	for_each_netdev_rcu(dev_net(dev), owner)
		has = has || (nic_may_use(dev, owner) && nic_has_address4(owner, source));
	rcu_read_unlock();
	return has;
}

static bool route6_names_source(const struct dst_entry *dst)
{
	const struct fib6_info *route =
		rcu_dereference(container_of(dst, const struct rt6_info, dst)->from);

	return route && route->fib6_prefsrc.plen;
}

static bool nic_has_source6(const struct net_device *dev, struct sock *sk,
			    const struct sockaddr_in6 *portal)
{
	struct flowi6 flow = {
		.daddr = portal->sin6_addr, .fl6_dport = portal->sin6_port,
		.flowi6_oif = dev->ifindex, .flowi6_proto = IPPROTO_TCP,
	};
	struct dst_entry *dst = istripe_compat_dst_lookup6(sk, &flow);
	const struct net_device *owner;
	bool has;

	/* connect() fails, too, and tells why. */
	if (IS_ERR(dst))
		return true;
	rcu_read_lock();
	has = route6_names_source(dst);
	for_each_netdev_rcu(dev_net(dev), owner)
		has = has || (nic_may_use(dev, owner) && nic_has_address6(owner, &flow.saddr));
	rcu_read_unlock();
	dst_release(dst);
	return has;
}

bool istripe_nic_has_source(const struct net_device *dev, struct sock *sk,
			    const struct sockaddr_storage *portal)
{
	const struct sockaddr_in6 *portal6 = (const struct sockaddr_in6 *)portal;

	if (netif_is_l3_master(dev))
		return true;
	if (portal->ss_family == AF_INET)
		return nic_has_source4(dev,
				       ((const struct sockaddr_in *)portal)->sin_addr.s_addr);
	if (ipv6_addr_v4mapped(&portal6->sin6_addr))
		return nic_has_source4(dev, portal6->sin6_addr.s6_addr32[3]);
	return nic_has_source6(dev, sk, portal6);
}

/* Not one that is still being checked, or is another host's, or is about to be deleted (P116). */
static bool address6_is_last_choice(const struct inet6_ifaddr *own, const struct in6_addr *to)
{
	u32 flags = READ_ONCE(own->flags);

	return flags & IFA_F_DEPRECATED &&
	       !(flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_TEMPORARY)) &&
	       ipv6_addr_src_scope(&own->addr) >= ipv6_addr_src_scope(to);
}

bool istripe_nic_deprecated_source(const struct net_device *dev,
				   const struct sockaddr_storage *portal,
				   struct sockaddr_storage *source)
{
	const struct in6_addr *to = &((const struct sockaddr_in6 *)portal)->sin6_addr;
	struct sockaddr_in6 *source6 = (struct sockaddr_in6 *)source;
	const struct inet6_dev *in6_dev;
	const struct inet6_ifaddr *own;
	int best = -1;

	if (portal->ss_family != AF_INET6 || ipv6_addr_v4mapped(to))
		return false;
	rcu_read_lock();
	in6_dev = __in6_dev_get(dev);
	if (in6_dev) {
		list_for_each_entry_rcu(own, &in6_dev->addr_list, if_list) {
			if (!address6_is_last_choice(own, to) ||
			    ipv6_addr_diff(&own->addr, to) <= best)
				continue;
			best = ipv6_addr_diff(&own->addr, to);
			*source6 = (struct sockaddr_in6) {
				.sin6_family = AF_INET6, .sin6_addr = own->addr,
			};
		}
	}
	rcu_read_unlock();
	return best >= 0;
}

static struct dst_entry *route_of4(struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct net *net = sock_net(sk);
	struct flowi4 flow = {};
	struct rtable *route;

	flowi4_init_output(&flow, READ_ONCE(sk->sk_bound_dev_if), READ_ONCE(sk->sk_mark),
			   ip_sock_rt_tos(sk), RT_SCOPE_UNIVERSE, IPPROTO_TCP,
			   inet_sk_flowi_flags(sk), inet->inet_daddr, inet->inet_saddr,
			   inet->inet_dport, inet->inet_sport, sock_net_uid(net, sk));
	route = ip_route_output_flow(net, &flow, sk);
	return IS_ERR(route) ? ERR_CAST(route) : &route->dst;
}

struct dst_entry *istripe_nic_route(struct sock *sk)
{
	return istripe_compat_is_over_ipv6(sk) ? istripe_compat_route6(sk) : route_of4(sk);
}

bool istripe_nic_is_port(const struct net_device *dev)
{
	const struct net_device *master =
		netdev_master_upper_dev_get_rcu((struct net_device *)dev);

	return master && (netif_is_bridge_master(master) || netif_is_lag_master(master) ||
			  netif_is_ovs_master(master));
}

bool istripe_nic_named_is_port(struct net *net, const char *name)
{
	const struct net_device *dev;
	bool is;

	rcu_read_lock();
	dev = dev_get_by_name_rcu(net, name);
	is = dev && istripe_nic_is_port(dev);
	rcu_read_unlock();
	return is;
}
