#include "gpu/device_problem.h"

#include "base/alloc.h"
#include "compile/launch_arguments.h"
#include "gpu/device_arguments.h"
#include "gpu/device_symbols.h"
#include "gpu/module.h"
#include "record/gpu.h"
#include "template/template_load.h"

#include <stdlib.h>
#include <string.h>

/* --- steps --- */

static int launch_step(struct device_problem *problem, const struct step *step, CUfunction function,
                       void **arguments, struct error *error)
{
    struct device_context *device = problem->device;
    CUresult result = module_launch(&device->driver, step, function, device->stream, arguments);
    return device_check(device, result, module_launch_call(step), error);
}

/* The symbol_buffers of a problem. */
static struct symbol_buffers symbols_of(const struct device_problem *problem)
{
    return (struct symbol_buffers){problem->device, &problem->template, problem->buffers};
}

/* --- opening a problem --- */

static int make_buffer(struct device_problem *problem, const char *type,
                       const struct expression *length, const struct scope *scope,
                       struct device_arena *arena, struct device_buffer *buffer,
                       struct error *error)
{
    enum element_type element;
    int64_t elements;
    int status = template_element_type(type, scope, &element, error);
    if (status == 0)
        status = expression_integer(length, scope, &elements, error);
    if (status == 0 && elements < 0)
        status = expression_refuse(length, scope, "the length is negative", error);
    if (status == 0)
        status =
            device_buffer_new(problem->device, buffer, arena, element, (uint64_t)elements, error);
    return status;
}

static int make_pristine(struct device_problem *problem, size_t index, struct error *error)
{
    struct device_buffer *buffer = &problem->buffers[index];
    struct device_buffer *pristine = &problem->pristine[index];
    int status =
        device_buffer_new(problem->device, pristine, NULL, buffer->type, buffer->length, error);
    return status != 0 ? status : device_buffer_copy(problem->device, pristine, buffer, error);
}

static int make_buffers(struct device_problem *problem, const struct scope *scope,
                        struct error *error)
{
    const struct template *template = &problem->template;
    problem->buffers = alloc_zeroed(template->buffer_count, sizeof *problem->buffers);
    problem->pristine = alloc_zeroed(template->buffer_count, sizeof *problem->pristine);
    problem->checksums = alloc_zeroed(template->buffer_count, sizeof *problem->checksums);
    for (size_t i = 0; i < template->buffer_count; i++) {
        const struct buffer *buffer = &template->buffers[i];
        if (buffer->access == ACCESS_SCRATCH)
            continue;
        int status = make_buffer(problem, buffer->type, buffer->length, scope, NULL,
                                 &problem->buffers[i], error);
        if (status == 0)
            status = device_buffer_fill(problem->device, &problem->buffers[i], &buffer->fill, scope,
                                        error);
        if (status == 0 && buffer->access == ACCESS_READ_WRITE)
            status = make_pristine(problem, i, error);
        if (status != 0)
            return template_in_buffer(template, i, status, error);
    }
    return 0;
}

/* Adds the template's line to the error: a failed reference is the template's fault, not a
 * variant's. */
static int reference_failed(const struct device_problem *problem,
                            const struct expectation *expectation, struct error *error)
{
    struct error inner = *error;
    return error_set_at(error, ERROR_DEVICE, problem->template.path, expectation->line,
                        "reference '%s': %.1400s", expectation->reference.entry, inner.message);
}

/* The reference's arguments are checked before the first launch, as a variant's are. */
static int plan_reference(struct launch_plan *launch_plan, const struct device_problem *problem,
                          const struct expectation *expectation,
                          const struct compilation *compilation, const struct scope *scope,
                          struct error *error)
{
    if (compilation == NULL)
        return error_set(error, ERROR_WORKER, "'open' needs a 'reference' for '%s'",
                         expectation->reference.entry);
    int status = launch_plan_reference(launch_plan, &problem->template, expectation, scope, error);
    if (status != 0)
        return status;
    status = launch_arguments_check(launch_plan, &problem->template, compilation, error);
    if (status != 0)
        launch_plan_release(launch_plan);
    return status;
}

