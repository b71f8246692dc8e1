#include "loaded.h"

#include "base/alloc.h"
#include "base/cover.h"
#include "compile/launch_check.h"
#include "gpu/module.h"
#include "record/gpu.h"
#include "template/element.h"
#include "template/fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- values --- */

static void bind_values(const struct tuned_value *values, size_t count, struct bindings *bindings)
{
    for (size_t i = 0; i < count; i++)
        bindings_set(bindings, values[i].name, cover_value(&values[i]));
}

/* Binds the tuned parameters, the query's problem, and the template's defaults for the rest. */
static int bind_all(struct loaded_kernel *kernel, const struct tuned_query *query,
                    struct bindings *problem, struct error *error)
{
    struct bindings values = {0};
    bindings_release(problem);
    bind_values(query->problem, query->problem_count, &values);
    bind_values(kernel->public.match.parameters, kernel->public.match.parameter_count, &values);
    int status = build_bind(kernel->template, &values, kernel->public.match.other_version != 0,
                            &kernel->parameters, problem, error);
    bindings_release(&values);
    bindings_append(&kernel->fixed, problem);
    gpu_bindings(&kernel->kernels->device.gpu, &kernel->fixed);
    return status;
}

/* A configuration may come from another size or GPU, at which the template's author has ruled it
 * out: it might compute wrong results there. Kernel statistics are not checked. */
static int check_constraints(const struct loaded_kernel *kernel, const struct scope *scope,
                             int *code, struct error *error)
{
    const struct template *template = kernel->template;
    const char *violated;
    int status = template_violated_constraint(template, scope, &violated, error);
    if (status == 0 && violated != NULL)
        status = error_set(error, ERROR_CONFIG,
                           "the nearest configuration of '%s' cannot be used for this problem: "
                           "it violates the template's constraint '%s'; tune this problem",
                           template->name, violated);
    if (status != 0)
        *code = TUNED_INVALID;
    return status;
}

/* --- the binary --- */

static int load_binary(struct loaded_kernel *kernel, const struct tuned_query *query,
                       const struct bindings *problem, int *code, struct error *error)
{
    const struct template *template = kernel->template;
    struct tuned_kernel *public = &kernel->public;
    struct tuned_kernels *kernels = kernel->kernels;
    const struct tuned_configuration *from = public->match.from;
    char path[4096];
    struct options options;
    bool bundled = tuned_cubin_path(kernels->table, query, &public->match, path, sizeof path) == 0;
    int status = variant_options(template, &kernel->parameters, problem, &options, error);
    const struct cubin_origin binary = {&template->source, &options,
                                        from != NULL ? from->gpu->compute_capability : 0};
    *code = status != 0 ? TUNED_COMPILER : 0;
    if (status == 0)
        status = kernels_load(kernels, bundled ? path : NULL, &binary, &public->match,
                              &public->module, &kernel->compilation, &public->origin, code, error);
    if (status == ERROR_CONFIG)
        (void)launch_check_refusal(template, kernel->compilation.log, error);
    options_release(&options);
    return status;
}

/* --- the launches --- */

static bool has_buffer(enum argument_kind kind)
{
    return kind == ARGUMENT_BUFFER || kind == ARGUMENT_TENSOR_MAP;
}

/* Whether the caller or the kernel has the buffer. */
static bool is_given(const struct loaded_kernel *kernel, size_t buffer)
{
    return buffer == STEP_NULL || buffer < kernel->template->buffer_count;
}

static int check_step(const struct loaded_kernel *kernel, const struct step *step,
                      struct error *error)
{
    if (step->argument_count > ARGUMENTS)
        return error_set(error, ERROR_CONFIG, "launch of '%s' has more than %d arguments",
                         step->entry, ARGUMENTS);
    size_t bytes = 0;
    for (size_t i = 0; i < step->argument_count; i++) {
        const struct step_argument *argument = &step->arguments[i];
        enum argument_kind kind = argument->kind;
        bool own = has_buffer(kind) && !is_given(kernel, argument->buffer);
        for (size_t j = 0; j < argument->pointer_count; j++)
            own = own || !is_given(kernel, argument->pointers[j].buffer);
        bytes += argument_room(argument->size);
        if (kind == ARGUMENT_TEXTURE || kind == ARGUMENT_POINTERS)
            return error_set(
                error, ERROR_CONFIG,
                "launch of '%s' has %s, which libtuned_kernel does not make; load your "
                "source with tuned_module_get() and make %s there",
                step->entry, kind == ARGUMENT_TEXTURE ? "a texture" : "an array of pointers",
                kind == ARGUMENT_TEXTURE ? "the texture" : "the array");
        if (own)
            return error_set(error, ERROR_CONFIG,
                             "launch of '%s': only references have 'reference'", step->entry);
    }
    return bytes <= CHANGED_BYTES
               ? 0
               : error_set(error, ERROR_CONFIG, "launch of '%s' has arguments of %zu bytes",
                           step->entry, bytes);
}

