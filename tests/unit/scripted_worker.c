#include "unit/scripted_worker.h"

#include "base/alloc.h"
#include "base/channel.h"
#include "base/statistics.h"
#include "base/worker.h"
#include "compile/cubin_cache.h"
#include "record/gpu.h"
#include "unit/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST_VARIANTS = 64, NAME_BYTES = 64 };

struct variant {
    json_int_t id;
    double us;
};

struct player {
    struct channel channel;
    bool open;
    struct variant variants[MOST_VARIANTS]; /* loaded */
    size_t variant_count;
    uint64_t random;
    const json_t *request; /* NULL: the greeting */
    char name[NAME_BYTES]; /* of the request: "trial:us=20", "open" */
    const char *argument;  /* the script's, of the request's action */
    int ordinal;           /* of a device worker's GPU */
    double slower;         /* by this factor, with this request; 0: as usual */
    bool last;             /* the worker ends with this reply */
    char *bytes;           /* behind the reply */
    size_t byte_count;
};

/* --- what a well-behaved worker answers --- */

static double number_of(const struct player *player, const char *key)
{
    return json_number_value(json_object_get(player->request, key));
}

static json_t *error_message(int code, const char *text)
{
    struct error error;
    (void)error_set(&error, (enum error_code)code, "%s", text);
    return message_from_error(&error);
}

/* Without a cubin the compiler has refused the source. */
static json_t *write_entry(struct player *player, const char *cubin, const char *log)
{
    struct compiled_kernel kernel = {.entry = (char[]){"kernel"}, .registers = SCRIPTED_REGISTERS};
    struct compilation compilation = {.cubin = (char *)(uintptr_t)cubin,
                                      .cubin_bytes = cubin != NULL ? strlen(cubin) : 0,
                                      .log = (char *)(uintptr_t)log,
                                      .kernels = &kernel,
                                      .kernel_count = cubin != NULL};
    const char *key = json_string_value(json_object_get(player->request, "key"));
    player->bytes = cubin_cache_entry(key, &compilation, &player->byte_count);
    return json_pack("{s:s}", "event", "compiled");
}

static json_t *compile(struct player *player)
{
    return write_entry(player, player->name, ""); /* another for each `us` */
}

static json_t *greet_as_compiler(struct player *player)
{
    (void)player;
    return json_pack("{s:s, s:s, s:[i, i]}", "event", "ready", "nvrtc", "13.0", "architectures", 80,
                     90);
}

static json_t *greet_as_device(struct player *player)
{
    struct gpu gpu;
    (void)gpu_from_arch("sm_90", &gpu, NULL);
    (void)snprintf(gpu.name, sizeof gpu.name, "Scripted GPU");
    (void)snprintf(gpu.uuid, sizeof gpu.uuid,
                   player->ordinal > 0 ? "GPU-scripted-%d" : "GPU-scripted", player->ordinal);
    (void)snprintf(gpu.driver, sizeof gpu.driver, "13.0 (580.95.05)");
    return json_pack("{s:s, s:o}", "event", "ready", "gpu", gpu_to_json(&gpu));
}

static json_t *open_problem(struct player *player)
{
    player->open = true;
    player->variant_count = 0;
    return json_pack("{s:s, s:[f, f, f], s:I, s:I}", "event", "opened", "empty_ns", 2000.0, 2010.0,
                     2020.0, "needs_bytes", (json_int_t)1 << 20, "free_bytes",
                     (json_int_t)64 << 30);
}

static json_t *describe(const char *event)
{
    return json_pack("{s:s, s:s, s:[i, i, i, i, i, i, i, f, f]}", "event", event, "entry", "kernel",
                     "stats", SCRIPTED_REGISTERS, 0, 0, 0, 128, 64, 16, 1e6, 1e6);
}

