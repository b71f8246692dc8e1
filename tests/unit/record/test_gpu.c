#include "base/alloc.h"
#include "record/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gpu known_gpu(const char *arch)
{
    struct gpu gpu;
    struct error error = {0};
    if (gpu_from_arch(arch, &gpu, &error) != 0)
        fail_msg("%s: %s", arch, error.message);
    return gpu;
}

/* CUDA C++ Programming Guide, Technical Specifications per Compute Capability. */
static void limits_are_those_of_the_programming_guide(void **state)
{
    static const struct {
        const char *arch;
        int64_t threads, blocks, shared_kib, optin_kib, reserved_bytes;
    } guide[] = {
        {"sm_75", 1024, 16, 64, 64, 0},       {"sm_80", 2048, 32, 164, 163, 1024},
        {"sm_86", 1536, 16, 100, 99, 1024},   {"sm_87", 1536, 16, 164, 163, 1024},
        {"sm_89", 1536, 24, 100, 99, 1024},   {"sm_90", 2048, 32, 228, 227, 1024},
        {"sm_100", 2048, 32, 228, 227, 1024}, {"sm_103", 2048, 32, 228, 227, 1024},
        {"sm_110", 1536, 24, 228, 227, 1024}, {"sm_120", 1536, 24, 100, 99, 1024},
        {"sm_121", 1536, 24, 100, 99, 1024},
    };
    (void)state;
    for (size_t i = 0; i < sizeof guide / sizeof *guide; i++) {
        struct gpu gpu = known_gpu(guide[i].arch);
        assert_string_equal(gpu.arch, guide[i].arch);
        assert_int_equal(gpu.compute_capability, atoi(guide[i].arch + 3));
        assert_int_equal(gpu.attributes[GPU_warp_size], 32);
        assert_int_equal(gpu.attributes[GPU_max_threads_per_block], 1024);
        assert_int_equal(gpu.attributes[GPU_registers_per_sm], 65536);
        assert_int_equal(gpu.attributes[GPU_registers_per_block], 65536);
        assert_int_equal(gpu.attributes[GPU_max_shared_bytes_per_block], 49152);
        assert_int_equal(gpu.attributes[GPU_max_threads_per_sm], guide[i].threads);
        assert_int_equal(gpu.attributes[GPU_max_blocks_per_sm], guide[i].blocks);
        assert_int_equal(gpu.attributes[GPU_shared_bytes_per_sm], guide[i].shared_kib * 1024);
        assert_int_equal(gpu.attributes[GPU_max_shared_bytes_per_block_optin],
                         guide[i].optin_kib * 1024);
        assert_int_equal(gpu.attributes[GPU_reserved_shared_bytes_per_block],
                         guide[i].reserved_bytes);
        assert_true(gpu.attributes[GPU_sm_count] > 0 && gpu.attributes[GPU_l2_bytes] > 0 &&
                    gpu.attributes[GPU_clock_khz] > 0 && gpu.memory_bytes > 0);
    }
}

static void a_card_stands_in_and_lends_its_name(void **state)
{
    (void)state;
    struct gpu h200 = known_gpu("sm_90");
    assert_string_equal(h200.name, "NVIDIA H200");
    assert_int_equal(h200.attributes[GPU_sm_count], 132);
    assert_int_equal(h200.attributes[GPU_l2_bytes], 60 << 20);
    assert_int_equal(h200.memory_bytes, 141000000000);
    assert_string_equal(h200.uuid, "");
    assert_string_equal(h200.driver, "");
    struct gpu b200 = known_gpu("sm_100");
    assert_int_equal(b200.attributes[GPU_sm_count], 148);
    assert_int_equal(b200.attributes[GPU_l2_bytes], 126 << 20);
    struct gpu rtx5090 = known_gpu("sm_120");
    assert_int_equal(rtx5090.attributes[GPU_sm_count], 170);
    assert_int_equal(rtx5090.attributes[GPU_l2_bytes], 96 << 20);
}

/* Twice the memory clock times the bus is the published bandwidth, within a few per cent. */
static void memory_figures_give_the_published_bandwidth(void **state)
{
    static const struct {
        const char *arch;
        double gigabytes_per_s;
    } published[] = {{"sm_75", 320},  {"sm_80", 2039},  {"sm_86", 936},   {"sm_87", 204.8},
                     {"sm_89", 1008}, {"sm_90", 4800},  {"sm_100", 8000}, {"sm_103", 8000},
                     {"sm_110", 273}, {"sm_120", 1792}, {"sm_121", 273}};
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct gpu gpu = known_gpu(published[i].arch);
        double bandwidth = 2.0 * (double)gpu.attributes[GPU_memory_clock_khz] * 1e3 *
                           (double)gpu.attributes[GPU_memory_bus_bits] / 8 / 1e9;
        if (bandwidth < 0.97 * published[i].gigabytes_per_s ||
            bandwidth > 1.03 * published[i].gigabytes_per_s)
            fail_msg("%s: %.1f GB/s", published[i].arch, bandwidth);
    }
}

static void suffixes_are_kept_and_virtual_architectures_made_real(void **state)
{
    (void)state;
    assert_string_equal(known_gpu("sm_90a").arch, "sm_90a");
    assert_string_equal(known_gpu("sm_100f").arch, "sm_100f");
    assert_string_equal(known_gpu("compute_90").arch, "sm_90");
    assert_int_equal(known_gpu("sm_120a").compute_capability, 120);
}

