/* Template files, beside a source that is there, and the compiler's options they give. */
#include "fuzz.h"
#include "template/template.h"
#include "template/template_load.h"
#include "template/variant.h"

#include <string.h>

static const char source[] =
    "#include \"helper.h\"\n#include <cuda/atomic>\nextern \"C\" __global__ void all() {}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int made;
    struct template template;
    struct error error = {0};
    if (!made) {
        (void)fuzz_file("kernel.cu", source, sizeof source - 1);
        (void)fuzz_file("helper.h", "\n", 1);
        made = 1;
    }
    const char *path = fuzz_file("kernel.ini", data, size);
    int status = template_load(&template, path, &error);
    if (status == 0) {
        struct bindings parameters = {0};
        struct bindings problem = {0};
        struct options options = {0};
        FUZZ_REQUIRE(template.launch_count > 0 &&
                     template.expectation_count + template.verifier_count > 0);
        variant_defaults(&template, &parameters);
        FUZZ_REQUIRE(parameters.count == template.parameter_count);
        for (size_t i = 0; i < template.problem_count; i++)
            bindings_set(&problem, template.problem[i].name, template.problem[i].fallback);
        status = variant_options(&template, &parameters, &problem, &options, &error);
        FUZZ_REQUIRE(status == 0 || (status == ERROR_CONFIG && error.message[0] != '\0'));
        for (size_t i = 0; i < options.count; i++)
            FUZZ_REQUIRE(strlen(options.items[i]) > 0);
        variant_headers(&template, &parameters, &problem, &options);
        FUZZ_REQUIRE(options.header_count <= template.precompiled_count);
        options_release(&options);
        bindings_release(&parameters);
        bindings_release(&problem);
        template_release(&template);
    } else {
        FUZZ_REQUIRE(status == ERROR_CONFIG && error.message[0] != '\0');
    }
    return 0;
}
