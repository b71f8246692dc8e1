#include "compile/compile_worker.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/environment_number.h"
#include "base/read_file.h"
#include "compile/cubin_cache.h"
#include "compile/nvrtc.h"
#include "compile/precompiler.h"
#include "template/source_file.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { DEFAULT_MEMORY_MB = 4096, MOST_MEMORY_MB = (1 << 30) - 1 };

struct job {
    const char *name;
    const char *arch;
    const char *output;
    char *text;           /* owned */
    const char **options; /* array owned; strings borrowed from the message */
    size_t option_count;
    const char **headers; /* the same */
    size_t header_count;
    const char **stamps; /* the same */
    size_t stamp_count;
    size_t definition_count;
    bool more;
};

static void job_release(struct job *job)
{
    free(job->text);
    free(job->options);
    free(job->headers);
    free(job->stamps);
}

/* The array's strings, borrowed from it; free the returned array. */
static const char **read_texts(const json_t *array, size_t *count)
{
    const char **texts = NULL;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (text != NULL)
            *ARRAY_APPEND(texts, *count) = text;
    }
    return texts;
}

static int read_job(struct job *job, const json_t *message, struct error *error)
{
    json_int_t definitions = json_integer_value(json_object_get(message, "definitions"));
    const char *text = json_string_value(json_object_get(message, "text"));
    *job = (struct job){
        .name = json_string_value(json_object_get(message, "name")),
        .arch = json_string_value(json_object_get(message, "arch")),
        .output = json_string_value(json_object_get(message, "output")),
        .definition_count = definitions > 0 ? (size_t)definitions : 0,
        .more = json_is_true(json_object_get(message, "more")),
    };
    const char *command = json_string_value(json_object_get(message, "do"));
    if (command == NULL || strcmp(command, "compile") != 0 || job->name == NULL ||
        job->arch == NULL || job->output == NULL)
        return error_set(error, ERROR_WORKER,
                         "expected {\"do\":\"compile\",\"name\":…,\"arch\":…,\"options\":[…],"
                         "\"output\":…}");
    job->options = read_texts(json_object_get(message, "options"), &job->option_count);
    job->headers = read_texts(json_object_get(message, "headers"), &job->header_count);
    job->stamps = read_texts(json_object_get(message, "stamps"), &job->stamp_count);
    if (text == NULL)
        return read_file(job->name, &job->text, NULL, error);
    job->text = alloc_string(text);
    return 0;
}

static int compile_job(struct precompiler *precompiler, const struct job *job,
                       struct compilation *compilation, struct error *error)
{
    char *file = alloc_format("%s" COMPILE_WORKER_TEMPORARY, job->output);
    struct precompilation precompilation = {
        .name = job->name,
        .text = job->text,
        .arch = job->arch,
        .options = job->options,
        .option_count = job->option_count,
        .definition_count = job->definition_count,
        .headers = job->headers,
        .header_count = job->header_count,
        .more = job->more,
        .file = file,
    };
    int status = precompiler_compile(precompiler, &precompilation, compilation, error);
    free(file);
    return status;
}

/* Removes `root` from the log: a folder with copies of the files of another machine. */
static void strip(char *log, const char *root)
{
    if (root == NULL || log == NULL || root[0] == '\0')
        return;
    size_t length = strlen(root);
    for (char *at = strstr(log, root); at != NULL; at = strstr(at, root))
        memmove(at, at + length, strlen(at + length) + 1);
}

static int compile(struct precompiler *precompiler, const json_t *message, double *milliseconds,
                   struct error *error)
{
    struct job job;
    struct compilation compilation = {0};
    int64_t start = clock_ns();
    int status = read_job(&job, message, error);
    if (status == 0)
        status = compile_job(precompiler, &job, &compilation, error);
    if (status == 0)
        strip(compilation.log, json_string_value(json_object_get(message, "root")));
    if (status == 0)
        status = source_check(job.stamps, job.stamp_count, error);
    if (status == 0)
        status = cubin_cache_write(job.output, &compilation, error);
    *milliseconds = (double)(clock_ns() - start) * 1e-6;
    compilation_release(&compilation);
    job_release(&job);
    return status;
}

/* The reply to a request. */
static json_t *serve(struct precompiler *precompiler, const json_t *message)
{
    double milliseconds = 0;
    struct error error;
    if (compile(precompiler, message, &milliseconds, &error) != 0)
        return message_from_error(&error);
    return json_pack("{s:s, s:f}", "event", "compiled", "milliseconds", milliseconds);
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
                                  nvrtc_build(nvrtc), "path", nvrtc_path(nvrtc), "architectures",
                                  list),
                        error);
}

static const char memory_variable[] = "AUTOTUNE_COMPILE_MEMORY_MB";

int compile_worker_check_memory(struct error *error)
{
    int64_t megabytes = 0;
    return environment_number(memory_variable, MOST_MEMORY_MB, &megabytes)
               ? 0
               : error_set(error, ERROR_USAGE,
                           "%s is '%s'; give the address space of a compile worker in MiB, from 1",
                           memory_variable, getenv(memory_variable));
}

int compile_worker_memory_mb(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return 0;
#else
    int64_t megabytes = DEFAULT_MEMORY_MB;
    (void)environment_number(memory_variable, MOST_MEMORY_MB, &megabytes);
    return (int)megabytes;
#endif
}

static void limit_memory(void)
{
    rlim_t bytes = (rlim_t)compile_worker_memory_mb() << 20;
    struct rlimit limit = {bytes, bytes};
    if (bytes > 0)
        (void)setrlimit(RLIMIT_AS, &limit);
}

/* Keeps the memory that one compilation frees for the next: the kernel clears each page that it
 * hands out, and NVRTC uses tens of megabytes every time. */
static void keep_memory(void)
{
    enum { KEPT_BYTES = 1 << 30, TOP_BYTES = 32 << 20 };
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES / 32);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_TOP_PAD, TOP_BYTES);
}

int compile_worker_run(struct channel *channel, struct error *error)
{
    limit_memory();
    keep_memory();
    struct nvrtc *nvrtc;
    json_t *message;
    /* If a driver is installed, NVRTC uses the driver's cache, and a cached result comes without
     * the log that states resource usage. We have our own cache. */
    (void)setenv("CUDA_CACHE_DISABLE", "1", 1);
    char *cache = cubin_cache_default_folder();
    int status = nvrtc_open(&nvrtc, cache, error);
    free(cache);
    if (status != 0) {
        (void)channel_send(channel, message_from_error(error), NULL);
        return status;
    }
    struct precompiler precompiler;
    precompiler_init(&precompiler, nvrtc);
    status = send_ready(channel, nvrtc, error);
    while (status == 0 && (status = channel_receive(channel, &message, error)) == 1) {
        json_t *reply = serve(&precompiler, message);
        json_decref(message);
        status = channel_send(channel, reply, error);
    }
    precompiler_release(&precompiler);
    nvrtc_close(nvrtc);
    return status;
}