static void add_samples(struct player *player, double us, json_t *reply)
{
    us *= player->slower > 0 ? player->slower : 1;
    double enough_us = number_of(player, "enough_ns") * 1e-3;
    double hopeless_us = number_of(player, "hopeless_ns") * 1e-3;
    bool hopeless = hopeless_us > 0 && us > hopeless_us;
    bool enough = hopeless || (enough_us > 0 && us > enough_us);
    bool batched = json_is_true(json_object_get(player->request, "batched")) ||
                   us < number_of(player, "short_ns") * 1e-3;
    int count = enough ? 1 : (int)number_of(player, "samples");
    json_t *samples = json_array();
    for (int i = 0; i < count; i++) {
        double noise = (double)(statistics_random(&player->random) % 1000) * 1e-6 - 0.0005;
        json_array_append_new(samples, json_real(us * 1e3 * (hopeless ? 1 : 1 + noise)));
    }
    json_object_update_new(reply,
                           json_pack("{s:o, s:[i, f, f]}", "samples_ns", samples, "sampled",
                                     batched ? SCRIPTED_RUNS : 1, us * 1e3, batched ? 500.0 : 0.0));
}

/* The variant of the request's `id`; NULL if it is not loaded. */
static struct variant *find_variant(struct player *player)
{
    const json_t *id = json_object_get(player->request, "id");
    for (size_t i = 0; i < player->variant_count; i++)
        if (json_is_integer(id) && player->variants[i].id == json_integer_value(id))
            return &player->variants[i];
    return NULL;
}

static const json_t *us_of(const struct player *player)
{
    return json_object_get(json_object_get(player->request, "parameters"), "us");
}

static json_t *load(struct player *player)
{
    if (!player->open || find_variant(player) != NULL || player->variant_count == MOST_VARIANTS)
        return error_message(ERROR_WORKER, "'load' needs an open problem and an 'id' not loaded");
    player->variants[player->variant_count++] =
        (struct variant){(json_int_t)number_of(player, "id"), json_number_value(us_of(player))};
    return describe("loaded");
}

static json_t *not_loaded(const struct player *player)
{
    char text[NAME_BYTES];
    (void)snprintf(text, sizeof text, "variant %g is not loaded", number_of(player, "id"));
    return error_message(ERROR_WORKER, text);
}

static json_t *verify(struct player *player)
{
    if (find_variant(player) == NULL)
        return not_loaded(player);
    return json_pack("{s:s, s:[i]}", "event", "verified", "took_ns", 1000);
}

static json_t *measure(struct player *player)
{
    const struct variant *variant = find_variant(player);
    if (variant == NULL)
        return not_loaded(player);
    json_t *reply = json_pack("{s:s}", "event", "measured");
    add_samples(player, variant->us, reply);
    return reply;
}

static json_t *unload(struct player *player)
{
    struct variant *variant = find_variant(player);
    if (variant == NULL)
        return not_loaded(player);
    *variant = player->variants[--player->variant_count];
    return json_pack("{s:s}", "event", "unloaded");
}

static json_t *try_variant(struct player *player)
{
    if (!player->open)
        return error_message(ERROR_WORKER, "'trial' needs an open problem");
    json_t *reply = describe("tried");
    add_samples(player, json_number_value(us_of(player)), reply);
    json_object_set_new(reply, "took_ns", json_pack("[i, i, i]", 100, 100, 100));
    return reply;
}

static json_t *wait_for_all(struct player *player)
{
    (void)player;
    return json_pack("{s:s}", "event", "waited");
}

static const struct {
    const char *name;
    json_t *(*answer)(struct player *player);
} requests[] = {
    {"compiler", greet_as_compiler},
    {"compile", compile},
    {"device", greet_as_device},
    {"open", open_problem},
    {"load", load},
    {"verify", verify},
    {"measure", measure},
    {"unload", unload},
    {"trial", try_variant},
    {"wait", wait_for_all},
};

/* Whether `name`, "trial@1:us=20", is a request of "trial", "trial:us=20" or "trial@1". A line's end
 * may follow. GPU 0 has no "@0" in names. */
