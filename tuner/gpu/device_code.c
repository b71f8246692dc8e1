#include "gpu/device_code.h"

#include "base/alloc.h"
#include "compile/launch_check.h"
#include "gpu/device_arguments.h"
#include "gpu/module.h"

#include <stdlib.h>

int device_code_load(struct device_code *code, struct device_context *device, const void *cubin,
                     struct error *error)
{
    *code = (struct device_code){0};
    return CUDA(device, cuModuleLoadData, &code->module, cubin);
}

void device_code_unload(struct device_code *code, struct device_context *device)
{
    free(code->functions);
    free(code->symbols);
    if (code->module != NULL)
        (void)device->driver.cuModuleUnload(code->module);
    *code = (struct device_code){0};
}

/* --- variables --- */

static int copy(struct symbol_buffers buffers, CUdeviceptr to, CUdeviceptr from, uint64_t bytes,
                struct error *error)
{
    struct device_context *device = buffers.device;
    return bytes == 0 ? 0 : CUDA(device, cuMemcpyDtoDAsync, to, from, bytes, device->stream);
}

/* Finds the variable of buffer `index` and copies the buffer's contents to it. */
static int find_symbol(struct symbol_buffers buffers, CUmodule handle, size_t index,
                       CUdeviceptr *address, struct error *error)
{
    const struct module module = {buffers.device, handle, NULL};
    const struct device_buffer *own = &buffers.buffers[index];
    int status =
        module_symbol(&module, &buffers.template->buffers[index], own->bytes, address, error);
    return status != 0 ? status : copy(buffers, *address, own->data, own->bytes, error);
}

int device_code_copy_symbols(const struct device_code *code, struct symbol_buffers buffers,
                             enum symbol_copies which, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < buffers.template->buffer_count && status == 0; i++) {
        bool read = buffers.template->buffers[i].access == ACCESS_READ;
        const struct device_buffer *own = &buffers.buffers[i];
        if (code->symbols[i] == 0)
            continue;
        if (which == SYMBOLS_PULL)
            status = copy(buffers, own->data, code->symbols[i], own->bytes, error);
        else if ((which == SYMBOLS_RENEW) == read)
            status = copy(buffers, code->symbols[i], own->data, own->bytes, error);
    }
    return status;
}

int device_code_set_constants(const struct argument_buffers *buffers, CUmodule handle,
                              const struct step *constants, bool lenient, struct error *error)
{
    struct device_context *device = buffers->device;
    const struct module module = {device, handle, NULL};
    /* uploads do not wait for a run that may still use the variables */
    int status = constants->argument_count > 0 ? device_synchronise(device, error) : 0;
    for (size_t i = 0; i < constants->argument_count && status == 0; i++) {
        const struct step_argument *argument = &constants->arguments[i];
        const struct buffer variable = {.symbol = constants->launch->arguments[i].symbol};
        CUdeviceptr address = 0;
        struct error inner;
        status = module_symbol(&module, &variable, argument->size, &address, &inner);
        if (status == ERROR_CONFIG && lenient && device->last == CUDA_ERROR_NOT_FOUND) {
            status = 0;
            continue;
        }
        if (status != 0)
            return error_set_at(error, status == ERROR_CONFIG ? ERROR_CONFIG : ERROR_DEVICE,
                                buffers->template->path, constants->launch->line,
                                "constant '%s': %.1000s", variable.symbol, inner.message);
        if (device_arguments_point(buffers, constants, error) != 0)
            return error_set_at(
                error, ERROR_CONFIG, buffers->template->path, constants->launch->line,
                "constant '%s': a reference, which has it too, has no scratch buffers "
                "of the variants'",
                variable.symbol);
        status = device_upload(device, address, argument->bytes, argument->size, error);
    }
    return status;
}

