// SPDX-License-Identifier: GPL-2.0
#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/uio.h>
#include <compat/sock.h>

#include "transport/data.h"
#include "transport/zerocopy.h"

struct istripe_zerocopy {
	struct ubuf_info ubuf;		/* its count: each segment, and the sender */
	struct completion released;	/* none of them is left */
	refcount_t holders;		/* of the memory: the sender, and all segments together */
};

static void zerocopy_put(struct istripe_zerocopy *zerocopy)
{
	if (!refcount_dec_and_test(&zerocopy->holders))
		return;
	kfree(zerocopy);
	module_put(THIS_MODULE);
}

/*
 * The network stack calls this for each segment that ends. Any context, also with interrupts
 * disabled. istripe_zerocopy_exit() waits for the RCU section, as the module may go after it.
 */
static void zerocopy_complete(struct sk_buff *skb, struct ubuf_info *ubuf, bool success)
{
	struct istripe_zerocopy *zerocopy = container_of(ubuf, struct istripe_zerocopy, ubuf);

	if (!refcount_dec_and_test(&ubuf->refcnt))
		return;
	rcu_read_lock();
	complete(&zerocopy->released);
	zerocopy_put(zerocopy);
	rcu_read_unlock();
}

struct istripe_zerocopy *istripe_zerocopy_alloc(void)
{
	struct istripe_zerocopy *zerocopy = kzalloc(sizeof(*zerocopy), GFP_KERNEL);

	if (!zerocopy)
		return NULL;
	__module_get(THIS_MODULE);
	istripe_compat_ubuf_init(&zerocopy->ubuf, zerocopy_complete);
	init_completion(&zerocopy->released);
	refcount_set(&zerocopy->holders, 2);
	return zerocopy;
}

bool istripe_zerocopy_is_over(const struct istripe_zerocopy *zerocopy)
{
	/* Only the sender counts. */
	return refcount_read(&zerocopy->ubuf.refcnt) == 1;
}

u32 istripe_zerocopy_end(struct istripe_zerocopy *zerocopy, u32 timeout_ms)
{
	u32 left = 0;

	zerocopy_complete(NULL, &zerocopy->ubuf, true);
	if (!wait_for_completion_timeout(&zerocopy->released, msecs_to_jiffies(timeout_ms)))
		left = refcount_read(&zerocopy->ubuf.refcnt);
	zerocopy_put(zerocopy);
	return left;
}

/*
 * Adds one page, or the part of it that is in @part, to the last fragment or as a new one. Pages of
 * one folio make one fragment with one reference.
 */
static bool zerocopy_add_page(struct sk_buff *skb, const struct bio_vec *part)
{
	struct page *head = compound_head(part->bv_page);
	u64 offset = (u64)folio_page_idx(page_folio(head), part->bv_page) * PAGE_SIZE +
		     part->bv_offset;
	int next = skb_shinfo(skb)->nr_frags;
	skb_frag_t *last = next ? &skb_shinfo(skb)->frags[next - 1] : NULL;

	/* A huge page may be larger than the 32 bits of a fragment's offset. */
	if (offset + part->bv_len > U32_MAX) {
		head = part->bv_page;
		offset = part->bv_offset;
	}
	if (last && skb_frag_page(last) == head &&
	    skb_frag_off(last) + skb_frag_size(last) == offset) {
		skb_frag_size_add(last, part->bv_len);
		return true;
	}
	if (next == MAX_SKB_FRAGS)
		return false;
	get_page(head);
	skb_fill_page_desc_noacc(skb, next, head, offset, part->bv_len);
	return true;
}

/*
 * The kernel's own way, without this function, counts each piece of a page as a page of the send
 * buffer: a header would count as much as the data behind it. After -EMSGSIZE TCP begins another
 * segment.
 */
int istripe_zerocopy_fill(struct sk_buff *skb, struct iov_iter *from, size_t bytes)
{
	size_t left = min(bytes, iov_iter_count(from));
	const struct bio_vec *segment = from->bvec;
	u32 done = from->iov_offset;
	u32 added = 0;

	while (left) {
		struct bio_vec part = istripe_segment_in_page(segment, done);

		part.bv_len = min_t(size_t, part.bv_len, left);
		if (!zerocopy_add_page(skb, &part))
			break;
		left -= part.bv_len;
		added += part.bv_len;
		done += part.bv_len;
		if (done == segment->bv_len) {
			segment++;
			done = 0;
		}
	}
	skb_len_add(skb, added);
	iov_iter_advance(from, added);
	return left ? -EMSGSIZE : 0;
}

int istripe_zerocopy_send(struct istripe_zerocopy *zerocopy, struct socket *sock,
			  struct bio_vec *segments, u32 count, u32 bytes, int flags)
{
	struct msghdr msg = {
		.msg_flags = flags | MSG_ZEROCOPY,
		.msg_ubuf = &zerocopy->ubuf,
		.sg_from_iter = istripe_compat_sg_from_iter,
	};

	iov_iter_bvec(&msg.msg_iter, WRITE, segments, count, bytes);
	return sock_sendmsg(sock, &msg);
}

void istripe_zerocopy_exit(void)
{
	synchronize_rcu();
}
