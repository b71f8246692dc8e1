/* Which file systems are those of a network. */
#include "base/file_system.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <unistd.h>

/* The nearest folder that exists decides. */
UNIT_TEST_WITH(a_path_that_does_not_exist_yet_can_be_asked_for, scratch_enter, scratch_leave)
{
    const char *here = file_system_network(".");
    assert_int_equal(scratch_write("file", ""), 0);
    assert_ptr_equal(file_system_network("not/yet/there"), here);
    assert_ptr_equal(file_system_network("nothing"), here);
    assert_ptr_equal(file_system_network("file/below"), here);
    assert_ptr_equal(file_system_network(""), here);
    assert_null(file_system_network("/proc/not/yet"));
}
