#include "gpu/helper_code.h"

#include "compile/launch_arguments.h"
#include "gpu/device_arguments.h"
#include "gpu/device_symbols.h"
#include "gpu/module.h"

#include <stdlib.h>

int helper_code_load(struct helper_code *code, struct device_context *device,
                     const struct template *template, struct compilation *compilation,
                     struct error *error)
{
    *code = (struct helper_code){.device = device, .template = template};
    if (compilation == NULL)
        return 0;
    code->compilation = *compilation;
    *compilation = (struct compilation){0};
    return CUDA(device, cuModuleLoadData, &code->module, code->compilation.cubin);
}

void helper_code_unload(struct helper_code *code)
{
    if (code->module != NULL)
        (void)code->device->driver.cuModuleUnload(code->module);
    compilation_release(&code->compilation);
    *code = (struct helper_code){0};
}

/* Adds the template's line to the error: a helper that fails is the template's fault, not a
 * variant's. */
static int helper_failed(const struct helper_code *code, const struct helper_run *run,
                         struct error *error)
{
    struct error inner = *error;
    return error_set_at(error, ERROR_DEVICE, code->template->path, run->launch->line,
                        "%s '%s': %.1400s", run->what, run->launch->entry, inner.message);
}

static int launch(const struct helper_code *code, struct helper_run *run, struct step *step,
                  void **arguments, struct error *error)
{
    struct device_context *device = code->device;
    const struct symbol_buffers buffers = {device, code->template, run->data->buffers};
    CUfunction function;
    int status = device_symbols_fill(buffers, code->module, error);
    if (status == 0)
        status = CUDA(device, cuModuleGetFunction, &function, code->module,
                      compilation_symbol(&code->compilation, step->entry));
    if (status == 0)
        status = module_allow_shared(device, function, step->dynamic_shared_bytes, error);
    if (status == 0)
        status = device_check(
            device, module_launch(&device->driver, step, function, device->stream, arguments),
            module_launch_call(step), error);
    if (status == 0)
        status = device_synchronise(device, error);
    return status == ERROR_DEVICE ? helper_failed(code, run, error) : status;
}

static int run_step(const struct helper_code *code, struct helper_run *run, struct step *step,
                    struct error *error)
{
    const struct argument_buffers buffers = {.device = code->device,
                                             .template = code->template,
                                             .problem = run->data->buffers,
                                             .reference = run->reference,
                                             .wrong = run->wrong};
    void **arguments = NULL;
    int status = device_arguments_make(&buffers, step, &arguments, error);
    if (status == 0)
        status = launch(code, run, step, arguments, error);
    free(arguments);
    return status;
}

int helper_code_run(const struct helper_code *code, struct helper_run *run,
                    const struct scope *scope, struct error *error)
{
    struct launch_plan launch_plan = {0};
    if (code->module == NULL)
        return error_set(error, ERROR_WORKER, "'open' needs a 'reference' for '%s'",
                         run->launch->entry);
    int status = launch_plan_helper(&launch_plan, code->template, run->launch, scope, error);
    if (status != 0)
        return status;
    status = launch_arguments_check(&launch_plan, code->template, &code->compilation, error);
    if (status == 0 && launch_plan.step_count > 0)
        status = run_step(code, run, &launch_plan.steps[0], error);
    else if (status == 0 && run->elements > 0)
        status = error_set_at(error, ERROR_CONFIG, code->template->path, run->launch->line,
                              "%s '%s' has no blocks or no threads, but its buffer has elements",
                              run->what, run->launch->entry);
    device_arguments_free(code->device, &launch_plan);
    launch_plan_release(&launch_plan);
    return status;
}