static int make_launches(struct loaded_kernel *kernel, const struct scope *scope,
                         struct error *error)
{
    struct module module = {&kernel->kernels->device, kernel->public.module, &kernel->compilation};
    const struct kernel_lookup lookup = module_lookup(&module);
    if (kernel->template->constants.argument_count > 0)
        return error_set_at(error, ERROR_CONFIG, kernel->template->path,
                            kernel->template->constants.line,
                            "libtuned_kernel does not set [constants]; load your source with "
                            "tuned_module_get() and set the variables there");
    struct launch_plan *launch_plan = &kernel->launch_plan;
    int status = launch_plan_make(launch_plan, kernel->template, scope, &lookup, error);
    if (status == 0 && launch_plan->not_resident)
        status = error_set(error, ERROR_DEVICE, "%s", launch_plan->residency);
    if (status == 0)
        status = launch_arguments_check(launch_plan, kernel->template, &kernel->compilation, error);
    if (status != 0)
        return status;
    kernel->launches = alloc_zeroed(launch_plan->step_count, sizeof *kernel->launches);
    for (size_t i = 0; i < launch_plan->step_count && status == 0; i++) {
        const struct step *step = &launch_plan->steps[i];
        struct tuned_launch *launch = &kernel->launches[i];
        launch->entry = step->entry;
        memcpy(launch->grid, step->grid, sizeof launch->grid);
        memcpy(launch->block, step->block, sizeof launch->block);
        launch->shared_bytes = step->dynamic_shared_bytes;
        launch->cooperative = step->cooperative;
        memcpy(launch->cluster, step->attributes.cluster, sizeof launch->cluster);
        launch->programmatic = step->attributes.programmatic;
        launch->cluster_scheduling = (int)step->attributes.cluster_scheduling;
        launch->shared_carveout = step->attributes.shared_carveout;
        status = check_step(kernel, step, error);
        if (status == 0)
            status = module_function(&module, step->entry, &launch->function, error);
        if (status == 0)
            status = module_prepare(module.device, launch->function, step, error);
    }
    kernel->public.launches = kernel->launches;
    kernel->public.launch_count = launch_plan->step_count;
    return status;
}

/* --- buffers --- */

static int describe_buffer(struct loaded_kernel *kernel, size_t index, const struct scope *scope,
                           enum element_type *type, struct error *error)
{
    static const enum tuned_access accesses[] = {[ACCESS_READ] = TUNED_READ,
                                                 [ACCESS_WRITE] = TUNED_WRITE,
                                                 [ACCESS_READ_WRITE] = TUNED_READ_WRITE,
                                                 [ACCESS_SCRATCH] = TUNED_SCRATCH};
    const struct buffer *buffer = &kernel->template->buffers[index];
    uint64_t length = 0;
    uint64_t bytes = 0;
    int status = buffer_describe(buffer, scope, type, &length, error);
    if (status == 0 && __builtin_mul_overflow(length, element_bytes(*type), &bytes))
        status = error_set(error, ERROR_CONFIG, "impossible length '%s'",
                           expression_text(buffer->length));
    if (status == 0)
        kernel->buffers[index] = (struct tuned_kernel_buffer){
            buffer->name, element_name(*type), length, bytes, accesses[buffer->access], 0};
    return status;
}

static int make_scratch(struct loaded_kernel *kernel, size_t index, enum element_type type,
                        const struct scope *scope, struct error *error)
{
    struct device_context *device = &kernel->kernels->device;
    const struct tuned_kernel_buffer *buffer = &kernel->buffers[index];
    uint64_t bytes = buffer->bytes > 0 ? buffer->bytes : 1;
    unsigned char *host = calloc(bytes, 1);
    if (host == NULL)
        return error_set(error, ERROR_DEVICE, "out of memory");
    int status = fill_elements(&kernel->template->buffers[index].fill, scope, type, buffer->length,
                               host, error);
    if (status == 0)
        status = CUDA_CALL(device, error, cuMemAlloc, &kernel->scratch[index], bytes);
    if (status == 0)
        status = device_upload(device, kernel->scratch[index], host, bytes, error);
    free(host);
    return status;
}

