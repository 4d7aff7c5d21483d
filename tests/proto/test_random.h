/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A repeatable source of pseudo random numbers (xorshift64*) for property
 * tests: the seed is written in the test, so that every run, in user space
 * and in a kernel, sees the same numbers.
 */
#ifndef _ISTRIPE_TEST_RANDOM_H
#define _ISTRIPE_TEST_RANDOM_H

#include <linux/types.h>

/**
 * struct test_random - state of the generator
 * @s: seed; zero is accepted and replaced by a constant at the first draw
 */
struct test_random {
	u64 s;
};

/**
 * test_random_u32() - draw a number
 * @r: generator
 *
 * Return: a number in 0..U32_MAX.
 */
static inline u32 test_random_u32(struct test_random *r)
{
	u64 s = r->s ? r->s : 0x9e3779b97f4a7c15ULL;

	s ^= s >> 12;
	s ^= s << 25;
	s ^= s >> 27;
	r->s = s;
	return (u32)((s * 0x2545f4914f6cdd1dULL) >> 32);
}

/**
 * test_random_u64() - draw a wide number
 * @r: generator
 *
 * Return: a number in 0..U64_MAX.
 */
static inline u64 test_random_u64(struct test_random *r)
{
	u64 high = test_random_u32(r);

	return high << 32 | test_random_u32(r);
}

/**
 * test_random_below() - draw a number below a bound
 * @r: generator
 * @n: bound, 0 counts as 1
 *
 * Return: a number in 0..@n - 1, nearly uniform.
 */
static inline u32 test_random_below(struct test_random *r, u32 n)
{
	return (u32)(((u64)test_random_u32(r) * n) >> 32);
}

/**
 * test_random_fill() - fill a buffer
 * @r: generator
 * @buf: buffer
 * @len: its length in bytes
 */
static inline void test_random_fill(struct test_random *r, void *buf, size_t len)
{
	u8 *p = buf;

	while (len--)
		*p++ = (u8)test_random_u32(r);
}

#endif /* _ISTRIPE_TEST_RANDOM_H */