static bool is_of(const char *name, const char *request)
{
    size_t verb = strcspn(request, ":@");
    if (strncmp(name, request, verb) != 0)
        return false;
    long ordinal = name[verb] == '@' ? strtol(name + verb + 1, NULL, 10) : 0;
    const char *rest = name + verb + strcspn(name + verb, ":\n");
    if (strchr(":@\n", name[verb]) == NULL || // NOLINT(readability-suspicious-call-argument)
        (request[verb] == '@' && strtol(request + verb + 1, NULL, 10) != ordinal))
        return false;
    const char *wanted = request + verb + strcspn(request + verb, ":");
    size_t length = strlen(wanted);
    return strncmp(rest, wanted, length) == 0 &&
           (length == 0 || strchr("\n", rest[length]) != NULL);
}

static json_t *answer(struct player *player)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (is_of(player->name, requests[i].name))
            return requests[i].answer(player);
    return error_message(ERROR_WORKER, "unknown request");
}

/* --- what a script makes of it --- */

static long argument_number(const struct player *player)
{
    return strtol(player->argument, NULL, 10);
}

static json_t *die(struct player *player)
{
    _exit((int)argument_number(player));
}

static json_t *raise_signal(struct player *player)
{
    const struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)signal((int)argument_number(player), SIG_DFL);
    (void)kill(getpid(), (int)argument_number(player));
    return NULL;
}

static json_t *hang(struct player *player);

static json_t *be_killed(struct player *player)
{
    if (fork() == 0) {
        (void)kill(getppid(), (int)argument_number(player));
        _exit(0);
    }
    return hang(player);
}

static json_t *hang(struct player *player)
{
    (void)player;
    while (pause() != 0)
        ;
    return NULL;
}

static json_t *be_asked_to_end(struct player *player)
{
    (void)kill(getpid(), (int)argument_number(player));
    return answer(player);
}

static json_t *interrupt(struct player *player)
{
    (void)kill(getppid(), SIGINT);
    return hang(player);
}

static void send_reply(struct player *player, json_t *reply)
{
    (void)channel_send_bytes(&player->channel, reply, player->bytes, player->byte_count, NULL);
    free(player->bytes);
    player->bytes = NULL;
    player->byte_count = 0;
}

static json_t *answer_and_hang(struct player *player)
{
    send_reply(player, answer(player));
    return hang(player);
}

static json_t *be_late(struct player *player)
{
    const struct timespec pause = {.tv_nsec = argument_number(player) * 1000000};
    (void)nanosleep(&pause, NULL);
    return answer(player);
}

static json_t *be_busy(struct player *player)
{
    clock_t end = clock() + argument_number(player) * (CLOCKS_PER_SEC / 1000);
    while (clock() < end)
        ;
    return answer(player);
}

static json_t *say(struct player *player)
{
    (void)!write(player->channel.out, player->argument, strlen(player->argument));
    (void)!write(player->channel.out, "\n", 1);
    return NULL;
}

static json_t *say_half(struct player *player)
{
    char *line = json_dumps(answer(player), JSON_COMPACT);
    (void)!write(player->channel.out, line, strlen(line) / 2);
    return die(player);
}

static json_t *be_slower(struct player *player)
{
    player->slower = strtod(player->argument, NULL);
    json_t *reply = answer(player);
    player->slower = 0;
    return reply;
}

static json_t *merge(struct player *player)
{
    json_t *reply = answer(player);
    json_object_update_new(reply, json_loads(player->argument, 0, NULL));
    return reply;
}

static json_t *put(struct player *player)
{
    char list[NAME_BYTES] = "";
    int value = 0;
    size_t index = 0;
    json_t *reply = answer(player);
    (void)sscanf(player->argument, "%63s %zu %n", list, &index, &value);
    json_array_set_new(json_object_get(reply, list), index,
                       json_loads(player->argument + value, JSON_DECODE_ANY, NULL));
    return reply;
}

static json_t *leave_out(struct player *player)
{
    json_t *reply = answer(player);
    json_object_del(reply, player->argument);
    return reply;
}

static json_t *fail(struct player *player)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:b}", "event", "failed", "outcome", player->argument,
                     "reason", "scripted", "lost", 0, "repairs", 0);
}