static int run_reference(struct device_problem *problem, const struct expectation *expectation,
                         const struct compilation *compilation, CUmodule module,
                         const struct scope *scope, struct device_buffer *expected,
                         struct error *error)
{
    struct device_context *device = problem->device;
    struct launch_plan launch_plan = {0};
    CUfunction function;
    void **arguments = NULL;
    int status = plan_reference(&launch_plan, problem, expectation, compilation, scope, error);
    if (status != 0)
        return status;
    if (launch_plan.step_count == 0)
        goto done;
    struct step *step = &launch_plan.steps[0];
    const struct argument_buffers buffers = {device, &problem->template, problem->buffers, NULL,
                                             expected};
    status = device_arguments_make(&buffers, step, &arguments, error);
    if (status == 0)
        status = CUDA(device, cuModuleGetFunction, &function, module,
                      compilation_symbol(compilation, step->entry));
    if (status == 0)
        status = module_allow_shared(device, function, step->dynamic_shared_bytes, error);
    if (status == 0)
        status = launch_step(problem, step, function, arguments, error);
    if (status == 0)
        status = device_synchronise(device, error);
    if (status != 0)
        status = reference_failed(problem, expectation, error);
done:
    free(arguments);
    device_arguments_free(device, &launch_plan);
    launch_plan_release(&launch_plan);
    return status;
}

static int make_expectation(struct device_problem *problem, size_t index,
                            const struct compilation *compilation, CUmodule module,
                            const struct scope *scope, struct error *error)
{
    const struct expectation *expectation = &problem->template.expectations[index];
    const struct device_buffer *buffer = &problem->buffers[expectation->buffer];
    struct device_buffer *expected = &problem->expected[index];
    enum element_type type = buffer->type;
    if (problem->template.buffers[expectation->buffer].access == ACCESS_SCRATCH)
        return error_set_at(error, ERROR_CONFIG, problem->template.path, expectation->line,
                            "a scratch buffer has no expected result; make it write or read_write");
    int status = template_expected_type(&problem->template, expectation, scope, &type, error);
    if (status == 0 && expectation->compare == COMPARE_UNORDERED && type != buffer->type)
        status = error_set_at(error, ERROR_CONFIG, problem->template.path, expectation->line,
                              "an unordered comparison needs a reference of the buffer's own type");
    if (status == 0)
        status = device_buffer_new(problem->device, expected, NULL, type, buffer->length, error);
    if (status == 0 && expectation->kind == EXPECT_REFERENCE)
        status = device_buffer_poison(problem->device, expected, error);
    if (status == 0)
        status =
            expectation->kind == EXPECT_REFERENCE
                ? run_reference(problem, expectation, compilation, module, scope, expected, error)
                : device_buffer_fill(problem->device, expected, &expectation->fill, scope, error);
    return status;
}

static int make_expectations(struct device_problem *problem, const struct compilation *compilation,
                             const struct scope *scope, struct error *error)
{
    struct device_context *device = problem->device;
    CUmodule module = NULL;
    int status = 0;
    problem->expected =
        alloc_zeroed(problem->template.expectation_count, sizeof *problem->expected);
    if (compilation != NULL)
        status = CUDA(device, cuModuleLoadData, &module, compilation->cubin);
    if (status == 0 && module != NULL)
        status = device_symbols_fill(symbols_of(problem), module, error);
    for (size_t i = 0; i < problem->template.expectation_count && status == 0; i++)
        status = make_expectation(problem, i, compilation, module, scope, error);
    if (module != NULL)
        (void)device->driver.cuModuleUnload(module);
    /* undo what the references may have written to their inputs */
    return status != 0 ? status : device_problem_restore(problem, error);
}

static int make_flush(struct device_problem *problem, struct error *error)
{
    struct device_context *device = problem->device;
    if (!problem->cold)
        return 0;
    problem->flush_bytes = FLUSH_L2_TIMES * (uint64_t)device->gpu.attributes[GPU_l2_bytes];
    int status = CUDA(device, cuMemAlloc, &problem->flush, problem->flush_bytes + 16);
    if (status == 0)
        status = CUDA(device, cuMemsetD8Async, problem->flush, 1, problem->flush_bytes + 16,
                      device->stream);
    return status;
}

static int load_template(struct device_problem *problem, const struct problem_request *request,
                         struct error *error)
{
    int status = template_load(&problem->template, request->template_path, error);
    if (status == 0 && request->template_hash != NULL &&
        strcmp(problem->template.hash, request->template_hash) != 0)
        status = error_set_at(error, ERROR_CONFIG, request->template_path, 0,
                              "the template has changed since the run started; run again");
    return status;
}

/* Fails before anything is allocated if the problem does not fit. Sets `*free_bytes` to the free
 * GPU memory. */
static int check_memory(struct device_problem *problem, const struct problem_request *request,
                        size_t *free_bytes, struct error *error)
{
    struct device_context *device = problem->device;
    size_t all_bytes = 0;
    problem->footprint = footprint_of(&problem->template, &problem->fixed, problem->cold);
    int status = CUDA(device, cuMemGetInfo, free_bytes, &all_bytes);
    if (status != 0 || problem->footprint.bytes <= *free_bytes)
        return status;
    return footprint_refuse(&problem->footprint, &problem->template, request->problem, *free_bytes,
                            "are free", error);
}

