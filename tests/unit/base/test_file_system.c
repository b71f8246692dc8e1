/* Which file systems are those of a network. */
#include "base/file_system.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <unistd.h>

static void network_file_systems_are_known_by_their_numbers(void **state)
{
    assert_string_equal(file_system_network_by_type(0x6969), "NFS");
    assert_string_equal(file_system_network_by_type(0xff534d42), "SMB");
    assert_string_equal(file_system_network_by_type((unsigned long)(int32_t)0xff534d42), "SMB");
    assert_string_equal(file_system_network_by_type(0xfe534d42), "SMB");
    assert_string_equal(file_system_network_by_type(0x0bd00bd0), "Lustre");
    assert_string_equal(file_system_network_by_type(0x47504653), "GPFS");
    assert_string_equal(file_system_network_by_type(0x19830326), "BeeGFS");
    assert_string_equal(file_system_network_by_type(0x00c36400), "Ceph");
    assert_string_equal(file_system_network_by_type(0x01021997), "9P");
    assert_string_equal(file_system_network_by_type(0x5346414f), "AFS");
}

static void local_file_systems_are_not_among_them(void **state)
{
    static const unsigned long local[] = {
        0xef53,     /* ext4 */
        0x58465342, /* XFS */
        0x9123683e, /* btrfs */
        0x01021994, /* tmpfs */
        0x794c7630, /* overlayfs */
        0x2fc12fc1, /* ZFS */
        0x65735546, /* FUSE, which says nothing */
        0,
    };
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        assert_null(file_system_network_by_type(local[i]));
}

static void fuse_says_which_it_is_by_name(void **state)
{
    assert_string_equal(file_system_network_by_name("fuse.sshfs"), "SSHFS");
    assert_string_equal(file_system_network_by_name("fuse.glusterfs"), "GlusterFS");
    assert_null(file_system_network_by_name("fuse.fuse-overlayfs"));
    assert_null(file_system_network_by_name("fuseblk"));
    assert_null(file_system_network_by_name("ext4"));
}

/* The nearest folder that exists decides. */
static void a_path_that_does_not_exist_yet_can_be_asked_for(void **state)
{
    const char *here = file_system_network(".");
    assert_int_equal(scratch_write("file", ""), 0);
    assert_ptr_equal(file_system_network("not/yet/there"), here);
    assert_ptr_equal(file_system_network("nothing"), here);
    assert_ptr_equal(file_system_network("file/below"), here);
    assert_ptr_equal(file_system_network(""), here);
    assert_null(file_system_network("/proc/not/yet"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(network_file_systems_are_known_by_their_numbers),
        cmocka_unit_test(local_file_systems_are_not_among_them),
        cmocka_unit_test(fuse_says_which_it_is_by_name),
        SCRATCH_TEST(a_path_that_does_not_exist_yet_can_be_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