static json_t *fail_and_end(struct player *player)
{
    json_t *reply = fail(player);
    json_object_set_new(reply, "lost", json_true());
    player->last = true;
    return reply;
}

static json_t *doubt(struct player *player)
{
    json_t *reply = fail_and_end(player);
    json_object_set_new(reply, "doubtful", json_true());
    return reply;
}

static json_t *fail_and_say(struct player *player)
{
    json_t *reply = fail(player);
    json_object_set_new(reply, "outcome", json_string("wrong_result"));
    json_object_set_new(reply, "repairs", json_true());
    (void)channel_send(&player->channel, reply, NULL);
    return say(player);
}

static json_t *say_error(struct player *player)
{
    return error_message((int)argument_number(player), "scripted");
}

static json_t *compile_to(struct player *player)
{
    return write_entry(player, player->argument, "");
}

static json_t *refuse(struct player *player)
{
    return write_entry(player, NULL, player->argument);
}

static size_t count_requests(const char *request, size_t bytes);

static json_t *be_after(struct player *player)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    char *request;
    size_t wanted = strtoul(player->argument, &request, 10);
    while (count_requests(request + 1, SIZE_MAX) < wanted)
        (void)nanosleep(&pause, NULL);
    return answer(player);
}

/* To add an action: a function above, which returns the reply or NULL, and a line here. */
static const struct {
    const char *name;
    json_t *(*act)(struct player *player);
} actions[] = {
    {"die", die},               /* STATUS: exits */
    {"signal", raise_signal},   /* NUMBER: dies of it, as if by its own fault */
    {"outside", be_killed},     /* NUMBER: another process sends it that */
    {"knock", be_asked_to_end}, /* NUMBER: gets that signal, and answers */
    {"hang", hang},             /* never answers */
    {"interrupt", interrupt},   /* sends the coordinator a Ctrl-C */
    {"deaf", answer_and_hang},  /* answers, and then reads no more */
    {"late", be_late},          /* MS, below 1000: answers then */
    {"after", be_after},        /* COUNT REQUEST: answers once there were so many of that */
    {"busy", be_busy},          /* MS: answers after so much CPU time */
    {"slower", be_slower},      /* FACTOR: what it measures takes that much longer */
    {"say", say},               /* TEXT: that line is the reply */
    {"half", say_half},         /* STATUS: exits in the middle of the reply */
    {"merge", merge},           /* OBJECT: members to add to the reply or to replace in it */
    {"put", put},               /* LIST INDEX VALUE: replaces that element of a list in the reply */
    {"without", leave_out},     /* MEMBER: leaves it out of the reply */
    {"fail", fail},             /* OUTCOME: the variant failed */
    {"lose", fail_and_end},     /* OUTCOME: the variant failed, and the context is lost */
    {"doubt", doubt},           /* OUTCOME: the same, and another variant may be to blame */
    {"repair", fail_and_say},   /* TEXT: the variant damaged the problem; that line follows */
    {"error", say_error},       /* CODE: {"event":"error"} */
    {"refuse", refuse},         /* LOG: the compiler refuses the source */
    {"binary", compile_to},     /* TEXT: that is the cubin */
};

static json_t *act(struct player *player, const char *action)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, action) == 0)
            return actions[i].act(player);
    return error_message(ERROR_CONFIG, "the script has an unknown action");
}

/* --- following the script --- */

/* Requests so far are in the file "requests", a line each. How many of its first `bytes` bytes are
 * lines of this one. */
static size_t count_requests(const char *request, size_t bytes)
{
    size_t count = 0;
    char *log = scratch_read("requests");
    for (const char *line = log; line != NULL && *line != '\0' && (size_t)(line - log) < bytes;
         line = strchr(line, '\n') + 1)
        count += is_of(line, request);
    free(log);
    return count;
}

