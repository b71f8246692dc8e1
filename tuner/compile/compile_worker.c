#include "compile/compile_worker.h"

#include "base/alloc.h"
#include "base/environment.h"
#include "compile/cubin_cache.h"
#include "compile/nvrtc.h"
#include "compile/precompiler.h"
#include "compile/staging.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { DEFAULT_MEMORY_MB = 4096, MOST_MEMORY_MB = (1 << 30) - 1 };

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

/* What serves requests. */
struct server {
    struct channel *channel;
    struct nvrtc *nvrtc;
    struct staging staging;
    struct precompiler precompiler;
};

/* The names of absolute paths in #includes. */
static void set_root(struct server *server, const json_t *request)
{
    const char **names = NULL;
    size_t count = 0;
    size_t index;
    json_t *way;
    json_array_foreach(json_object_get(request, "ways"), index, way)
    {
        const char *name = json_string_value(json_array_get(way, 1));
        if (json_integer_value(json_array_get(way, 0)) == SOURCE_WAY_NAME && name != NULL)
            *ARRAY_APPEND(names, count) = name;
    }
    nvrtc_set_root(server->nvrtc, STAGING_ROOT, names, count);
    free(names);
}

/* Compiles to an entry of the cache: `*count` bytes. */
static int compile_once(struct server *server, const json_t *request, char **bytes, size_t *count,
                        struct error *error)
{
    const json_t *headers = json_object_get(request, "headers");
    const char *key = json_string_value(json_object_get(request, "key"));
    json_int_t definitions = json_integer_value(json_object_get(request, "definitions"));
    struct nvrtc_job job = {.arch = json_string_value(json_object_get(request, "arch"))};
    struct compilation compilation = {0};
    int status = staging_place(&server->staging, server->channel, request, error);
    if (status == 0 &&
        (job.text = staging_first(server->channel, request, &job.name, error)) == NULL)
        status = ERROR_WORKER;
    if (status != 0)
        return status;
    set_root(server, request);
    job.options = read_texts(json_object_get(request, "options"), &job.option_count);
    job.definition_count =
        definitions > 0 && (size_t)definitions <= job.option_count ? (size_t)definitions : 0;
    job.headers = read_texts(headers, &job.header_count);
    status = precompiler_compile(&server->precompiler, &job, &compilation, error);
    if (status == 0)
        *bytes = cubin_cache_entry(key, &compilation, count);
    compilation_release(&compilation);
    free((void *)job.options);
    free((void *)job.headers);
    return status;
}

/* The same, and from all of the source's files. */
static int compile(struct server *server, const json_t *request, char **bytes, size_t *count,
                   struct error *error)
{
    enum { TRIES = 3 };
    for (int i = 0; i < TRIES; i++) {
        int status = compile_once(server, request, bytes, count, error);
        if (server->staging.placed == NULL || staging_stands(&server->staging))
            return status;
        free(*bytes);
        *bytes = NULL;
    }
    return error_set(error, ERROR_RECORD,
                     "'%s' loses files while they are compiled; whatever cleans its folder must "
                     "leave out autotune-*, or set TMPDIR to another folder",
                     server->staging.folder);
}

/* Replies to a request. */
static int serve(struct server *server, const json_t *request, struct error *error)
{
    const char *command = json_string_value(json_object_get(request, "do"));
    char *bytes = NULL;
    size_t count = 0;
    struct error failure;
    int status = command != NULL && strcmp(command, "compile") == 0 &&
                         json_is_string(json_object_get(request, "arch")) &&
                         json_is_string(json_object_get(request, "key"))
                     ? compile(server, request, &bytes, &count, &failure)
                     : error_set(&failure, ERROR_WORKER,
                                 "expected {\"do\":\"compile\",\"arch\":…,\"key\":…,"
                                 "\"options\":[…],\"files\":[…]}");
    json_t *reply =
        status != 0 ? message_from_error(&failure) : json_pack("{s:s}", "event", "compiled");
    status = channel_send_bytes(server->channel, reply, bytes, count, error);
    free(bytes);
    return status;
}

static int send_ready(const struct server *server, struct error *error)
{
    size_t count;
    const int *architectures = nvrtc_architectures(server->nvrtc, &count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(architectures[i]));
    return channel_send(server->channel,
                        json_pack("{s:s, s:s, s:s, s:s, s:o}", "event", "ready", "nvrtc",
                                  nvrtc_build(server->nvrtc), "path", nvrtc_path(server->nvrtc),
                                  "folder", server->staging.folder, "architectures", list),
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
    struct server server = {.channel = channel};
    json_t *message;
    /* If a driver is installed, NVRTC uses the driver's cache, and a cached result comes without
     * the log that states resource usage. We have our own cache. */
    (void)setenv("CUDA_CACHE_DISABLE", "1", 1);
    char *cache = cubin_cache_default_folder();
    int status = nvrtc_open(&server.nvrtc, cache, error);
    free(cache);
    if (status != 0) {
        (void)channel_send(channel, message_from_error(error), NULL);
        return status;
    }
    staging_init(&server.staging);
    precompiler_init(&server.precompiler, server.nvrtc, server.staging.folder);
    status = send_ready(&server, error);
    while (status == 0 && (status = channel_receive(channel, &message, error)) == 1) {
        status = serve(&server, message, error);
        json_decref(message);
    }
    precompiler_release(&server.precompiler);
    staging_release(&server.staging);
    nvrtc_close(server.nvrtc);
    return status;
}
