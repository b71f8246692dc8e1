/*
 * What every unit test includes: cmocka, with what its header needs. UNIT_TEST(name) {...} is a test, and
 * UNIT_TEST_WITH(name, setup, teardown) one with cmocka's functions before and after it (or NULL). They run
 * in their order in the file; a file with other wishes has a main() of its own. TEST_WORKER(function) is for a
 * program that is its own workers (scripted_worker.h): if it is started with arguments, it returns function(argv).
 */
#ifndef AUTOTUNE_TESTS_TEST_H
#define AUTOTUNE_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Adds a test to those that main() runs. UNIT_TEST_WITH() calls it. */
void test_add(struct CMUnitTest test);

#define UNIT_TEST_WITH(name, setup, teardown)                                                      \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        test_add((struct CMUnitTest)cmocka_unit_test_setup_teardown(name, setup, teardown));       \
    }                                                                                              \
    static void name(void **state)
#define UNIT_TEST(name) UNIT_TEST_WITH(name, NULL, NULL)

/* NULL: the program has no workers. */
extern int (*test_worker_main)(char **argv);

#define TEST_WORKER(function)                                                                      \
    __attribute__((constructor)) static void set_worker(void)                                      \
    {                                                                                              \
        test_worker_main = (function);                                                             \
    }

#endif
