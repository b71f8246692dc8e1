#include "gpu/inspect.h"

int inspect_sums(struct device_context *device, const struct device_buffer *buffer,
                 unsigned char poison, CUdeviceptr sums, struct error *error)
{
    CUdeviceptr data = buffer->data;
    int bytes = (int)element_bytes(buffer->type);
    int pattern = poison;
    unsigned long long count = buffer->length;
    void *arguments[] = {&data, &bytes, &count, &pattern, &sums};
    return device_launch_support(device, SUPPORT_checksum, count, arguments, error);
}

int inspect_fingerprint(struct device_context *device, const struct device_buffer *buffer,
                        CUdeviceptr sum, struct error *error)
{
    CUdeviceptr data = buffer->data;
    unsigned long long bytes = buffer->bytes;
    void *arguments[] = {&data, &bytes, &sum};
    return device_launch_support(device, SUPPORT_fingerprint, (bytes + 15) / 16, arguments, error);
}

/* Must match device_kernels.cu. */
enum { GUARDS = 16 };
struct guards {
    CUdeviceptr guard[GUARDS];
    CUdeviceptr damaged[GUARDS];
};

static int launch(struct device_context *device, struct guards *guards, int count,
                  struct error *error)
{
    int pattern = GUARD_PATTERN;
    void *arguments[] = {guards, &count, &pattern};
    if (count == 0)
        return 0;
    return device_launch_support(device, SUPPORT_check_guards, (uint64_t)count * 256, arguments,
                                 error);
}

int inspect_guards(struct device_context *device, const struct inspect_guard *guards, size_t count,
                   struct error *error)
{
    struct guards queued;
    int filled = 0;
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct device_buffer *buffer = guards[i].buffer;
        queued.guard[filled] = buffer->base;
        queued.damaged[filled++] = guards[i].damaged;
        queued.guard[filled] = buffer->data + buffer->bytes;
        queued.damaged[filled++] = guards[i].damaged;
        if (filled == GUARDS) {
            status = launch(device, &queued, filled, error);
            filled = 0;
        }
    }
    return status != 0 ? status : launch(device, &queued, filled, error);
}