int device_problem_open(struct device_problem *problem, struct device_context *device,
                        const struct problem_request *request, struct error *error)
{
    *problem = (struct device_problem){.device = device, .cold = request->cold};
    size_t free_bytes = 0;
    int status = load_template(problem, request, error);
    device->last = CUDA_SUCCESS;
    if (status == 0) {
        bindings_append(&problem->fixed, request->problem);
        gpu_bindings(&device->gpu, &problem->fixed);
        struct scope scope = {&problem->fixed, NULL};
        status = check_memory(problem, request, &free_bytes, error);
        if (status == 0)
            status = make_buffers(problem, &scope, error);
        if (status == 0)
            status = make_expectations(problem, request->reference, &scope, error);
    }
    if (status == 0)
        status = make_flush(problem, error);
    if (status == 0)
        status = device_arena_new(device, &problem->arena, ARENA_BYTES, error);
    /* out of memory after all: the driver rounds up, or another process took the memory */
    if (status == ERROR_DEVICE && device->last == CUDA_ERROR_OUT_OF_MEMORY)
        status = footprint_refuse(&problem->footprint, &problem->template, request->problem,
                                  free_bytes, "are free", error);
    if (status != 0)
        device_problem_close(problem);
    return status;
}

static void free_buffers(struct device_context *device, struct device_buffer *buffers, size_t count)
{
    for (size_t i = 0; buffers != NULL && i < count; i++)
        device_buffer_free(device, &buffers[i]);
    free(buffers);
}

void device_problem_close(struct device_problem *problem)
{
    struct device_context *device = problem->device;
    free_buffers(device, problem->buffers, problem->template.buffer_count);
    free_buffers(device, problem->pristine, problem->template.buffer_count);
    free_buffers(device, problem->expected, problem->template.expectation_count);
    if (problem->slots != 0)
        (void)device->driver.cuMemFree(problem->slots);
    if (problem->flush != 0)
        (void)device->driver.cuMemFree(problem->flush);
    device_arena_free(device, &problem->arena);
    free(problem->slot_values);
    free(problem->checksums);
    free(problem->expected_sums);
    bindings_release(&problem->fixed);
    template_release(&problem->template);
    *problem = (struct device_problem){0};
}

int device_problem_restore(struct device_problem *problem, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++)
        if (problem->pristine[i].base != 0)
            status = device_buffer_copy(problem->device, &problem->buffers[i],
                                        &problem->pristine[i], error);
    return status;
}

int device_variant_push(const struct device_variant *variant, struct device_problem *problem,
                        bool outputs, struct error *error)
{
    return device_symbols_push(&variant->copies[variant->copy], symbols_of(problem), outputs,
                               error);
}

int device_variant_pull(const struct device_variant *variant, struct device_problem *problem,
                        struct error *error)
{
    return device_symbols_pull(&variant->copies[variant->copy], symbols_of(problem), error);
}

int device_variant_restore(const struct device_variant *variant, struct device_problem *problem,
                           struct error *error)
{
    int status = device_problem_restore(problem, error);
    return status != 0 ? status : device_variant_push(variant, problem, false, error);
}

/* --- loading a variant --- */

static int make_scratch(struct device_variant *variant, struct device_problem *problem,
                        const struct scope *scope, struct error *error)
{
    const struct template *template = &problem->template;
    variant->scratch = alloc_zeroed(template->buffer_count, sizeof *variant->scratch);
    for (size_t i = 0; i < template->buffer_count; i++) {
        const struct buffer *buffer = &template->buffers[i];
        if (buffer->access != ACCESS_SCRATCH)
            continue;
        int status = make_buffer(problem, buffer->type, buffer->length, scope, &problem->arena,
                                 &variant->scratch[i], error);
        if (status == 0)
            status = device_buffer_fill(problem->device, &variant->scratch[i], &buffer->fill, scope,
                                        error);
        if (status != 0)
            return template_in_buffer(template, i, status, error);
    }
    return 0;
}

