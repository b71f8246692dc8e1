#include "compile/application.h"

#include "base/alloc.h"
#include "template/template_load.h"
#include "template/variant.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <sys/stat.h>

static char cubin[] = "the cubin of a variant";

static char *options_first[] = {"-I/here", "-DA=1", "-DB=2"};
static char *options_moved[] = {"-DB=2", "-I/there", "-DA=1"};
static char *options_other[] = {"-I/here", "-DA=1", "-DB=3"};

static struct source source = {.hash = "0123"};
static struct source other_source = {.hash = "4567"};
static const struct options first = {.items = options_first, .count = 3};
static const struct options moved = {.items = options_moved, .count = 3};
static const struct options other = {.items = options_other, .count = 3};
static const struct cubin_origin origin = {&source, &first, 90};

static void write_first(void)
{
    const struct compilation compilation = {.cubin = cubin, .cubin_bytes = sizeof cubin - 1};
    struct error error;
    assert_int_equal(bundled_cubin_write("b/k.cubin", &origin, &compilation, &error), 0);
}

static void expect(const struct cubin_origin *from, const char *message)
{
    struct error error = {0};
    struct compilation compilation;
    int status = bundled_cubin_read("b/k.cubin", from, &compilation, &error);
    assert_int_equal(status, message == NULL ? 0 : ERROR_RECORD);
    if (message == NULL)
        assert_memory_equal(compilation.cubin, cubin, sizeof cubin - 1);
    else
        assert_non_null(strstr(error.message, message));
    assert_true((compilation.cubin != NULL) == (message == NULL));
    compilation_release(&compilation);
}

UNIT_TEST_WITH(test_it_is_read_for_what_it_was_compiled_from, scratch_enter, scratch_leave)
{
    write_first();
    expect(&origin, NULL);
    expect(&(struct cubin_origin){&source, &moved, 90}, NULL);
    expect(&(struct cubin_origin){&source, &other, 90}, "compiled from something else");
    expect(&(struct cubin_origin){&other_source, &first, 90}, "compiled from something else");
    expect(&(struct cubin_origin){&source, &first, 80}, "compiled from something else");
}

/* An application compiles what the tuner has compiled, headers included. */
UNIT_TEST_WITH(host_code_is_not_compiled_in_applications, scratch_enter, scratch_leave)
{
    struct template template;
    struct error error = {0};
    struct options options;
    struct application_compiler compiler = {.cache = alloc_string("cache")};
    struct compilation compilation = {0};
    bool compiled = false;
    assert_int_equal(mkdir("sub", 0700), 0);
    scratch_write("sub/a.cuh",
                  "#include <vector>\nvoid f() { k<<<1, 1>>>(std::vector<int>()); }\n");
    char *folder = realpath("sub", NULL);
    char *text =
        alloc_format("#include \"sub/../sub/a.cuh\"\n#include \"%s/a.cuh\"\nint main() {}\n"
                     "extern \"C\" __global__ void k(float *x) { *x = 1; }\n",
                     folder);
    scratch_write("k.cu", text);
    scratch_write("k.ini", "[kernel]\nhost_code = ignore\n[buffer.x]\ntype = float\nlength = 1\n"
                           "access = write\n[launch.k]\nentry = k\ngrid = 1\nblock = 1\n"
                           "arguments = x\n[expect.x]\nreference = constant(1)\ncompare = exact\n");
    assert_int_equal(template_load(&template, "k.ini", &error), 0);
    const struct bindings none = {0};
    assert_int_equal(variant_options(&template, &none, &none, &options, &error), 0);
    if (application_compile_source(&compiler, &template.source, &options, "sm_90", "", &compilation,
                                   &compiled, &error) != 0)
        fail_msg("%s", error.message);
    assert_true(compiled);
    assert_non_null(compilation.cubin);
    compilation_release(&compilation);
    options_release(&options);
    template_release(&template);
    application_compiler_release(&compiler);
    free(folder);
    free(text);
}

UNIT_TEST_WITH(test_its_cpp_names_come_with_it, scratch_enter, scratch_leave)
{
    static char entry[] = "ns::scale<float, TILE>";
    static char symbol[] = "_ZN2ns5scaleIfLi64EEEvPT_";
    static char plain[] = "plain";
    struct compiled_kernel kernels[] = {{.entry = plain}, {.entry = entry, .symbol = symbol}};
    const struct compilation written = {
        .cubin = cubin, .cubin_bytes = sizeof cubin - 1, .kernels = kernels, .kernel_count = 2};
    struct compilation read;
    assert_int_equal(bundled_cubin_write("b/k.cubin", &origin, &written, NULL), 0);
    assert_int_equal(bundled_cubin_read("b/k.cubin", &origin, &read, NULL), 0);
    assert_int_equal(read.kernel_count, 1);
    assert_string_equal(compilation_symbol(&read, entry), symbol);
    assert_string_equal(compilation_symbol(&read, plain), plain);
    compilation_release(&read);
    assert_int_equal(system("sed -i s/scaleIf/scaleId/ b/k.cubin.hash"), 0);
    expect(&origin, "damaged");
}

UNIT_TEST_WITH(test_a_damaged_one_is_not_read, scratch_enter, scratch_leave)
{
    for (size_t i = 0; i < sizeof cubin - 1; i++) {
        write_first();
        char *text = scratch_read("b/k.cubin");
        assert_non_null(text);
        text[i] ^= 1;
        assert_int_equal(scratch_write("b/k.cubin", text), 0);
        expect(&origin, "'b/k.cubin' is damaged");
        text[i] = '\0'; /* cut */
        assert_int_equal(scratch_write("b/k.cubin", text), 0);
        expect(&origin, "'b/k.cubin' is damaged");
        free(text);
    }
    write_first();
    assert_int_equal(scratch_write("b/k.cubin.hash", "0"), 0);
    expect(&origin, "damaged");
    assert_int_equal(unlink("b/k.cubin.hash"), 0);
    expect(&origin, "lacks 'b/k.cubin'");
    write_first();
    assert_int_equal(unlink("b/k.cubin"), 0);
    expect(&origin, "lacks 'b/k.cubin'");
}
