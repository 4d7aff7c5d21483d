// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the KUnit suites linked into this program and reports in KTAP. The
 * first argument, when given, is a shell pattern: only cases whose
 * "suite.case" name matches are run. A pattern that matches nothing fails.
 */
#include <fnmatch.h>
#include <stdarg.h>
#include <stdlib.h>
#include <kunit/test.h>

#define SUITES_MAX	64

struct kunit_allocation {
	struct kunit_allocation *next;
	void *data;
};

static struct kunit_suite *suites[SUITES_MAX];
static unsigned int suite_count;

void host_kunit_register(struct kunit_suite *suite)
{
	if (suite_count == SUITES_MAX)
		abort();
	suites[suite_count++] = suite;
}

void *kunit_kmalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	struct kunit_allocation *a = malloc(sizeof(*a));
	void *data = malloc(size);

	(void)gfp;
	if (!a || !data)
		abort();
	/* Memory that the kernel would leave undefined must not look like zeroes. */
	memset(data, 0xa5, size);
	a->data = data;
	a->next = test->allocations;
	test->allocations = a;
	return data;
}

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	return memset(kunit_kmalloc(test, size, gfp), 0, size);
}

void *kunit_kmalloc_array(struct kunit *test, size_t n, size_t size, gfp_t gfp)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return kunit_kmalloc(test, bytes, gfp);
}

void *kunit_kcalloc(struct kunit *test, size_t n, size_t size, gfp_t gfp)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return kunit_kzalloc(test, bytes, gfp);
}

void kunit_kfree(struct kunit *test, const void *p)
{
	struct kunit_allocation **at = &test->allocations;
	struct kunit_allocation *a;

	while (*at && (*at)->data != p)
		at = &(*at)->next;
	if (!*at)
		abort();
	a = *at;
	*at = a->next;
	free(a->data);
	free(a);
}

static void allocations_free(struct kunit *test)
{
	while (test->allocations)
		kunit_kfree(test, test->allocations->data);
}

void host_kunit_log(struct kunit *test, const char *fmt, ...)
{
	va_list args;

	printf("    # %s: ", test->name);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

void host_kunit_fail(struct kunit *test, const char *file, int line, const char *what,
		     const char *fmt, ...)
{
	char note[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(note, sizeof(note), fmt, args);
	va_end(args);
	test->failures++;
	printf("    # %s: failed at %s:%d: %s%s%s\n", test->name, file, line, what,
	       note[0] ? ": " : "", note);
}

void host_kunit_values(struct kunit *test, const char *left_text, long long left,
		       const char *right_text, long long right)
{
	host_kunit_log(test, "  %s is %lld (0x%llx)", left_text, left, left);
	host_kunit_log(test, "  %s is %lld (0x%llx)", right_text, right, right);
}

void host_kunit_strings(struct kunit *test, const char *left_text, const char *left,
			const char *right_text, const char *right)
{
	host_kunit_log(test, "  %s is \"%s\"", left_text, left ? left : "(null)");
	host_kunit_log(test, "  %s is \"%s\"", right_text, right ? right : "(null)");
}

void host_kunit_bytes(struct kunit *test, const void *left, const void *right, size_t len)
{
	const u8 *l = left, *r = right;
	unsigned int shown = 0;
	size_t i;

	for (i = 0; l && r && i < len && shown < 8; i++) {
		if (l[i] == r[i])
			continue;
		host_kunit_log(test, "  byte %zu: %02x and %02x", i, l[i], r[i]);
		shown++;
	}
}

/* Runs a case once, on clean state; false when anything went wrong. */
static bool case_run_once(struct kunit_suite *suite, struct kunit_case *c, const void *param)
{
	static struct kunit test;

	memset(&test, 0, sizeof(test));
	test.name = c->name;
	test.param_value = param;
	if (suite->init && suite->init(&test)) {
		host_kunit_fail(&test, suite->name, 0, "init", "%s", "");
	} else if (!setjmp(test.abort)) {
		c->run_case(&test);
		if (!test.checks)
			host_kunit_fail(&test, suite->name, 0, "the case checks nothing", "%s", "");
	}
	if (suite->exit)
		suite->exit(&test);
	allocations_free(&test);
	return test.failures == 0;
}

static bool case_run(struct kunit_suite *suite, struct kunit_case *c)
{
	char desc[KUNIT_PARAM_DESC_SIZE] = "";
	const void *param;
	unsigned int runs = 0;
	bool good = true;

	if (!c->generate_params)
		return case_run_once(suite, c, NULL);
	for (param = c->generate_params(NULL, desc); param;
	     param = c->generate_params(param, desc)) {
		runs++;
		if (!case_run_once(suite, c, param)) {
			printf("    # %s: failed with parameter %u: %s\n", c->name, runs, desc);
			good = false;
		}
		desc[0] = '\0';
	}
	return good && runs;
}

static bool case_wanted(const struct kunit_suite *suite, const struct kunit_case *c,
			const char *pattern)
{
	char name[512];

	snprintf(name, sizeof(name), "%s.%s", suite->name, c->name);
	return !pattern || fnmatch(pattern, name, 0) == 0;
}

/* Returns the number of cases that failed; adds those that ran to *ran. */
static unsigned int suite_run(struct kunit_suite *suite, const char *pattern, unsigned int *ran)
{
	unsigned int failed = 0, number = 0;
	struct kunit_case *c;

	printf("    KTAP version 1\n    # Subtest: %s\n", suite->name);
	if (suite->suite_init && suite->suite_init(suite)) {
		printf("    # suite_init failed\n");
		return 1;
	}
	for (c = suite->test_cases; c->run_case; c++) {
		bool good;

		if (!case_wanted(suite, c, pattern))
			continue;
		good = case_run(suite, c);
		printf("    %s %u %s\n", good ? "ok" : "not ok", ++number, c->name);
		fflush(stdout);
		failed += !good;
	}
	if (suite->suite_exit)
		suite->suite_exit(suite);
	printf("    1..%u\n", number);
	*ran += number;
	return failed;
}

int main(int argc, char **argv)
{
	const char *pattern = argc > 1 ? argv[1] : NULL;
	unsigned int failed = 0, ran = 0, i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n1..%u\n", suite_count);
	for (i = 0; i < suite_count; i++) {
		unsigned int bad = suite_run(suites[i], pattern, &ran);

		printf("%s %u %s\n", bad ? "not ok" : "ok", i + 1, suites[i]->name);
		failed += bad;
	}
	printf("# cases: %u passed, %u failed\n", ran >= failed ? ran - failed : 0, failed);
	return failed || !ran;
}