/* Appends the request; returns the length that the file has then, whoever else is writing. */
static size_t log_request(const char *name)
{
    char *line = alloc_format("%s\n", name);
    int log = open("requests", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    (void)!write(log, line, strlen(line));
    off_t end = lseek(log, 0, SEEK_CUR);
    (void)close(log);
    free(line);
    return (size_t)end;
}

/* Whether "2", "2-4", "2-" or "*" means number `count`. */
static bool is_when(const char *when, size_t count)
{
    char *end;
    size_t first = strtoul(when, &end, 10);
    size_t last = *end != '-' ? first : end[1] != '\0' ? strtoul(end + 1, NULL, 10) : SIZE_MAX;
    return strcmp(when, "*") == 0 || (count >= first && count <= last);
}

static json_t *follow_script(struct player *player)
{
    size_t log_bytes = log_request(player->name);
    char *script = scratch_read("script");
    char *rest = NULL;
    for (char *line = script != NULL ? strtok_r(script, "\n", &rest) : NULL; line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char request[NAME_BYTES];
        char when[NAME_BYTES];
        char action[NAME_BYTES];
        int argument = 0;
        if (sscanf(line, "%63s %63s %63s %n", request, when, action, &argument) == 3 &&
            is_of(player->name, request) && is_when(when, count_requests(request, log_bytes))) {
            player->argument = line + argument;
            return act(player, action);
        }
    }
    return answer(player);
}

/* "20" of the option -DUS=20; NULL if there is none. */
static const char *defined_us(const struct player *player)
{
    static const char definition[] = "-DUS=";
    size_t index;
    json_t *option;
    json_array_foreach(json_object_get(player->request, "options"), index, option)
    {
        const char *text = json_string_value(option);
        if (text != NULL && strncmp(text, definition, sizeof definition - 1) == 0)
            return text + sizeof definition - 1;
    }
    return NULL;
}

static void serve(struct player *player, const char *name, const json_t *request)
{
    player->request = request;
    const char *defined = defined_us(player);
    const struct variant *variant = find_variant(player);
    const json_t *us = us_of(player);
    char gpu[16] = "";
    if (player->ordinal > 0)
        (void)snprintf(gpu, sizeof gpu, "@%d", player->ordinal);
    if (defined != NULL)
        (void)snprintf(player->name, sizeof player->name, "%s:us=%s", name, defined);
    else if (us != NULL || variant != NULL)
        (void)snprintf(player->name, sizeof player->name, "%s%s:us=%g", name, gpu,
                       us != NULL ? json_number_value(us) : variant->us);
    else
        (void)snprintf(player->name, sizeof player->name, "%s%s", name, gpu);
    json_t *reply = follow_script(player);
    if (reply != NULL)
        send_reply(player, reply);
}

int scripted_worker_main(char **argv)
{
    struct player player = {.random = 0x9e3779b97f4a7c15u};
    json_t *request;
    worker_enter(false);
    if (strcmp(argv[2], "device") == 0 && argv[3] != NULL)
        player.ordinal = (int)strtol(argv[3], NULL, 10);
    channel_init(&player.channel, STDIN_FILENO, STDOUT_FILENO);
    serve(&player, strcmp(argv[2], "compile") == 0 ? "compiler" : "device", NULL);
    while (!player.last && channel_receive(&player.channel, &request, NULL) == 1) {
        const char *name = json_string_value(json_object_get(request, "do"));
        serve(&player, name != NULL ? name : "", request);
    }
    _exit(0); /* what it leaks is not what is tested */
}

/* --- in the test --- */

void scripted_worker_script(const char *lines)
{
    if (scratch_write("script", lines) != 0)
        abort();
}

size_t scripted_worker_count(const char *request)
{
    return count_requests(request, SIZE_MAX);
}

char *scripted_worker_order(const char *request)
{
    char *log = scratch_read("requests");
    char *order = alloc_string("");
    char *rest = NULL;
    for (char *line = log != NULL ? strtok_r(log, "\n", &rest) : NULL; line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *us = strchr(line, '=');
        if (!is_of(line, request) || us == NULL)
            continue;
        char *longer = alloc_format("%s%s%s", order, order[0] != '\0' ? " " : "", us + 1);
        free(order);
        order = longer;
    }
    free(log);
    return order;
}