static void unknown_architectures_are_refused_with_the_known_ones(void **state)
{
    static const char *const wrong[] = {"",       "90",     "sm_",           "sm_9",
                                        "sm_91",  "sm_90b", "sm_90aa",       "SM_90",
                                        "sm_-90", "sm_ 90", "sm_99999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gpu gpu;
        struct error error = {0};
        assert_int_equal(gpu_from_arch(wrong[i], &gpu, &error), ERROR_USAGE);
        assert_non_null(strstr(error.message, "sm_75, sm_80"));
        assert_non_null(strstr(error.message, "sm_121"));
    }
}

static void expressions_see_every_attribute_by_name(void **state)
{
    (void)state;
    struct gpu gpu = known_gpu("sm_90");
    struct bindings bindings = {0};
    gpu_bindings(&gpu, &bindings);
    assert_int_equal(bindings_find(&bindings, "compute_capability")->as.integer, 90);
    assert_int_equal(bindings_find(&bindings, "sm_count")->as.integer, 132);
    assert_int_equal(bindings_find(&bindings, "max_threads_per_sm")->as.integer, 2048);
    assert_int_equal(bindings_find(&bindings, "memory_bytes")->as.integer, 141000000000);
    const char *const *names = gpu_binding_names();
    size_t count = 0;
    for (; names[count] != NULL; count++)
        assert_string_equal(names[count], bindings.items[count].name);
    assert_int_equal(count, bindings.count);
    assert_int_equal(count, GPU_ATTRIBUTE_COUNT + 2);
    bindings_release(&bindings);
    assert_string_equal(gpu_attribute_name(GPU_l2_bytes), "l2_bytes");
    assert_string_equal(gpu_attribute_text(GPU_sm_count), "streaming multiprocessors");
}

static void json_brings_back_the_same_gpu(void **state)
{
    (void)state;
    struct gpu gpu = known_gpu("sm_90");
    strcpy(gpu.uuid, "GPU-0123");
    strcpy(gpu.driver, "13.0");
    gpu.memory_bytes = 150754820096;
    json_t *object = gpu_to_json(&gpu);
    struct gpu back;
    memset(&back, 0xff, sizeof back);
    assert_int_equal(gpu_from_json(object, &back, NULL), 0);
    assert_string_equal(back.name, "NVIDIA H200");
    assert_string_equal(back.uuid, "GPU-0123");
    assert_string_equal(back.arch, "sm_90");
    assert_string_equal(back.driver, "13.0");
    assert_int_equal(back.compute_capability, 90);
    assert_int_equal(back.memory_bytes, 150754820096);
    assert_memory_equal(back.attributes, gpu.attributes, sizeof gpu.attributes);
    json_decref(object);
}

static void expect_missing(json_t *object, const char *member)
{
    struct gpu gpu = {.compute_capability = 7};
    struct error error = {0};
    assert_int_equal(gpu_from_json(object, &gpu, &error), ERROR_WORKER);
    if (strstr(error.message, member) == NULL)
        fail_msg("'%s' not in '%s'", member, error.message);
    assert_int_equal(gpu.compute_capability, 7); /* all or nothing */
}

static void json_without_a_member_is_refused_naming_it(void **state)
{
    (void)state;
    static const char *const members[] = {
        "name", "uuid", "arch", "driver", "compute_capability", "memory_bytes"};
    struct gpu gpu = known_gpu("sm_90");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *object = gpu_to_json(&gpu);
        json_object_del(object, members[i]);
        expect_missing(object, members[i]);
        json_object_set_new(object, members[i], json_true());
        expect_missing(object, members[i]);
        json_decref(object);
    }
    for (enum gpu_attribute i = 0; i < GPU_ATTRIBUTE_COUNT; i++) {
        json_t *object = gpu_to_json(&gpu);
        json_object_del(json_object_get(object, "attributes"), gpu_attribute_name(i));
        expect_missing(object, gpu_attribute_name(i));
        json_decref(object);
    }
    json_t *object = gpu_to_json(&gpu);
    char *long_name = alloc_zeroed(300, 1);
    memset(long_name, 'x', 299);
    json_object_set_new(object, "name", json_string(long_name));
    expect_missing(object, "name");
    free(long_name);
    json_decref(object);
    expect_missing(NULL, "name");
}

static void a_name_that_is_no_utf8_still_makes_json(void **state)
{
    (void)state;
    struct gpu gpu = known_gpu("sm_90");
    strcpy(gpu.name, "Card \xff");
    json_t *object = gpu_to_json(&gpu);
    assert_string_equal(json_string_value(json_object_get(object, "name")), "Card ?");
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_those_of_the_programming_guide),
        cmocka_unit_test(a_card_stands_in_and_lends_its_name),
        cmocka_unit_test(memory_figures_give_the_published_bandwidth),
        cmocka_unit_test(suffixes_are_kept_and_virtual_architectures_made_real),
        cmocka_unit_test(unknown_architectures_are_refused_with_the_known_ones),
        cmocka_unit_test(expressions_see_every_attribute_by_name),
        cmocka_unit_test(json_brings_back_the_same_gpu),
        cmocka_unit_test(json_without_a_member_is_refused_naming_it),
        cmocka_unit_test(a_name_that_is_no_utf8_still_makes_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
