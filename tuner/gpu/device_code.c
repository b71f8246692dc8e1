#include "gpu/device_code.h"

#include "base/alloc.h"
#include "gpu/module.h"

#include <stdlib.h>

int device_code_load(struct device_code *code, struct device_context *device, const void *cubin,
                     struct error *error)
{
    *code = (struct device_code){0};
    return CUDA(device, cuModuleLoadData, &code->module, cubin);
}

int device_code_resolve(struct device_code *code, struct device_context *device,
                        const struct compilation *compilation,
                        const struct launch_plan *launch_plan, struct error *error)
{
    const struct module module = {device, code->module, compilation};
    int status = 0;
    code->functions = alloc_zeroed(launch_plan->step_count, sizeof *code->functions);
    code->count = launch_plan->step_count;
    for (size_t i = 0; i < code->count && status == 0; i++) {
        const struct step *step = &launch_plan->steps[i];
        status = module_function(&module, step->entry, &code->functions[i], error);
        if (status == 0)
            status = module_prepare(device, code->functions[i], step, error);
        if (status == 0) /* now, so that no timed or captured launch has to */
            status = device_load_function(device, code->functions[i], error);
    }
    return status;
}

void device_code_unload(struct device_code *code, struct device_context *device)
{
    free(code->functions);
    free(code->symbols);
    if (code->module != NULL)
        (void)device->driver.cuModuleUnload(code->module);
    *code = (struct device_code){0};
}