int device_code_resolve(struct device_code *code, struct symbol_buffers buffers,
                        const struct compilation *compilation,
                        const struct launch_plan *launch_plan, struct error *error)
{
    const struct template *template = buffers.template;
    struct device_context *device = buffers.device;
    const struct module module = {device, code->module, compilation};
    int status = 0;
    code->functions = alloc_zeroed(launch_plan->step_count, sizeof *code->functions);
    code->symbols = alloc_zeroed(template->buffer_count, sizeof *code->symbols);
    for (size_t i = 0; i < launch_plan->step_count && status == 0; i++) {
        const struct step *step = &launch_plan->steps[i];
        status = module_function(&module, step->entry, &code->functions[i], error);
        if (status == 0)
            status = module_prepare(device, code->functions[i], step, error);
        if (status == 0) /* now, so that no timed or captured launch has to */
            status = device_load_function(device, code->functions[i], error);
    }
    for (size_t i = 0; i < template->buffer_count && status == 0; i++)
        if (template->buffers[i].symbol != NULL)
            status = template_in_buffer(
                template, i, find_symbol(buffers, code->module, i, &code->symbols[i], error),
                error);
    return status;
}

/* --- helpers --- */

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

/* The helpers' module may lack variables, and was compiled with the parameters' defaults, on which a length
 * may depend. Buffers that it lacks are left out. */
static int fill_variables(const struct helper_code *code, const struct helper_run *run,
                          const struct step *constants, struct error *error)
{
    const struct template *template = code->template;
    const struct symbol_buffers buffers = {code->device, template, run->buffers.problem};
    for (size_t i = 0; i < template->buffer_count; i++) {
        CUdeviceptr address;
        if (template->buffers[i].symbol == NULL || run->buffers.problem[i].base == 0)
            continue;
        int status = find_symbol(buffers, code->module, i, &address, error);
        bool missing = code->device->last == CUDA_ERROR_NOT_FOUND;
        if (status == ERROR_CONFIG && (missing || template->buffers[i].depends != 0))
            status = 0;
        if (status != 0)
            return template_in_buffer(template, i, status, error);
    }
    return device_code_set_constants(&run->buffers, code->module, constants, true, error);
}

/* An error gets the template's line: a helper that fails is the template's fault, not a variant's. */
static int launch_step(const struct helper_code *code, const struct helper_run *run,
                       struct step *step, struct error *error)
{
    struct device_context *device = code->device;
    void **arguments = NULL;
    CUfunction function;
    int status = device_arguments_make(&run->buffers, step, &arguments, error);
    if (status == 0)
        status = CUDA(device, cuModuleGetFunction, &function, code->module,
                      compilation_symbol(&code->compilation, step->entry));
    if (status == 0)
        status = module_allow_shared(device, function, step->dynamic_shared_bytes, error);
    if (status == 0)
        status = module_queue(device, step, function, arguments, error);
    if (status == 0)
        status = device_synchronise(device, error);
    free(arguments);
    if (status == 0 && run->after != NULL)
        return run->after(run->user, step->launch, error);
    if (status != ERROR_DEVICE)
        return status;
    struct error inner = *error;
    return error_set_at(error, ERROR_DEVICE, code->template->path, step->launch->line,
                        "%s '%s': %.1400s", run->what, step->entry, inner.message);
}

int helper_code_run(const struct helper_code *code, struct helper_run *run,
                    const struct scope *scope, struct error *error)
{
    const struct launch *launch = run->helper.launches;
    struct launch_plan launch_plan = {0};
    run->buffers.device = code->device;
    run->buffers.template = code->template;
    if (code->module == NULL)
        return error_set(error, ERROR_WORKER, "'open' needs a 'reference' for '%s'", launch->entry);
    int status = launch_plan_helper(&launch_plan, code->template, run->helper, scope, error);
    if (status != 0)
        return status;
    status = launch_arguments_check(&launch_plan, code->template, &code->compilation, error);
    if (status == 0 && launch_plan.step_count > 0)
        status = fill_variables(code, run, &launch_plan.constants, error);
    else if (status == 0 && run->elements > 0)
        status = error_set_at(error, ERROR_CONFIG, code->template->path, launch->line,
                              "%s '%s' has no blocks or no threads, but its buffer has elements",
                              run->what, launch->entry);
    for (size_t i = 0; i < launch_plan.step_count && status == 0; i++)
        status = launch_step(code, run, &launch_plan.steps[i], error);
    device_arguments_free(code->device, &launch_plan);
    launch_plan_release(&launch_plan);
    return status;
}
