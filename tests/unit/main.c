/* Runs the tests of a file that has no main() of its own. */
#include "test.h"

static struct CMUnitTest tests[100];
static size_t test_count;

void test_add(struct CMUnitTest test)
{
    if (test_count == sizeof tests / sizeof *tests)
        abort();
    tests[test_count++] = test;
}

int main(void)
{
    return _cmocka_run_group_tests("tests", tests, test_count, NULL, NULL);
}
