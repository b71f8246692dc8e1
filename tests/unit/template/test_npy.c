#include "template/fill.h"

#include "unit/scratch.h"
#include "unit/test.h"

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
    assert_int_equal(npy_read(&npy, path, &error), ERROR_CONFIG);
    assert_string_equal(error.file, path);
    assert_string_equal(error.message, message);
    assert_null(npy.data);
    assert_int_equal(npy.count, 0);
}

static void versions_1_to_3(void **state)
{
    (void)state;
    static const float data[] = {1.5F, -2.0F, 0.25F, 3e10F, 0.0F, 7.0F};
    for (unsigned char version = 1; version <= 3; version++) {
        struct npy npy;
        struct error error;
        write_npy(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data,
                  sizeof data);
        assert_int_equal(npy_read(&npy, path, &error), 0);
        assert_int_equal(npy.type, ELEMENT_FLOAT);
        assert_int_equal(npy.count, 6);
        assert_memory_equal(npy.data, data, sizeof data);
        npy_release(&npy);
        assert_null(npy.data);
    }
}

static void types(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        enum element_type type;
    } cases[] = {
        {"<f2", ELEMENT_HALF},   {"<f4", ELEMENT_FLOAT},  {"<f8", ELEMENT_DOUBLE},
        {"|i1", ELEMENT_INT8},   {"<i2", ELEMENT_INT16},  {"<i4", ELEMENT_INT32},
        {"<i8", ELEMENT_INT64},  {"|u1", ELEMENT_UINT8},  {"<u2", ELEMENT_UINT16},
        {"<u4", ELEMENT_UINT32}, {"<u8", ELEMENT_UINT64}, {"|b1", ELEMENT_UINT8},
    };
    static const unsigned char data[24] = "0123456789abcdefghijklm";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[128];
        struct npy npy;
        struct error error;
        size_t bytes = 3 * element_bytes(cases[i].type);
        (void)snprintf(header, sizeof header,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }", cases[i].code);
        write_npy(1, header, data, bytes);
        assert_int_equal(npy_read(&npy, path, &error), 0);
        assert_int_equal(npy.type, cases[i].type);
        assert_int_equal(npy.count, 3);
        assert_memory_equal(npy.data, data, bytes);
        npy_release(&npy);
    }
}

static void refused_types(void **state)
{
    (void)state;
    static const char *const codes[] = {"'>f4'", "'<c8'", "'<f16'",   "'<U3'",
                                        "'|S4'", "'|O'",  "'<M8[s]'", "[('a', '<f4')]"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char header[128];
        (void)snprintf(header, sizeof header,
                       "{'descr': %s, 'fortran_order': False, 'shape': (0,), }", codes[i]);
        write_npy(1, header, NULL, 0);
        assert_refused("buffers cannot have the array's element type; convert it with astype");
    }
}

static void shapes(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        size_t count;
    } cases[] = {{"()", 1}, {"(5,)", 5}, {"(0,)", 0}, {"(2, 0, 7)", 0}, {"(2, 2, 2)", 8}};
    static const unsigned char data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[128];
        struct npy npy;
        struct error error;
        (void)snprintf(header, sizeof header,
                       "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }", cases[i].shape);
        write_npy(1, header, data, cases[i].count);
        assert_int_equal(npy_read(&npy, path, &error), 0);
        assert_int_equal(npy.count, cases[i].count);
        assert_memory_equal(npy.data, data, cases[i].count);
        npy_release(&npy);
    }
}

static void malformed_shapes(void **state)
{
    (void)state;
    static const char *const shapes[] = {"(5",
                                         "(-1,)",
                                         "(x,)",
                                         "(4294967296, 4294967296)",
                                         "(99999999999999999999999,)",
                                         "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                                         "1,1,1,1,1,)"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char header[256];
        (void)snprintf(header, sizeof header,
                       "{'descr': '|u1', 'fortran_order': False, 'shape': %s", shapes[i]);
        write_npy(1, header, "x", 1);
        assert_refused("header's shape is malformed or too large");
    }
    write_npy(1, "{'descr': '|u1', 'fortran_order': False, }", "x", 1);
    assert_refused("header has no shape");
    write_npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': 5, }", "x", 1);
    assert_refused("header has no shape");
}

static void sizes_that_overflow(void **state)
{
    (void)state;
    write_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 1073741824), }",
              "x", 1);
    assert_refused("array is too large");
    write_npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807,), }", "x",
              1);
    assert_refused("file is shorter than its array");
}

static void columns_first_is_refused(void **state)
{
    (void)state;
    static const char message[] =
        "array is not in C order; convert it with numpy.ascontiguousarray";
    write_npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "abcd", 4);
    assert_refused(message);
    write_npy(1, "{'descr': '<f4', 'shape': (1, 1), }", "abcd", 4);
    assert_refused(message);
}

static void files_that_are_no_array(void **state)
{
    (void)state;
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

static void headers_end_at_64_kib(void **state)
{
    (void)state;
    unsigned char bytes[16] = "\x93NUMPY\x02\x00\x01\x00\x01\x00xx";
    write_bytes(bytes, sizeof bytes);
    assert_refused("header is longer than 64 KiB");
    bytes[8] = 0xff;
    bytes[9] = bytes[10] = bytes[11] = 0xff;
    write_bytes(bytes, sizeof bytes);
    assert_refused("header is longer than 64 KiB");
}

/* A file cut anywhere is refused, and nothing beyond its end is read (the sanitizers would say). */
static void cut_at_every_byte(void **state)
{
    (void)state;
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
            assert_int_equal(npy_read(&npy, path, &error), ERROR_CONFIG);
            assert_null(npy.data);
        }
        struct npy npy;
        struct error error;
        write_bytes(bytes, length);
        assert_int_equal(npy_read(&npy, path, &error), 0);
        npy_release(&npy);
    }
}

static void cuts_are_told_apart(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(versions_1_to_3),
        SCRATCH_TEST(types),
        SCRATCH_TEST(refused_types),
        SCRATCH_TEST(shapes),
        SCRATCH_TEST(malformed_shapes),
        SCRATCH_TEST(sizes_that_overflow),
        SCRATCH_TEST(columns_first_is_refused),
        SCRATCH_TEST(files_that_are_no_array),
        SCRATCH_TEST(headers_end_at_64_kib),
        SCRATCH_TEST(cut_at_every_byte),
        SCRATCH_TEST(cuts_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
