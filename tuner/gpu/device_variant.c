#include "gpu/device_variant.h"

#include "base/alloc.h"
#include "compile/launch_check.h"
#include "gpu/device_arguments.h"
#include "gpu/device_code.h"
#include "gpu/module.h"
#include "template/dependencies.h"
#include "template/fill.h"

#include <stdlib.h>
#include <string.h>

/* The symbol_buffers of a variant. */
static struct symbol_buffers symbols_of(const struct device_variant *variant,
                                        const struct device_problem *problem)
{
    return (struct symbol_buffers){problem->device, &problem->template, variant->data.buffers};
}

static struct argument_buffers argument_buffers_of(const struct device_variant *variant,
                                                   const struct device_problem *problem)
{
    return (struct argument_buffers){.device = problem->device,
                                     .template = &problem->template,
                                     .problem = variant->data.buffers,
                                     .scratch = variant->scratch};
}

/* In the current copy of its code. */
static int set_constants(const struct device_variant *variant, struct device_problem *problem,
                         struct error *error)
{
    const struct argument_buffers buffers = argument_buffers_of(variant, problem);
    return device_code_set_constants(&buffers, variant->copies[variant->copy].module,
                                     &variant->launch_plan.constants, false, error);
}

int device_variant_pull(const struct device_variant *variant, struct device_problem *problem,
                        struct error *error)
{
    return device_code_copy_symbols(&variant->copies[variant->copy], symbols_of(variant, problem),
                                    SYMBOLS_PULL, error);
}

unsigned char device_variant_poison(const struct device_variant *variant, size_t index,
                                    enum element_type type)
{
    const struct template *template = variant->data.template;
    for (size_t i = 0; i < template->expectation_count; i++)
        if (template->expectations[i].buffer == index &&
            template->expectations[i].compare == COMPARE_UNORDERED)
            return element_poison(
                type); /* the sums of what was not written are those of the reference */
    /* the poison of bytes does not take turns, since nothing else would tell those that were not written;
     * in work space, which nobody compares, it does */
    bool work = template->buffers[index].access == ACCESS_SCRATCH && element_bytes(type) == 1;
    return element_poison_of(work ? ELEMENT_INT32 : type, variant->poison);
}

static int poison(const struct device_variant *variant, struct device_problem *problem,
                  size_t index, struct error *error)
{
    bool output = problem->template.buffers[index].access == ACCESS_WRITE;
    const struct device_buffer *buffer =
        output ? &variant->data.buffers[index] : &variant->scratch[index];
    return buffer->base == 0
               ? 0
               : device_buffer_poison(problem->device, buffer,
                                      device_variant_poison(variant, index, buffer->type), error);
}

int device_variant_reset(struct device_variant *variant, struct device_problem *problem,
                         struct error *error)
{
    static const enum poison turns[] = {POISON_USUAL, POISON_LARGE, POISON_USUAL, POISON_SMALL};
    return device_variant_reset_to(variant, problem, turns[variant->resets++ % 4], error);
}

int device_variant_reset_to(struct device_variant *variant, struct device_problem *problem,
                            enum poison poison_kind, struct error *error)
{
    int status = device_data_restore(&variant->data, problem->device, error);
    data_store_note_run(&problem->store);
    variant->poison = poison_kind;
    for (size_t i = 0; i < problem->template.buffer_count && status == 0; i++)
        if (problem->template.buffers[i].access == ACCESS_WRITE ||
            buffer_is_work(&problem->template.buffers[i]))
            status = poison(variant, problem, i, error);
    if (status == 0)
        status = device_code_copy_symbols(&variant->copies[variant->copy],
                                          symbols_of(variant, problem), SYMBOLS_PUSH, error);
    return status != 0 ? status : set_constants(variant, problem, error);
}

size_t device_variant_reset_calls(const struct device_problem *problem)
{
    size_t calls = problem->template.constants.argument_count;
    for (size_t i = 0; i < problem->template.buffer_count; i++) {
        const struct buffer *buffer = &problem->template.buffers[i];
        calls += buffer->access != ACCESS_READ;
        calls += buffer->symbol != NULL;
    }
    return calls;
}

/* --- loading a variant --- */

