/*
 * usage: agents AUTOTUNE AGENTS CORES GPUS VARIANTS [ARGUMENT...]
 *
 * How many nodes the coordinator can serve: plays autotune-mpi's hub with AGENTS other nodes of CORES cores, of which the
 * first GPUS have a GPU, to a real coordinator, `AUTOTUNE --config sweep.ini ARGUMENT...` in the current folder. The
 * workers of the nodes are played, too: each answers at once. A compile worker writes an entry of the cubin cache, since
 * the hub does. Prints how long the run took, and the coordinator's memory and processor time.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/worker.h"
#include "compile/cubin_cache.h"
#include "mpi/bytes.h"
#include "mpi/coordinator.h"
#include "record/gpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CUBIN_BYTES = 8192, EVENTS = 256, PARTS = 100 };

struct played {
    int socket;
    uint32_t id;
    struct bytes bytes;
};

struct play {
    struct coordinator coordinator;
    int epoll;
    size_t agents, cores, gpus;
    size_t compiled, tried;
    double user_s, system_s; /* of the coordinator's own process, as last seen */
    long memory_kb;
};

static size_t number(const char *text)
{
    return (size_t)strtoul(text, NULL, 10);
}

/* --- what workers answer --- */

static json_t *gpu_of(size_t node)
{
    struct gpu gpu;
    (void)gpu_from_arch("sm_90", &gpu, NULL);
    (void)snprintf(gpu.name, sizeof gpu.name, "Played GPU");
    (void)snprintf(gpu.uuid, sizeof gpu.uuid, "GPU-%zu", node);
    (void)snprintf(gpu.driver, sizeof gpu.driver, "13.0");
    return gpu_to_json(&gpu);
}

static json_t *compile(struct play *play, const json_t *request)
{
    struct error error;
    static char cubin[CUBIN_BYTES];
    struct compiled_kernel kernel = {.entry = (char[]){"kernel"}, .registers = 32};
    const char *path = json_string_value(json_object_get(request, "output"));
    (void)snprintf(cubin, sizeof cubin, "%s", path); /* no two are the same */
    struct compilation compilation = {.cubin = cubin,
                                      .cubin_bytes = sizeof cubin,
                                      .log = (char[]){""},
                                      .kernels = &kernel,
                                      .kernel_count = 1};
    play->compiled++;
    if (cubin_cache_write(path, &compilation, &error) != 0)
        return message_from_error(&error);
    return json_pack("{s:s, s:f}", "event", "compiled", "milliseconds", 1.0);
}

static void describe(json_t *reply)
{
    json_object_update_new(reply, json_pack("{s:s, s:[i, i, i, i, i, i, i, f, f]}", "entry",
                                            "kernel", "stats", 32, 0, 0, 0, 128, 64, 16, 1e6, 1e6));
}

/* Larger for larger values of `step`, so that the finals are short. */
static void add_samples(const json_t *request, json_t *reply)
{
    const json_t *step = json_object_get(json_object_get(request, "parameters"), "step");
    json_int_t count = json_integer_value(json_object_get(request, "samples"));
    double ns = 10000 + 100 * json_number_value(step);
    json_t *samples = json_array();
    for (json_int_t i = 0; i < count; i++)
        json_array_append_new(samples, json_real(ns + (double)(i % 3)));
    json_object_update_new(
        reply, json_pack("{s:o, s:[i, f, f]}", "samples_ns", samples, "sampled", 1, ns, 0.0));
}

static json_t *took(const char *event, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(1000));
    return json_pack("{s:s, s:o}", "event", event, "took_ns", list);
}

static json_t *answer(struct play *play, const json_t *request)
{
    const char *command = json_string_value(json_object_get(request, "do"));
    json_t *reply = NULL;
    if (strcmp(command, "compile") == 0)
        return compile(play, request);
    if (strcmp(command, "open") == 0)
        return json_pack("{s:s, s:[f, f, f], s:I, s:I}", "event", "opened", "empty_ns", 2000.0,
                         2010.0, 2020.0, "needs_bytes", (json_int_t)1 << 20, "free_bytes",
                         (json_int_t)64 << 30);
    if (strcmp(command, "trial") == 0) {
        play->tried++;
        describe(reply = took("tried", 4));
        add_samples(request, reply);
    } else if (strcmp(command, "measure") == 0) {
        add_samples(request, reply = took("measured", 0));
    } else if (strcmp(command, "load") == 0) {
        describe(reply = took("loaded", 0));
    } else if (strcmp(command, "verify") == 0) {
        reply = took("verified", 1);
    } else {
        reply = json_pack("{s:s}", "event", strcmp(command, "wait") == 0 ? "waited" : "unloaded");
    }
    return reply;
}

