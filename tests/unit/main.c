/* Runs the tests of a file that has no main() of its own; with an argument, those whose names it matches. */
#include "test.h"

static struct CMUnitTest tests[100];
static size_t test_count;

int (*test_worker_main)(char **argv);

void test_add(struct CMUnitTest test)
{
    if (test_count == sizeof tests / sizeof *tests)
        abort();
    tests[test_count++] = test;
}

int main(int argc, char **argv)
{
    if (argc > 1 && test_worker_main != NULL)
        return test_worker_main(argv);
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return _cmocka_run_group_tests("tests", tests, test_count, NULL, NULL);
}
