/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of the KUnit API that the suites in tests/proto use, for user
 * space. Differences to the kernel's: a case that checks nothing fails, and
 * allocations come from the sanitizer's heap.
 */
#ifndef _HOST_KUNIT_TEST_H
#define _HOST_KUNIT_TEST_H

#include <setjmp.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

#define KUNIT_PARAM_DESC_SIZE	128

struct kunit_allocation;

/**
 * struct kunit - a running case
 * @priv: for the suite's init function
 * @param_value: parameter of this run, or NULL
 * @name: name of the case
 * @failures: number of checks that failed
 * @checks: number of checks made
 * @abort: where a failed assertion goes
 * @allocations: freed when the case ends
 */
struct kunit {
	void *priv;
	const void *param_value;
	const char *name;
	unsigned int failures;
	unsigned long checks;
	jmp_buf abort;
	struct kunit_allocation *allocations;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char name[256];
	int (*suite_init)(struct kunit_suite *suite);
	void (*suite_exit)(struct kunit_suite *suite);
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(fn)			{ .run_case = fn, .name = #fn }
#define KUNIT_CASE_SLOW(fn)		KUNIT_CASE(fn)
#define KUNIT_CASE_PARAM(fn, gen)	{ .run_case = fn, .name = #fn, .generate_params = gen }

#define KUNIT_ARRAY_PARAM(name, array, get_desc)				\
	static const void *name##_gen_params(const void *prev, char *desc)	\
	{									\
		typeof((array)[0]) *next = prev ? ((typeof(next))prev) + 1 : (array); \
		void (*describe)(typeof(next), char *) = get_desc;		\
										\
		if (next - (array) >= (ptrdiff_t)ARRAY_SIZE(array))		\
			return NULL;						\
		if (describe)							\
			describe(next, desc);					\
		return next;							\
	}

#define KUNIT_ARRAY_PARAM_DESC(name, array, member)				\
	static const void *name##_gen_params(const void *prev, char *desc)	\
	{									\
		typeof((array)[0]) *next = prev ? ((typeof(next))prev) + 1 : (array); \
										\
		if (next - (array) >= (ptrdiff_t)ARRAY_SIZE(array))		\
			return NULL;						\
		strscpy(desc, next->member, KUNIT_PARAM_DESC_SIZE);		\
		return next;							\
	}

void host_kunit_register(struct kunit_suite *suite);

#define kunit_test_suite(suite)							\
	static void __attribute__((__constructor__)) suite##_register(void)	\
	{									\
		host_kunit_register(&(suite));					\
	}									\
	extern int host_needs_semicolon

#define host_register_1(s, ...)	host_kunit_register(s);
#define host_register_2(s, ...)	host_kunit_register(s); host_register_1(__VA_ARGS__)
#define host_register_3(s, ...)	host_kunit_register(s); host_register_2(__VA_ARGS__)
#define host_register_4(s, ...)	host_kunit_register(s); host_register_3(__VA_ARGS__)
#define host_register_n(a, b, c, d, n, ...) host_register_##n
#define kunit_test_suites(...)							\
	static void __attribute__((__constructor__)) host_suites_register(void)	\
	{									\
		host_register_n(__VA_ARGS__, 4, 3, 2, 1, 0)(__VA_ARGS__)	\
	}									\
	extern int host_needs_semicolon

void *kunit_kmalloc(struct kunit *test, size_t size, gfp_t gfp);
void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp);
void *kunit_kmalloc_array(struct kunit *test, size_t n, size_t size, gfp_t gfp);
void *kunit_kcalloc(struct kunit *test, size_t n, size_t size, gfp_t gfp);
void kunit_kfree(struct kunit *test, const void *p);

__printf(2, 3) void host_kunit_log(struct kunit *test, const char *fmt, ...);

#define kunit_info(test, fmt, ...)	host_kunit_log(test, fmt, ##__VA_ARGS__)
#define kunit_warn(test, fmt, ...)	host_kunit_log(test, fmt, ##__VA_ARGS__)
#define kunit_err(test, fmt, ...)	host_kunit_log(test, fmt, ##__VA_ARGS__)

/* Reports a failed check; the caller decides whether the case goes on. */
__printf(5, 6) void host_kunit_fail(struct kunit *test, const char *file, int line,
				    const char *what, const char *fmt, ...);
void host_kunit_values(struct kunit *test, const char *left_text, long long left,
		       const char *right_text, long long right);
void host_kunit_strings(struct kunit *test, const char *left_text, const char *left,
			const char *right_text, const char *right);
void host_kunit_bytes(struct kunit *test, const void *left, const void *right, size_t len);

/* @on_fail runs after the report and may show values or leave the case. */
#define host_check(test, cond, what, on_fail, fmt, ...) do {			\
	(test)->checks++;							\
	if (!(cond)) {								\
		host_kunit_fail(test, __FILE__, __LINE__, what, fmt, ##__VA_ARGS__); \
		on_fail;							\
	}									\
} while (0)

#define host_leave(test)	longjmp((test)->abort, 1)
#define host_stay(test)		((void)0)

#define host_compare(test, left, op, right, then, fmt, ...) do {		\
	const typeof(left) __left = (left);					\
	const typeof(right) __right = (right);					\
										\
	host_check(test, __left op __right, #left " " #op " " #right,		\
		   { host_kunit_values(test, #left, (long long)__left,		\
				       #right, (long long)__right); then(test); }, \
		   fmt, ##__VA_ARGS__);						\
} while (0)

#define host_compare_ptr(test, left, op, right, then, fmt, ...) do {		\
	const void *__left = (left);						\
	const void *__right = (right);						\
										\
	host_check(test, __left op __right, #left " " #op " " #right,		\
		   then(test), fmt, ##__VA_ARGS__);				\
} while (0)

#define host_compare_str(test, left, op, right, then, fmt, ...) do {		\
	const char *__left = (left);						\
	const char *__right = (right);						\
										\
	host_check(test, __left && __right && strcmp(__left, __right) op 0,	\
		   #left " " #op " " #right,					\
		   { host_kunit_strings(test, #left, __left, #right, __right);	\
		     then(test); }, fmt, ##__VA_ARGS__);			\
} while (0)

#define host_compare_mem(test, left, op, right, size, then, fmt, ...) do {	\
	const void *__left = (left);						\
	const void *__right = (right);						\
	const size_t __size = (size);						\
										\
	host_check(test, __left && __right && memcmp(__left, __right, __size) op 0, \
		   #left " " #op " " #right,					\
		   { host_kunit_bytes(test, __left, __right, __size); then(test); }, \
		   fmt, ##__VA_ARGS__);						\
} while (0)

#define KUNIT_SUCCEED(test)		((void)((test)->checks++))
#define KUNIT_FAIL(test, fmt, ...)	\
	host_check(test, false, "failure", host_stay(test), fmt, ##__VA_ARGS__)
#define KUNIT_FAIL_AND_ABORT(test, fmt, ...)	\
	host_check(test, false, "failure", host_leave(test), fmt, ##__VA_ARGS__)

#define KUNIT_EXPECT_EQ(test, left, right)	\
	host_compare(test, left, ==, right, host_stay, "%s", "")
#define KUNIT_EXPECT_EQ_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, ==, right, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NE(test, left, right)	\
	host_compare(test, left, !=, right, host_stay, "%s", "")
#define KUNIT_EXPECT_NE_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, !=, right, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_LT(test, left, right)	\
	host_compare(test, left, <, right, host_stay, "%s", "")
#define KUNIT_EXPECT_LT_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, <, right, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_LE(test, left, right)	\
	host_compare(test, left, <=, right, host_stay, "%s", "")
#define KUNIT_EXPECT_LE_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, <=, right, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_GT(test, left, right)	\
	host_compare(test, left, >, right, host_stay, "%s", "")
#define KUNIT_EXPECT_GT_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, >, right, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_GE(test, left, right)	\
	host_compare(test, left, >=, right, host_stay, "%s", "")
#define KUNIT_EXPECT_GE_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, >=, right, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_PTR_EQ(test, left, right)	\
	host_compare_ptr(test, left, ==, right, host_stay, "%s", "")
#define KUNIT_EXPECT_PTR_EQ_MSG(test, left, right, fmt, ...)	\
	host_compare_ptr(test, left, ==, right, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_PTR_NE(test, left, right)	\
	host_compare_ptr(test, left, !=, right, host_stay, "%s", "")
#define KUNIT_EXPECT_PTR_NE_MSG(test, left, right, fmt, ...)	\
	host_compare_ptr(test, left, !=, right, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_STREQ(test, left, right)	\
	host_compare_str(test, left, ==, right, host_stay, "%s", "")
#define KUNIT_EXPECT_STREQ_MSG(test, left, right, fmt, ...)	\
	host_compare_str(test, left, ==, right, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_STRNEQ(test, left, right)	\
	host_compare_str(test, left, !=, right, host_stay, "%s", "")
#define KUNIT_EXPECT_STRNEQ_MSG(test, left, right, fmt, ...)	\
	host_compare_str(test, left, !=, right, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_MEMEQ(test, left, right, size)	\
	host_compare_mem(test, left, ==, right, size, host_stay, "%s", "")
#define KUNIT_EXPECT_MEMEQ_MSG(test, left, right, size, fmt, ...)	\
	host_compare_mem(test, left, ==, right, size, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_MEMNEQ(test, left, right, size)	\
	host_compare_mem(test, left, !=, right, size, host_stay, "%s", "")
#define KUNIT_EXPECT_MEMNEQ_MSG(test, left, right, size, fmt, ...)	\
	host_compare_mem(test, left, !=, right, size, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NULL(test, ptr)	\
	host_compare_ptr(test, ptr, ==, NULL, host_stay, "%s", "")
#define KUNIT_EXPECT_NULL_MSG(test, ptr, fmt, ...)	\
	host_compare_ptr(test, ptr, ==, NULL, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NOT_NULL(test, ptr)	\
	host_compare_ptr(test, ptr, !=, NULL, host_stay, "%s", "")
#define KUNIT_EXPECT_NOT_NULL_MSG(test, ptr, fmt, ...)	\
	host_compare_ptr(test, ptr, !=, NULL, host_stay, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_TRUE(test, cond)	\
	host_check(test, !!(cond), #cond " is true", host_stay(test), "%s", "")
#define KUNIT_EXPECT_TRUE_MSG(test, cond, fmt, ...)	\
	host_check(test, !!(cond), #cond " is true", host_stay(test), fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_FALSE(test, cond)	\
	host_check(test, !(cond), #cond " is false", host_stay(test), "%s", "")
#define KUNIT_EXPECT_FALSE_MSG(test, cond, fmt, ...)	\
	host_check(test, !(cond), #cond " is false", host_stay(test), fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ptr)	\
	host_check(test, !IS_ERR_OR_NULL(ptr), #ptr " is a pointer", host_stay(test), "%s", "")
#define KUNIT_EXPECT_NOT_ERR_OR_NULL_MSG(test, ptr, fmt, ...)	\
	host_check(test, !IS_ERR_OR_NULL(ptr), #ptr " is a pointer", host_stay(test), fmt, ##__VA_ARGS__)

#define KUNIT_ASSERT_EQ(test, left, right)	\
	host_compare(test, left, ==, right, host_leave, "%s", "")
#define KUNIT_ASSERT_EQ_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, ==, right, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NE(test, left, right)	\
	host_compare(test, left, !=, right, host_leave, "%s", "")
#define KUNIT_ASSERT_NE_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, !=, right, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_LT(test, left, right)	\
	host_compare(test, left, <, right, host_leave, "%s", "")
#define KUNIT_ASSERT_LT_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, <, right, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_LE(test, left, right)	\
	host_compare(test, left, <=, right, host_leave, "%s", "")
#define KUNIT_ASSERT_LE_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, <=, right, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_GT(test, left, right)	\
	host_compare(test, left, >, right, host_leave, "%s", "")
#define KUNIT_ASSERT_GT_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, >, right, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_GE(test, left, right)	\
	host_compare(test, left, >=, right, host_leave, "%s", "")
#define KUNIT_ASSERT_GE_MSG(test, left, right, fmt, ...)	\
	host_compare(test, left, >=, right, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_PTR_EQ(test, left, right)	\
	host_compare_ptr(test, left, ==, right, host_leave, "%s", "")
#define KUNIT_ASSERT_PTR_EQ_MSG(test, left, right, fmt, ...)	\
	host_compare_ptr(test, left, ==, right, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_PTR_NE(test, left, right)	\
	host_compare_ptr(test, left, !=, right, host_leave, "%s", "")
#define KUNIT_ASSERT_PTR_NE_MSG(test, left, right, fmt, ...)	\
	host_compare_ptr(test, left, !=, right, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_STREQ(test, left, right)	\
	host_compare_str(test, left, ==, right, host_leave, "%s", "")
#define KUNIT_ASSERT_STREQ_MSG(test, left, right, fmt, ...)	\
	host_compare_str(test, left, ==, right, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_STRNEQ(test, left, right)	\
	host_compare_str(test, left, !=, right, host_leave, "%s", "")
#define KUNIT_ASSERT_STRNEQ_MSG(test, left, right, fmt, ...)	\
	host_compare_str(test, left, !=, right, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_MEMEQ(test, left, right, size)	\
	host_compare_mem(test, left, ==, right, size, host_leave, "%s", "")
#define KUNIT_ASSERT_MEMEQ_MSG(test, left, right, size, fmt, ...)	\
	host_compare_mem(test, left, ==, right, size, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_MEMNEQ(test, left, right, size)	\
	host_compare_mem(test, left, !=, right, size, host_leave, "%s", "")
#define KUNIT_ASSERT_MEMNEQ_MSG(test, left, right, size, fmt, ...)	\
	host_compare_mem(test, left, !=, right, size, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NULL(test, ptr)	\
	host_compare_ptr(test, ptr, ==, NULL, host_leave, "%s", "")
#define KUNIT_ASSERT_NULL_MSG(test, ptr, fmt, ...)	\
	host_compare_ptr(test, ptr, ==, NULL, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NOT_NULL(test, ptr)	\
	host_compare_ptr(test, ptr, !=, NULL, host_leave, "%s", "")
#define KUNIT_ASSERT_NOT_NULL_MSG(test, ptr, fmt, ...)	\
	host_compare_ptr(test, ptr, !=, NULL, host_leave, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_TRUE(test, cond)	\
	host_check(test, !!(cond), #cond " is true", host_leave(test), "%s", "")
#define KUNIT_ASSERT_TRUE_MSG(test, cond, fmt, ...)	\
	host_check(test, !!(cond), #cond " is true", host_leave(test), fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_FALSE(test, cond)	\
	host_check(test, !(cond), #cond " is false", host_leave(test), "%s", "")
#define KUNIT_ASSERT_FALSE_MSG(test, cond, fmt, ...)	\
	host_check(test, !(cond), #cond " is false", host_leave(test), fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ptr)	\
	host_check(test, !IS_ERR_OR_NULL(ptr), #ptr " is a pointer", host_leave(test), "%s", "")
#define KUNIT_ASSERT_NOT_ERR_OR_NULL_MSG(test, ptr, fmt, ...)	\
	host_check(test, !IS_ERR_OR_NULL(ptr), #ptr " is a pointer", host_leave(test), fmt, ##__VA_ARGS__)

#endif /* _HOST_KUNIT_TEST_H */
