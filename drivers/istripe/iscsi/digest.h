/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Header and data digests: CRC32C as RFC 7143 sections 11.2.3 and 13.1 want it. On the wire a
 * digest is four bytes, least significant first.
 */
#ifndef ISTRIPE_ISCSI_DIGEST_H
#define ISTRIPE_ISCSI_DIGEST_H

#include <linux/crc32c.h>
#include <linux/types.h>

#define ISTRIPE_DIGEST_BYTES	4

/**
 * istripe_digest_init() - start a digest
 * Return: the running value for istripe_digest_update().
 */
static inline u32 istripe_digest_init(void)
{
	return ~0u;
}

/**
 * istripe_digest_update() - cover more bytes
 * @running: what istripe_digest_init() or the last update returned
 * @bytes: bytes that follow those covered so far; pad bytes count
 * @len: how many, any number
 * Return: the new running value.
 */
static inline u32 istripe_digest_update(u32 running, const void *bytes, u32 len)
{
	return crc32c(running, bytes, len);
}

/**
 * istripe_digest_final() - finish a digest
 * @running: what the last update returned
 * Return: the digest, to be stored or compared little endian.
 */
static inline u32 istripe_digest_final(u32 running)
{
	return ~running;
}

/**
 * istripe_digest_of() - digest of one contiguous block
 * @bytes: e.g. a basic header segment
 * @len: its length in bytes
 * Return: the digest, to be stored or compared little endian.
 */
static inline u32 istripe_digest_of(const void *bytes, u32 len)
{
	return istripe_digest_final(istripe_digest_update(istripe_digest_init(), bytes, len));
}

#endif