/* --- the nodes --- */

static void reply_to(const struct played *worker, json_t *reply)
{
    struct channel channel = {.out = worker->socket};
    (void)channel_send(&channel, reply, NULL);
}

static json_t *greet(const struct play *play, const char *role, const char *argument, size_t node)
{
    if (strcmp(role, "compile") == 0)
        return json_pack("{s:s, s:s, s:[i, i]}", "event", "ready", "nvrtc", "13.0", "architectures",
                         80, 90);
    if (strcmp(role, "lock") == 0)
        return json_pack("{s:s}", "event", "held");
    if (strcmp(argument, "-1") != 0)
        return json_pack("{s:s, s:o}", "event", "ready", "gpu", gpu_of(node));
    json_t *gpus = json_array();
    if (node <= play->gpus)
        json_array_append_new(gpus, gpu_of(node));
    return json_pack("{s:s, s:o}", "event", "devices", "gpus", gpus);
}

static void end(struct play *play, struct played *worker)
{
    coordinator_tell(&play->coordinator,
                     json_pack("{s:s, s:i, s:s, s:b}", "event", "ended", "worker", (int)worker->id,
                               "reason", "ended", "killed", 0));
    (void)close(worker->socket);
    bytes_release(&worker->bytes);
    free(worker);
}

static void serve(struct play *play, struct played *worker)
{
    enum { READ_BYTES = 65536 };
    size_t length;
    ssize_t count = read(worker->socket, bytes_room(&worker->bytes, READ_BYTES), READ_BYTES);
    if (count <= 0) {
        end(play, worker);
        return;
    }
    worker->bytes.used += (size_t)count;
    while (bytes_line(&worker->bytes, &length)) {
        json_t *request = json_loadb(worker->bytes.data, length, 0, NULL);
        reply_to(worker, answer(play, request));
        json_decref(request);
        bytes_drop(&worker->bytes, length);
    }
}

/* A worker that is killed ends when its socket closes, which follows at once. */
static void take_wishes(struct play *play)
{
    json_t *wish;
    int descriptor;
    while ((wish = coordinator_receive(&play->coordinator, &descriptor)) != NULL) {
        json_int_t id = json_integer_value(json_object_get(wish, "worker"));
        if (descriptor >= 0) {
            struct played *worker = alloc_zeroed(1, sizeof *worker);
            *worker = (struct played){.socket = descriptor, .id = (uint32_t)id};
            struct epoll_event event = {.events = EPOLLIN, .data.ptr = worker};
            (void)epoll_ctl(play->epoll, EPOLL_CTL_ADD, descriptor, &event);
            const char *argument = json_string_value(json_object_get(wish, "argument"));
            reply_to(worker, greet(play, json_string_value(json_object_get(wish, "role")),
                                   argument != NULL ? argument : "",
                                   (size_t)json_integer_value(json_object_get(wish, "node"))));
        } else {
            coordinator_tell(&play->coordinator,
                             json_pack("{s:s, s:I, s:s, s:b}", "event", "ended", "worker", id,
                                       "reason", "was killed", "killed", 1));
        }
        json_decref(wish);
    }
}

static void tell_nodes(struct play *play)
{
    json_t *list = json_array();
    for (size_t i = 0; i <= play->agents; i++)
        json_array_append_new(list, json_pack("{s:s, s:I}", "host", "n", "cores",
                                              (json_int_t)(i > 0 ? play->cores : 1)));
    coordinator_tell(&play->coordinator, json_pack("{s:s, s:o}", "event", "nodes", "nodes", list));
}

/* What the coordinator itself has used, without its workers: they compile, too. */
static void look(struct play *play)
{
    char path[64];
    char line[256];
    long user = 0;
    long system = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)play->coordinator.pid);
    FILE *file = fopen(path, "re");
    if (file != NULL &&
        fscanf(file, "%*d %*s %*s %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user,
               &system) == 2 &&
        user + system > 0) {
        play->user_s = (double)user / (double)sysconf(_SC_CLK_TCK);
        play->system_s = (double)system / (double)sysconf(_SC_CLK_TCK);
    }
    if (file != NULL)
        (void)fclose(file);
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)play->coordinator.pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            play->memory_kb = strtol(line + 6, NULL, 10);
    if (file != NULL)
        (void)fclose(file);
}

