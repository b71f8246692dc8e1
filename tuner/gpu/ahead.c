#include "gpu/ahead.h"

#include "compile/cubin_cache.h"

#include <poll.h>
#include <string.h>

static void unload(struct loaded_code *code, struct device_context *device)
{
    if (code->module != NULL)
        (void)device->driver.cuModuleUnload(code->module);
    compilation_release(&code->compilation);
    *code = (struct loaded_code){0};
}

void ahead_unload(struct ahead *ahead, struct device_context *device)
{
    for (size_t i = 0; i < ahead->count; i++)
        unload(&ahead->next[i].code, device);
    unload(&ahead->present, device);
}

void ahead_release(struct ahead *ahead)
{
    for (size_t i = 0; i < ahead->count; i++) {
        json_decref(ahead->next[i].request);
        compilation_release(&ahead->next[i].code.compilation);
    }
    compilation_release(&ahead->present.compilation);
    *ahead = (struct ahead){0};
}

int ahead_receive(struct ahead *ahead, struct device_context *device, struct channel *channel,
                  json_t **request, struct error *error)
{
    unload(&ahead->present, device);
    if (ahead->count == 0)
        return channel_receive(channel, request, error);
    *request = ahead->next[0].request;
    ahead->present = ahead->next[0].code;
    ahead->count--;
    memmove(ahead->next, ahead->next + 1, ahead->count * sizeof *ahead->next);
    return 1;
}

static bool has_input(const struct channel *channel)
{
    struct pollfd descriptor = {.fd = channel->in, .events = POLLIN};
    return poll(&descriptor, 1, 0) > 0;
}

/* The path of the code that a trial needs; NULL for other requests. */
static const char *code_of(const json_t *request)
{
    const char *what = json_string_value(json_object_get(request, "do"));
    bool tries = what != NULL && strcmp(what, "trial") == 0;
    return tries ? json_string_value(json_object_get(request, "cubin")) : NULL;
}

static void read_code(struct request_ahead *next)
{
    const char *path = code_of(next->request);
    if (path != NULL)
        (void)cubin_cache_require(path, &next->code.compilation, NULL);
}

void ahead_read(struct ahead *ahead, struct channel *channel)
{
    int status = 1;
    while (ahead->count < AHEAD_REQUESTS && status == 1) {
        struct request_ahead next = {0};
        status = channel_next(channel, &next.request, NULL);
        if (status == 0 && has_input(channel) && channel_fill(channel, NULL) == 1)
            status = channel_next(channel, &next.request, NULL);
        if (status != 1)
            return;
        read_code(&next);
        ahead->next[ahead->count++] = next;
    }
}

/* The driver loads a kernel when it is first asked about it. */
static CUresult load(struct loaded_code *code, struct device_context *device)
{
    const struct compilation *compilation = &code->compilation;
    CUresult result = device->driver.cuModuleLoadData(&code->module, compilation->cubin);
    for (size_t i = 0; i < compilation->kernel_count && result == CUDA_SUCCESS; i++) {
        const char *entry = compilation->kernels[i].entry;
        CUfunction function;
        int threads;
        result = device->driver.cuModuleGetFunction(&function, code->module,
                                                    compilation_symbol(compilation, entry));
        if (result == CUDA_SUCCESS)
            result = device->driver.cuFuncGetAttribute(
                &threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    }
    return result;
}

void ahead_load(struct ahead *ahead, struct device_context *device, struct channel *channel)
{
    if (ahead->count == 0)
        ahead_read(ahead, channel);
    struct loaded_code *code = &ahead->next[0].code;
    if (ahead->count > 0 && code->module == NULL && code->compilation.cubin != NULL &&
        load(code, device) != CUDA_SUCCESS)
        unload(code, device);
}

struct loaded_code ahead_take(struct ahead *ahead)
{
    struct loaded_code code = ahead->present;
    ahead->present = (struct loaded_code){0};
    return code;
}
