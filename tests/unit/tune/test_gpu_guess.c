/* The kernel driver's files, in the current folder instead of the root. */
#include "tune/gpu_guess.h"

#include "base/write_file.h"
#include "unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A GPU in a slot, with its PCI device number. */
static void add_gpu(const char *slot, const char *device)
{
    char *gpu = alloc_format("./proc/driver/nvidia/gpus/%s/information", slot);
    char *number = alloc_format("./sys/bus/pci/devices/%s/device", slot);
    assert_int_equal(write_file_make_folders(gpu, NULL), 0);
    assert_int_equal(write_file_make_folders(number, NULL), 0);
    assert_int_equal(scratch_write(number, device), 0);
    free(number);
    free(gpu);
}

static void an_h200_is_known_by_its_pci_number(void **state)
{
    char arch[GPU_GUESS_BYTES];
    (void)state;
    assert_false(gpu_guess_arch(".", arch));
    add_gpu("0000:19:00.0", "0x2335\n");
    assert_true(gpu_guess_arch(".", arch));
    assert_string_equal(arch, "sm_90");
}

static void gpus_of_two_architectures_or_unknown_ones_give_no_guess(void **state)
{
    char arch[GPU_GUESS_BYTES];
    (void)state;
    add_gpu("0000:19:00.0", "0x2335\n");
    add_gpu("0000:3b:00.0", "0x2330\n");
    assert_true(gpu_guess_arch(".", arch));
    add_gpu("0000:5e:00.0", "0x20b5\n");
    assert_false(gpu_guess_arch(".", arch));
    add_gpu("0000:5e:00.0", "0xff00\n");
    assert_false(gpu_guess_arch(".", arch));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(an_h200_is_known_by_its_pci_number),
        SCRATCH_TEST(gpus_of_two_architectures_or_unknown_ones_give_no_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