/* The variable of the loaded module; what it holds is the caller's affair. */
static int find_symbol(struct loaded_kernel *kernel, size_t index, struct error *error)
{
    const struct module module = {&kernel->kernels->device, kernel->public.module,
                                  &kernel->compilation};
    struct tuned_kernel_buffer *buffer = &kernel->buffers[index];
    CUdeviceptr address = 0;
    int status =
        module_symbol(&module, &kernel->template->buffers[index], buffer->bytes, &address, error);
    buffer->address = address;
    return status;
}

static int make_buffers(struct loaded_kernel *kernel, const struct scope *scope,
                        struct error *error)
{
    const struct template *template = kernel->template;
    struct scope names = {&kernel->launch_plan.names, scope};
    int status = 0;
    if (template->buffer_count > BUFFERS)
        return error_set(error, ERROR_CONFIG, "'%s' has more than %d buffers", template->path,
                         BUFFERS);
    kernel->buffers = alloc_zeroed(template->buffer_count, sizeof *kernel->buffers);
    for (size_t i = 0; i < template->buffer_count && status == 0; i++) {
        bool scratch = template->buffers[i].access == ACCESS_SCRATCH;
        enum element_type type;
        status = describe_buffer(kernel, i, scratch ? &names : scope, &type, error);
        if (status == 0 && scratch && !buffer_is_for_references(template, &template->buffers[i]))
            status = make_scratch(kernel, i, type, &names, error);
        if (status == 0 && template->buffers[i].symbol != NULL)
            status = find_symbol(kernel, i, error);
        status = template_in_buffer(template, i, status, error);
    }
    kernel->public.buffers = kernel->buffers;
    kernel->public.buffer_count = template->buffer_count;
    return status;
}

/* --- together --- */

static int load_kernel(struct loaded_kernel *kernel, const struct tuned_query *query, int *code,
                       struct error *error)
{
    struct bindings problem = {0};
    int status = bind_all(kernel, query, &problem, error);
    struct scope fixed = {&kernel->fixed, NULL};
    struct scope scope = {&kernel->parameters, &fixed};
    if (status == 0)
        status = check_constraints(kernel, &scope, code, error);
    if (status == 0)
        status = load_binary(kernel, query, &problem, code, error);
    if (status == 0)
        status = make_launches(kernel, &scope, error);
    if (status == 0)
        status = make_buffers(kernel, &scope, error);
    if (status == 0)
        scalars_find(kernel);
    bindings_release(&problem);
    return status;
}

static int get_kernel(struct tuned_kernels *kernels, struct tuned_query *query,
                      struct loaded_kernel *kernel, struct tuned_error *error)
{
    struct error inner;
    int code = 0;
    kernel->kernels = kernels;
    code = kernels_find(kernels, query, &kernel->template, &kernel->public.match, error);
    if (code != 0)
        return code;
    int status = load_kernel(kernel, query, &code, &inner);
    return status != 0 ? kernels_fail(&inner, code, error) : 0;
}

int tuned_kernel_get(struct tuned_kernels *kernels, const struct tuned_query *query,
                     struct tuned_kernel **kernel, struct tuned_error *error)
{
    struct tuned_query asked = kernels_query(kernels, query);
    struct loaded_kernel *loaded = alloc_zeroed(1, sizeof *loaded);
    *kernel = NULL;
    (void)pthread_mutex_lock(&kernels->mutex);
    int code = get_kernel(kernels, &asked, loaded, error);
    (void)pthread_mutex_unlock(&kernels->mutex);
    if (code == 0)
        *kernel = &loaded->public;
    else
        tuned_kernel_free(&loaded->public);
    return code;
}

void tuned_kernel_free(struct tuned_kernel *kernel)
{
    struct loaded_kernel *loaded = (struct loaded_kernel *)kernel;
    if (kernel == NULL)
        return;
    const struct driver *driver = &loaded->kernels->device.driver;
    for (size_t i = 0; i < BUFFERS; i++)
        if (loaded->scratch[i] != 0)
            (void)driver->cuMemFree(loaded->scratch[i]);
    if (kernel->module != NULL)
        (void)driver->cuModuleUnload(kernel->module);
    launch_plan_release(&loaded->launch_plan);
    bindings_release(&loaded->parameters);
    bindings_release(&loaded->fixed);
    compilation_release(&loaded->compilation);
    scalars_release(&loaded->scalars);
    free(loaded->launches);
    free(loaded->buffers);
    free(loaded);
}

const struct tuned_kernel_buffer *tuned_kernel_buffer(const struct tuned_kernel *kernel,
                                                      const char *name)
{
    for (size_t i = 0; i < kernel->buffer_count; i++)
        if (strcmp(kernel->buffers[i].name, name) == 0)
            return &kernel->buffers[i];
    return NULL;
}
