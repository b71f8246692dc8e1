#include "compile_worker.h"

#include "alloc.h"
#include "clock.h"
#include "cubin.h"
#include "nvrtc.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { DEFAULT_MEMORY_MB = 4096 };

struct job {
    const char *name;
    const char *arch;
    const char *output;
    char *text;           /* owned */
    const char **options; /* the texts belong to the message */
    size_t option_count;
};

static void job_release(struct job *job)
{
    free(job->text);
    free(job->options);
}

static int read_job(struct job *job, const json_t *message, struct error *error)
{
    json_t *options = json_object_get(message, "options");
    const char *text = json_string_value(json_object_get(message, "text"));
    *job = (struct job){
        .name = json_string_value(json_object_get(message, "name")),
        .arch = json_string_value(json_object_get(message, "arch")),
        .output = json_string_value(json_object_get(message, "output")),
    };
    const char *command = json_string_value(json_object_get(message, "do"));
    if (command == NULL || strcmp(command, "compile") != 0 || job->name == NULL ||
        job->arch == NULL || job->output == NULL)
        return error_set(error, ERROR_WORKER,
                         "expected {\"do\":\"compile\",\"name\":…,\"arch\":…,\"options\":[…],"
                         "\"output\":…}");
    size_t index;
    json_t *option;
    json_array_foreach(options, index, option) if (json_is_string(option)) *
        ARRAY_APPEND(job->options, job->option_count) = json_string_value(option);
    if (text == NULL)
        return source_read_file(job->name, &job->text, NULL, error);
    job->text = alloc_string(text);
    return 0;
}

static int compile(struct nvrtc *nvrtc, const json_t *message, double *milliseconds,
                   struct error *error)
{
    struct job job;
    struct compilation compilation = {0};
    int64_t start = clock_ns();
    int status = read_job(&job, message, error);
    if (status == 0)
        status = nvrtc_compile(nvrtc, job.name, job.text, job.arch, job.options, job.option_count,
                               &compilation, error);
    if (status == 0)
        status = cubin_write(job.output, &compilation, error);
    *milliseconds = (double)(clock_ns() - start) * 1e-6;
    compilation_release(&compilation);
    job_release(&job);
    return status;
}

static int send_ready(struct channel *channel, const struct nvrtc *nvrtc, struct error *error)
{
    size_t count;
    const int *architectures = nvrtc_architectures(nvrtc, &count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(architectures[i]));
    return channel_send(channel,
                        json_pack("{s:s, s:s, s:s, s:o}", "event", "ready", "nvrtc",
                                  nvrtc_version(nvrtc), "path", nvrtc_path(nvrtc), "architectures",
                                  list),
                        error);
}

/*
 * A variant that would take all of the machine's memory to compile (an enormous unroll) takes this
 * worker's only: 4 GiB of address space, or $AUTOTUNE_COMPILE_MEMORY_MB. Sanitizers reserve more
 * than that for themselves.
 */
static void limit_memory(void)
{
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    const char *text = getenv("AUTOTUNE_COMPILE_MEMORY_MB");
    char *end = NULL;
    long stated = text != NULL ? strtol(text, &end, 10) : 0;
    rlim_t megabytes = end != NULL && *end == '\0' && stated > 0 && stated < 1 << 30
                           ? (rlim_t)stated
                           : DEFAULT_MEMORY_MB;
    struct rlimit limit = {megabytes << 20, megabytes << 20};
    (void)setrlimit(RLIMIT_AS, &limit);
#endif
}

int compile_worker_run(struct channel *channel, struct error *error)
{
    limit_memory();
    struct nvrtc *nvrtc;
    json_t *message;
    /* Where there is a driver, NVRTC keeps its results in the driver's cache, and a result from
     * there comes without the log that has the kernels' figures. The cache is ours to keep. */
    (void)setenv("CUDA_CACHE_DISABLE", "1", 1);
    int status = nvrtc_open(&nvrtc, error);
    if (status != 0) {
        (void)channel_send(channel, message_from_error(error), NULL);
        return status;
    }
    status = send_ready(channel, nvrtc, error);
    while (status == 0 && (status = channel_receive(channel, &message, error)) == 1) {
        double milliseconds = 0;
        struct error refusal;
        status = compile(nvrtc, message, &milliseconds, &refusal);
        json_decref(message);
        status = channel_send(channel,
                              status != 0 ? message_from_error(&refusal)
                                          : json_pack("{s:s, s:f}", "event", "compiled",
                                                      "milliseconds", milliseconds),
                              error);
    }
    nvrtc_close(nvrtc);
    return status;
}