static int make_buffer(struct device_variant *variant, struct device_problem *problem, size_t index,
                       const struct scope *scope, struct error *error)
{
    const struct buffer *buffer = &problem->template.buffers[index];
    struct device_buffer *scratch = &variant->scratch[index];
    struct device_context *device = problem->device;
    enum element_type type;
    uint64_t length;
    int status = buffer_describe(buffer, scope, &type, &length, error);
    if (status != 0)
        return status;
    do
        status = device_buffer_new(device, scratch, &problem->arena, type, length, error);
    while (status == ERROR_DEVICE && device->last == CUDA_ERROR_OUT_OF_MEMORY &&
           data_store_shrink(&problem->store));
    if (status == 0 && !buffer_is_work(buffer)) /* work space is poisoned before each run */
        status = device_buffer_fill(device, scratch, &buffer->fill, FILL_USUAL_DATA, scope, error);
    if (status == 0)
        status = device_buffer_clear_border(device, scratch, &buffer->fill, scope, error);
    return status;
}

static int make_scratch(struct device_variant *variant, struct device_problem *problem,
                        const struct scope *scope, struct error *error)
{
    const struct template *template = &problem->template;
    int status = 0;
    variant->scratch = alloc_zeroed(template->buffer_count, sizeof *variant->scratch);
    variant->places = alloc_zeroed(template->buffer_count, sizeof *variant->places);
    variant->fingerprints = alloc_zeroed(2 * template->buffer_count, sizeof *variant->fingerprints);
    for (size_t i = 0; i < template->buffer_count && status == 0; i++)
        if (template->buffers[i].access == ACCESS_SCRATCH &&
            !buffer_is_for_references(template, &template->buffers[i]))
            status = template_in_buffer(template, i, make_buffer(variant, problem, i, scope, error),
                                        error);
    return status;
}

/* --- its data --- */

/* Makes the arguments of all launches, for the first time or because buffers have moved: textures,
 * tensor maps and arrays of pointers are of an address. */
static int make_arguments(struct device_variant *variant, struct device_problem *problem,
                          struct error *error)
{
    struct launch_plan *launch_plan = &variant->launch_plan;
    const struct argument_buffers buffers = argument_buffers_of(variant, problem);
    int status = 0;
    device_arguments_free(problem->device, launch_plan);
    for (size_t i = 0; i < launch_plan->step_count && status == 0; i++) {
        free(variant->arguments[i]);
        variant->arguments[i] = NULL;
        status =
            device_arguments_make(&buffers, &launch_plan->steps[i], &variant->arguments[i], error);
    }
    return status;
}

/* Notes what it needs in all, beyond what all variants do. */
static int out_of_memory(const struct device_variant *variant, const struct device_problem *problem,
                         struct error *error)
{
    problem->device->wanted_bytes =
        footprint_of(&problem->template, &problem->fixed, &variant->parameters, problem->cold)
            .bytes -
        problem->footprint.bytes;
    struct error inner = *error;
    struct bindings dependent = {0};
    for (size_t i = 0; i < problem->template.parameter_count; i++) {
        const char *name = problem->template.parameters[i].name;
        const struct value *value = bindings_find(&variant->parameters, name);
        if (value != NULL && (contents_depend_on(&problem->template) >> i & 1) != 0)
            bindings_set(&dependent, name, *value);
    }
    char *text = bindings_text(&dependent);
    int status = error_set(error, ERROR_DEVICE,
                           "no memory for the buffers and expected results of %s: %.1400s", text,
                           inner.message);
    free(text);
    bindings_release(&dependent);
    return status;
}

static int move_scratch(struct device_variant *variant, struct device_problem *problem,
                        size_t place, bool *moved, struct error *error)
{
    int status = 0;
    for (size_t i = 0; variant->scratch != NULL && i < problem->template.buffer_count; i++) {
        CUdeviceptr before = variant->scratch[i].data;
        if (status == 0)
            status = device_buffer_place(&variant->places[i], problem->device, &variant->scratch[i],
                                         place, &problem->store.place_bytes, error);
        *moved = *moved || before != variant->scratch[i].data;
    }
    return status;
}

