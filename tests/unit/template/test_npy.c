#include "template/fill.h"

#include "unit/cases.h"
#include "unit/scratch.h"

static const char path[] = "a.npy";

static void write_bytes(const void *bytes, size_t count)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, count, stream), count);
    assert_int_equal(fclose(stream), 0);
}

/* Puts a file as NumPy writes it into `bytes`; returns its length. */
static size_t make_npy(unsigned char *bytes, unsigned char version, const char *header,
                       const void *data, size_t data_bytes)
{
    size_t preamble = version == 1 ? 10 : 12;
    size_t length = strlen(header);
    size_t padded = (preamble + length + 1 + 63) / 64 * 64 - preamble;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = version;
    bytes[7] = 0;
    for (size_t i = 8; i < preamble; i++)
        bytes[i] = (unsigned char)(padded >> (8 * (i - 8)));
    memset(bytes + preamble, ' ', padded);
    memcpy(bytes + preamble, header, length);
    bytes[preamble + padded - 1] = '\n';
    if (data_bytes > 0)
        memcpy(bytes + preamble + padded, data, data_bytes);
    return preamble + padded + data_bytes;
}

static void write_npy(unsigned char version, const char *header, const void *data,
                      size_t data_bytes)
{
    unsigned char bytes[1024] = {0};
    size_t count = make_npy(bytes, version, header, data, data_bytes);
    write_bytes(bytes, count);
}

static void assert_refused(const char *message)
{
    struct npy npy;
    struct error error;
    assert_int_equal(npy_read(&npy, path, true, &error), ERROR_CONFIG);
    assert_string_equal(error.file, path);
    assert_string_equal(error.message, message);
    assert_null(npy.data);
    assert_int_equal(npy.count, 0);
}

static void check_case(void *user, const struct test_case *test)
{
    static const char data[] = "0123456789abcdefghijklmn";
    struct npy npy;
    struct error error;
    char text[64];
    (void)user;
    for (unsigned char version = 1; version <= 3; version++) {
        write_npy(version, test->fields[0], data, strlen(data));
        if (test->count == 3) {
            assert_refused(test->fields[2]);
            continue;
        }
        if (npy_read(&npy, path, true, &error) != 0)
            case_fail(test, "%s", error.message);
        (void)snprintf(text, sizeof text, "%s %zu", element_name(npy.type), npy.count);
        case_assert_text(test, text, test->fields[1]);
        assert_memory_equal(npy.data, data, npy.count * element_bytes(npy.type));
        npy_release(&npy);
        assert_null(npy.data);
    }
}

UNIT_TEST_WITH(headers, scratch_enter, scratch_leave)
{
    cases_run(CASES, check_case, NULL);
}

UNIT_TEST_WITH(files_that_are_no_array, scratch_enter, scratch_leave)
{
    assert_refused("cannot open the file: No such file or directory");
    write_bytes("", 0);
    assert_refused("file is not an .npy array of version 1 to 3");
    write_bytes("PK\x03\x04 a zip archive of arrays", 28);
    assert_refused("file is not an .npy array of version 1 to 3");
    for (int version = 0; version <= 255; version += version == 0 ? 4 : 251) {
        write_npy((unsigned char)version,
                  "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "abcd", 4);
        assert_refused("file is not an .npy array of version 1 to 3");
    }
}

UNIT_TEST_WITH(headers_end_at_64_kib, scratch_enter, scratch_leave)
{
    unsigned char bytes[16] = "\x93NUMPY\x02\x00\x01\x00\x01\x00xx";
    write_bytes(bytes, sizeof bytes);
    assert_refused("header is longer than 64 KiB");
    bytes[8] = 0xff;
    bytes[9] = bytes[10] = bytes[11] = 0xff;
    write_bytes(bytes, sizeof bytes);
    assert_refused("header is longer than 64 KiB");
}

/* A file cut anywhere is refused, and nothing beyond its end is read (the sanitizers would say). */
UNIT_TEST_WITH(cut_at_every_byte, scratch_enter, scratch_leave)
{
    static const double data[] = {1, 2, 3, 4};
    for (unsigned char version = 1; version <= 3; version++) {
        unsigned char bytes[512];
        size_t length =
            make_npy(bytes, version, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }",
                     data, sizeof data);
        for (size_t cut = 0; cut < length; cut++) {
            struct npy npy;
            struct error error;
            write_bytes(bytes, cut);
            assert_int_equal(npy_read(&npy, path, true, &error), ERROR_CONFIG);
            assert_null(npy.data);
        }
        struct npy npy;
        struct error error;
        write_bytes(bytes, length);
        assert_int_equal(npy_read(&npy, path, true, &error), 0);
        npy_release(&npy);
    }
}

UNIT_TEST_WITH(cuts_are_told_apart, scratch_enter, scratch_leave)
{
    static const double data[] = {1, 2, 3, 4};
    unsigned char bytes[512];
    size_t length = make_npy(bytes, 2, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }",
                             data, sizeof data);
    write_bytes(bytes, 11);
    assert_refused("file ends within its header");
    write_bytes(bytes, length - sizeof data - 1);
    assert_refused("file ends within its header");
    write_bytes(bytes, length - 1);
    assert_refused("file is shorter than its array");
}
