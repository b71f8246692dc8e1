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
    unload(&ahead->next, device);
    unload(&ahead->present, device);
}

void ahead_release(struct ahead *ahead)
{
    json_decref(ahead->request);
    compilation_release(&ahead->next.compilation);
    compilation_release(&ahead->present.compilation);
    *ahead = (struct ahead){0};
}

int ahead_receive(struct ahead *ahead, struct device_context *device, struct channel *channel,
                  json_t **request, struct error *error)
{
    unload(&ahead->present, device);
    if (ahead->request == NULL)
        return channel_receive(channel, request, error);
    *request = ahead->request;
    ahead->request = NULL;
    ahead->present = ahead->next;
    ahead->next = (struct loaded_code){0};
    return 1;
}

static bool has_input(const struct channel *channel)
{
    struct pollfd descriptor = {.fd = channel->in, .events = POLLIN};
    return poll(&descriptor, 1, 0) > 0;
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

void ahead_look(struct ahead *ahead, struct device_context *device, struct channel *channel)
{
    bool found = false;
    if (ahead->request != NULL)
        return;
    int status = channel_next(channel, &ahead->request, NULL);
    if (status == 0 && has_input(channel) && channel_fill(channel, NULL) == 1)
        status = channel_next(channel, &ahead->request, NULL);
    const char *what = json_string_value(json_object_get(ahead->request, "do"));
    const char *path = json_string_value(json_object_get(ahead->request, "cubin"));
    if (status != 1 || what == NULL || strcmp(what, "trial") != 0 || path == NULL)
        return;
    status = cubin_cache_read(path, &ahead->next.compilation, &found, NULL);
    if (status != 0 || !found || ahead->next.compilation.cubin == NULL ||
        load(&ahead->next, device) != CUDA_SUCCESS)
        unload(&ahead->next, device);
}

struct loaded_code ahead_take(struct ahead *ahead)
{
    struct loaded_code code = ahead->present;
    ahead->present = (struct loaded_code){0};
    return code;
}
