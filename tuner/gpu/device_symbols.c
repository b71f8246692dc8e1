#include "gpu/device_symbols.h"

#include "base/alloc.h"
#include "gpu/module.h"
#include "template/dependencies.h"

static int copy(struct symbol_buffers buffers, CUdeviceptr to, CUdeviceptr from, uint64_t bytes,
                struct error *error)
{
    struct device_context *device = buffers.device;
    return bytes == 0 ? 0 : CUDA(device, cuMemcpyDtoDAsync, to, from, bytes, device->stream);
}

/* Finds the variable of buffer `index` and copies the buffer's contents to it. */
static int find(struct symbol_buffers buffers, CUmodule handle, size_t index, CUdeviceptr *address,
                struct error *error)
{
    const struct module module = {buffers.device, handle, NULL};
    const struct device_buffer *own = &buffers.buffers[index];
    int status =
        module_symbol(&module, &buffers.template->buffers[index], own->bytes, address, error);
    return status != 0 ? status : copy(buffers, *address, own->data, own->bytes, error);
}

int device_symbols_resolve(struct device_code *code, struct symbol_buffers buffers,
                           struct error *error)
{
    const struct template *template = buffers.template;
    int status = 0;
    code->symbols = alloc_zeroed(template->buffer_count, sizeof *code->symbols);
    for (size_t i = 0; i < template->buffer_count && status == 0; i++)
        if (template->buffers[i].symbol != NULL)
            status = template_in_buffer(
                template, i, find(buffers, code->module, i, &code->symbols[i], error), error);
    return status;
}

int device_symbols_fill(struct symbol_buffers buffers, CUmodule module, struct error *error)
{
    const struct template *template = buffers.template;
    for (size_t i = 0; i < template->buffer_count; i++) {
        CUdeviceptr address;
        if (template->buffers[i].symbol == NULL || buffers.buffers[i].base == 0)
            continue;
        int status = find(buffers, module, i, &address, error);
        bool missing = buffers.device->last == CUDA_ERROR_NOT_FOUND;
        if (status == ERROR_CONFIG && (missing || buffer_is_dependent(template, i)))
            status = 0;
        if (status != 0)
            return template_in_buffer(template, i, status, error);
    }
    return 0;
}

/* The variables of read buffers, or those of all others. */
static int push(const struct device_code *code, struct symbol_buffers buffers, bool read,
                struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < buffers.template->buffer_count && status == 0; i++) {
        bool wanted = (buffers.template->buffers[i].access == ACCESS_READ) == read;
        const struct device_buffer *own = &buffers.buffers[i];
        if (code->symbols[i] != 0 && wanted)
            status = copy(buffers, code->symbols[i], own->data, own->bytes, error);
    }
    return status;
}

int device_symbols_renew(const struct device_code *code, struct symbol_buffers buffers,
                         struct error *error)
{
    return push(code, buffers, true, error);
}

int device_symbols_push(const struct device_code *code, struct symbol_buffers buffers,
                        struct error *error)
{
    return push(code, buffers, false, error);
}

int device_symbols_pull(const struct device_code *code, struct symbol_buffers buffers,
                        struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < buffers.template->buffer_count && status == 0; i++) {
        const struct device_buffer *own = &buffers.buffers[i];
        if (code->symbols[i] != 0)
            status = copy(buffers, own->data, code->symbols[i], own->bytes, error);
    }
    return status;
}

bool device_symbols_change(const struct template *template)
{
    bool any = false;
    for (size_t i = 0; i < template->buffer_count; i++)
        any = any ||
              (template->buffers[i].symbol != NULL && template->buffers[i].access != ACCESS_READ);
    return any;
}
