/* What every unit test includes: cmocka, with what its header needs. */
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

#endif