static void play_nodes(struct play *play)
{
    int64_t looked_ns = clock_ns();
    struct epoll_event events[EVENTS];
    struct epoll_event control = {.events = EPOLLIN, .data.ptr = NULL};
    (void)epoll_ctl(play->epoll, EPOLL_CTL_ADD, play->coordinator.socket, &control);
    tell_nodes(play);
    while (!coordinator_has_ended(&play->coordinator)) {
        int count = epoll_wait(play->epoll, events, EVENTS, 10);
        for (int i = 0; i < count; i++)
            if (events[i].data.ptr != NULL)
                serve(play, events[i].data.ptr);
        take_wishes(play);
        (void)coordinator_flush(&play->coordinator);
        if (clock_ns() - looked_ns < 50000000)
            continue;
        look(play);
        looked_ns = clock_ns();
    }
}

/* --- the sweep --- */

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    return file != NULL && fputs(text, file) >= 0 && fclose(file) == 0;
}

/* Of `variants` combinations, a multiple of PARTS, each of which compiles for itself. */
static bool write_sweep(size_t variants)
{
    char *sweep = alloc_format("[sweep]\ntemplates = .\ntuned = tuned.ini\nresults = results\n"
                               "[played]\npart = 1..%d step 1\nstep = 1..%zu step 1\n",
                               PARTS, variants / PARTS);
    bool good =
        write_text("played.cu",
                   "#ifndef STEP\n#define STEP 1\n#endif\n#ifndef PART\n#define PART 1\n#endif\n"
                   "extern \"C\" __global__ void kernel(float *out) { out[0] = STEP * PART; }\n") &&
        write_text("played.ini",
                   "[parameters]\npart = 1\nstep = 1\n[problem]\nn = 1024\n"
                   "[buffer.out]\ntype = float\nlength = n\naccess = write\n"
                   "[launch.main]\nentry = kernel\ngrid = 64\nblock = 128\narguments = out\n"
                   "[expect.out]\nreference = constant(0)\ncompare = exact\n") &&
        write_text("sweep.ini", sweep);
    free(sweep);
    return good;
}

int main(int argc, char **argv)
{
    enum { FIXED = 6 };
    struct error error;
    struct rlimit files;
    if (argc < FIXED) {
        fputs("usage: agents AUTOTUNE AGENTS CORES GPUS VARIANTS [ARGUMENT...]\n", stderr);
        return 2;
    }
    struct play play = {.epoll = epoll_create1(EPOLL_CLOEXEC),
                        .agents = number(argv[2]),
                        .cores = number(argv[3]),
                        .gpus = number(argv[4])};
    size_t variants = number(argv[5]);
    char **arguments = alloc_zeroed((size_t)argc, sizeof *arguments);
    arguments[0] = argv[1];
    arguments[1] = "--config";
    arguments[2] = "sweep.ini";
    for (int i = FIXED; i < argc; i++)
        arguments[i - FIXED + 3] = argv[i];
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)setenv("CUDA_VISIBLE_DEVICES", "", 1); /* a GPU of this machine would take part */
    int64_t begin_ns = clock_ns();
    if (!write_sweep(variants) ||
        coordinator_start(&play.coordinator, argv[1], arguments, &error) != 0)
        return 1;
    play_nodes(&play);
    double took_s = (double)(clock_ns() - begin_ns) * 1e-9;
    double each_us = 1e6 / (double)variants;
    printf(
        "%zu agents, %zu cores each, %zu GPUs: %zu compiled, %zu tried in %.2f s: %.0f variants/s; "
        "coordinator: %ld MB, %.2f s of processor time, %.1f us a variant (%.1f user, %.1f "
        "system)\n",
        play.agents, play.cores, play.gpus, play.compiled, play.tried, took_s,
        (double)variants / took_s, play.memory_kb / 1024, play.user_s + play.system_s,
        (play.user_s + play.system_s) * each_us, play.user_s * each_us, play.system_s * each_us);
    free(arguments);
    return coordinator_exit_status(&play.coordinator);
}