int device_variant_prepare(struct device_variant *variant, struct device_problem *problem,
                           size_t place, bool *moved, struct error *error)
{
    size_t count = problem->template.buffer_count;
    CUdeviceptr *before = alloc_zeroed(count, sizeof *before);
    *moved = false;
    if (variant->data.template == NULL)
        device_data_init(&variant->data, &problem->template);
    for (size_t i = 0; i < count; i++)
        before[i] = variant->data.buffers[i].data;
    problem->device->last = CUDA_SUCCESS;
    int status =
        data_store_take(&problem->store, &variant->parameters, place, &variant->data, error);
    for (size_t i = 0; i < count && status == 0; i++)
        *moved = *moved || before[i] != variant->data.buffers[i].data;
    free(before);
    if (status == ERROR_DEVICE && problem->device->last == CUDA_ERROR_OUT_OF_MEMORY)
        return out_of_memory(variant, problem, error);
    if (status == 0)
        status = move_scratch(variant, problem, place, moved, error);
    bool refilled = variant->refills != problem->store.refills; /* perhaps for another variant */
    variant->refills = problem->store.refills;
    for (size_t i = 0; i < variant->copy_count && status == 0 && refilled; i++)
        if (variant->copies[i].symbols != NULL)
            status = device_code_copy_symbols(&variant->copies[i], symbols_of(variant, problem),
                                              SYMBOLS_RENEW, error);
    return status == 0 && *moved ? make_arguments(variant, problem, error) : status;
}

/* --- its launches --- */

int device_variant_load(struct device_variant *variant, struct device_problem *problem,
                        struct compilation *compilation, enum outcome *outcome, struct error *error)
{
    struct device_context *device = problem->device;
    variant->compilation = *compilation;
    *compilation = (struct compilation){0};
    problem->loaded++;
    variant->counted = true;
    *outcome = OUTCOME_LOAD_ERROR;
    variant->copy_count = 1;
    int status = device_code_load(&variant->copies[0], device, variant->compilation.cubin, error);
    if (status != 0)
        return device_is_lost(device->last) ? status : 0;
    struct module loaded = {device, variant->copies[0].module, &variant->compilation};
    const struct kernel_lookup functions = module_lookup(&loaded);
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
    if (status != 0)
        return status;
    variant->arguments = alloc_zeroed(variant->launch_plan.step_count, sizeof *variant->arguments);
    status = make_arguments(variant, problem, error);
    if (status == 0)
        status = device_code_resolve(&variant->copies[0], symbols_of(variant, problem),
                                     &variant->compilation, &variant->launch_plan, error);
    return status != 0 ? status : set_constants(variant, problem, error);
}

void device_variant_unload(struct device_variant *variant, struct device_problem *problem)
{
    for (size_t i = 0; variant->scratch != NULL && i < problem->template.buffer_count; i++) {
        device_buffer_release_places(&variant->places[i], problem->device, &variant->scratch[i],
                                     &problem->store.place_bytes);
        device_buffer_free(problem->device, &variant->scratch[i]);
    }
    free(variant->scratch);
    free(variant->places);
    free(variant->fingerprints);
    problem->loaded -= variant->counted;
    if (problem->loaded == 0)
        (void)device_arena_clear(problem->device, &problem->arena, NULL);
    for (size_t i = 0; variant->arguments != NULL && i < variant->launch_plan.step_count; i++)
        free(variant->arguments[i]);
    free(variant->arguments);
    device_arguments_free(problem->device, &variant->launch_plan);
    launch_plan_release(&variant->launch_plan);
    for (size_t i = 0; i < variant->copy_count; i++)
        device_code_unload(&variant->copies[i], problem->device);
    bindings_release(&variant->parameters);
    device_data_release(&variant->data);
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
            status = device_code_resolve(code, symbols_of(variant, problem), &variant->compilation,
                                         &variant->launch_plan, error);
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
    const struct argument_buffers buffers = argument_buffers_of(variant, problem);
    int status = 0;
    for (size_t i = 0; i < variant->launch_plan.step_count && status == 0; i++) {
        const struct step *step = &variant->launch_plan.steps[i];
        status = device_arguments_point(&buffers, step, error);
        if (status == 0)
            status = module_queue(problem->device, step, code->functions[i], variant->arguments[i],
                                  error);
    }
    return status;
}
