/* Sweep files, over two templates that are good, and the search spaces they describe. */
#include "fuzz.h"
#include "template/space.h"
#include "template/sweep.h"

#include <string.h>

enum { VARIANTS = 256 }; /* of each kernel; more take time and show nothing new */

static const char template_ini[] = "[kernel]\n"
                                   "constraint = block_size % 32 == 0\n"
                                   "[parameters]\n"
                                   "block_size = 256\n"
                                   "num_load = 4\n"
                                   "finish = two_pass | atomic\n"
                                   "[launch_parameters]\n"
                                   "blocks = 1\n"
                                   "[problem]\n"
                                   "n = 2^10\n"
                                   "value_type = float | int32\n"
                                   "[buffer.out]\n"
                                   "type = value_type\n"
                                   "length = n\n"
                                   "access = write\n"
                                   "[launch.all]\n"
                                   "entry = all\n"
                                   "grid = min(blocks, ceil_div(n, block_size))\n"
                                   "block = block_size\n"
                                   "arguments = out, uint64 n\n"
                                   "[expect.out]\n"
                                   "reference = constant(0)\n"
                                   "compare = exact\n";
static const char source[] = "extern \"C\" __global__ void all(void *, unsigned long long) {}\n";

static void make_templates(void)
{
    static int made;
    if (made)
        return;
    (void)fuzz_file("scale.ini", template_ini, sizeof template_ini - 1);
    (void)fuzz_file("scale.cu", source, sizeof source - 1);
    (void)fuzz_file("sum.ini", template_ini, sizeof template_ini - 1);
    (void)fuzz_file("sum.cu", source, sizeof source - 1);
    made = 1;
}

static void enumerate(const struct sweep_kernel *kernel)
{
    FUZZ_REQUIRE(kernel->problem_count > 0 && kernel->problem_count <= 1024);
    struct space *space = space_new(&kernel->template, kernel->values, kernel->constraints,
                                    kernel->constraint_count, &kernel->problems[0]);
    struct bindings parameters = {0};
    struct error error;
    uint64_t valid = 0;
    int status = 1;
    for (; valid < VARIANTS && (status = space_next(space, &parameters, &error)) == 1; valid++)
        FUZZ_REQUIRE(parameters.count == kernel->template.parameter_count);
    if (status == 0)
        FUZZ_REQUIRE(valid + space_rejected(space) == space_points(space));
    bindings_release(&parameters);
    space_free(space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sweep sweep;
    struct error error = {0};
    make_templates();
    const char *path = fuzz_file("sweep.ini", data, size);
    const struct sweep_request request = {.path = path};
    int status = sweep_open(&sweep, &request, &error);
    if (status != 0) {
        FUZZ_REQUIRE(status == ERROR_CONFIG && error.message[0] != '\0');
        return 0;
    }
    FUZZ_REQUIRE(sweep.kernel_count > 0);
    for (size_t i = 0; i < sweep.kernel_count; i++)
        enumerate(&sweep.kernels[i]);
    sweep_release(&sweep);
    return 0;
}
