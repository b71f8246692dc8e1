#include "template/compiler_option.h"

#include "unit/cases.h"

static void check_case(void *user, const struct test_case *test)
{
    const char *option = test->fields[0];
    (void)user;
    case_assert_text(test,
                     compiler_option_writes_files(option)     ? "writes"
                     : compiler_option_includes_files(option) ? "includes"
                     : compiler_option_takes_value(option)    ? "value"
                                                              : "none",
                     test->fields[1]);
}

UNIT_TEST(options)
{
    cases_run(CASES, check_case, NULL);
}