static int make_steps(struct device_variant *variant, struct device_problem *problem,
                      struct error *error)
{
    struct launch_plan *launch_plan = &variant->launch_plan;
    const struct argument_buffers buffers = {problem->device, &problem->template, problem->buffers,
                                             variant->scratch, NULL};
    int status = 0;
    variant->arguments = alloc_zeroed(launch_plan->step_count, sizeof *variant->arguments);
    for (size_t i = 0; i < launch_plan->step_count && status == 0; i++)
        status =
            device_arguments_make(&buffers, &launch_plan->steps[i], &variant->arguments[i], error);
    if (status == 0)
        status = device_code_resolve(&variant->copies[0], problem->device, &variant->compilation,
                                     launch_plan, error);
    if (status == 0)
        status = device_symbols_resolve(&variant->copies[0], symbols_of(problem), error);
    return status;
}

int device_variant_load(struct device_variant *variant, struct device_problem *problem,
                        struct compilation *compilation, const struct bindings *parameters,
                        enum outcome *outcome, struct error *error)
{
    struct device_context *device = problem->device;
    bindings_copy(&variant->parameters, parameters);
    variant->compilation = *compilation;
    *compilation = (struct compilation){0};
    problem->loaded++;
    variant->counted = true;
    *outcome = OUTCOME_LOAD_ERROR;
    variant->copy_count = 1;
    int status = device_code_load(&variant->copies[0], device, variant->compilation.cubin, error);
    if (status != 0)
        return device_is_lost(device->last) ? status : 0;
    struct module module = {device, variant->copies[0].module, &variant->compilation};
    const struct kernel_lookup functions = module_lookup(&module);
    struct scope fixed = {&problem->fixed, NULL};
    struct scope scope = {&variant->parameters, &fixed};
    device->last = CUDA_SUCCESS;
    status = launch_plan_make(&variant->launch_plan, &problem->template, &scope, &functions, error);
    if (status == ERROR_DEVICE && device->last == CUDA_ERROR_NOT_FOUND)
        return 0;
    if (status == 0)
        status = launch_arguments_check(&variant->launch_plan, &problem->template,
                                        &variant->compilation, error);
    if (status != 0)
        return status;
    if (variant->launch_plan.not_resident) {
        *outcome = OUTCOME_NOT_RESIDENT;
        (void)error_set(error, ERROR_DEVICE, "%s", variant->launch_plan.residency);
        return 0;
    }
    struct scope names = {&variant->launch_plan.names, &scope};
    *outcome = OUTCOME_MEASURED;
    status = make_scratch(variant, problem, &names, error);
    if (status == ERROR_DEVICE && device->last == CUDA_ERROR_OUT_OF_MEMORY) {
        *outcome = OUTCOME_LAUNCH_ERROR;
        return 0;
    }
    return status != 0 ? status : make_steps(variant, problem, error);
}

void device_variant_unload(struct device_variant *variant, struct device_problem *problem)
{
    free_buffers(problem->device, variant->scratch, problem->template.buffer_count);
    problem->loaded -= variant->counted;
    if (problem->loaded == 0)
        problem->arena.used = 0;
    for (size_t i = 0; variant->arguments != NULL && i < variant->launch_plan.step_count; i++)
        free(variant->arguments[i]);
    free(variant->arguments);
    device_arguments_free(problem->device, &variant->launch_plan);
    launch_plan_release(&variant->launch_plan);
    for (size_t i = 0; i < variant->copy_count; i++)
        device_code_unload(&variant->copies[i], problem->device);
    bindings_release(&variant->parameters);
    compilation_release(&variant->compilation);
    *variant = (struct device_variant){0};
}

int device_variant_choose_copy(struct device_variant *variant, struct device_problem *problem,
                               size_t number, struct error *error)
{
    struct device_context *device = problem->device;
    int status = 0;
    if (number % CODE_COPIES >= variant->copy_count) {
        struct device_code *code = &variant->copies[variant->copy_count];
        status = device_code_load(code, device, variant->compilation.cubin, error);
        if (status == 0)
            status = device_code_resolve(code, device, &variant->compilation, &variant->launch_plan,
                                         error);
        if (status == 0)
            status = device_symbols_resolve(code, symbols_of(problem), error);
        if (status == 0)
            variant->copy_count++;
        else
            device_code_unload(code, device);
        if (status != 0 && device->last == CUDA_ERROR_OUT_OF_MEMORY)
            status = 0;
    }
    variant->copy = number % CODE_COPIES % variant->copy_count;
    return status;
}

int device_variant_run(const struct device_variant *variant, struct device_problem *problem,
                       struct error *error)
{
    const struct device_code *code = &variant->copies[variant->copy];
    int status = 0;
    for (size_t i = 0; i < variant->launch_plan.step_count && status == 0; i++)
        status = launch_step(problem, &variant->launch_plan.steps[i], code->functions[i],
                             variant->arguments[i], error);
    return status;
}
