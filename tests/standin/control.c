/* What $AUTOTUNE_STANDIN asks for, the count of calls, the log, and the faults on demand. */
#include "standin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct control common;                 /* of what is asked before a device is chosen */
static struct control of_device[DEVICES_MAX]; /* with what is set for each alone */
static struct control *settings = &common;    /* what is being set */
static int chosen = -1;                       /* this process's device; -1: none yet */
static bool settings_read;

#define CONTEXTS_MAX 64

/* Shared between processes where there is a state file, which starts out as zeros. */
static struct shared {
    uint64_t counters[CALL_COUNT];
    uint64_t device_counters[DEVICES_MAX][CALL_COUNT];
    struct {
        int pid; /* 0: free; of a process that may have died since */
        int device;
        uint64_t used_bytes;
    } contexts[CONTEXTS_MAX];
} * shared;

static const char *const call_names[CALL_COUNT] = {"any",
#define X(function, version) #function,
                                                   DRIVER_FUNCTIONS(X)
#undef X
};

static void refuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("stand-in driver: AUTOTUNE_STANDIN: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(99);
}

static enum call call_from_name(const char *name)
{
    for (int call = 0; call < CALL_COUNT; call++)
        if (strcmp(name, call_names[call]) == 0)
            return (enum call)call;
    refuse("'%s' is no entry point of DRIVER_FUNCTIONS", name);
}

static double number(const char *key, const char *text)
{
    char *end;
    errno = 0;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0)
        refuse("'%s = %s' is no number", key, text);
    return x;
}

static int64_t integer(const char *key, const char *text)
{
    char *end;
    errno = 0;
    long long x = strtoll(text, &end, 0);
    if (end == text || *end != '\0' || errno != 0)
        refuse("'%s = %s' is no whole number", key, text);
    return x;
}

static void copy_text(const char *key, const char *text, char *buffer, size_t bytes)
{
    int length = snprintf(buffer, bytes, "%s", text);
    if (length < 0 || (size_t)length >= bytes)
        refuse("the value of '%s' is too long", key);
}

/* CALL:N:ACTION, N a number, `N+` (from N on) or `*`, ACTION `hang`, `kill`, `sleepMS` or an
 * error's name or number */
static void read_fault(const char *text)
{
    if (settings->fault_count == FAULTS_MAX)
        refuse("more than %d faults", FAULTS_MAX);
    struct fault *fault = &settings->faults[settings->fault_count++];
    fault->device = -1;
    char copy[256];
    copy_text("fault", text, copy, sizeof copy);
    char *rest = copy;
    char *call = strsep(&rest, ":");
    char *which = strsep(&rest, ":");
    char *action = rest;
    if (which == NULL || action == NULL)
        refuse("'fault = %s' is not CALL:N:ACTION", text);

    fault->call = call_from_name(call);
    size_t length = strlen(which);
    bool onwards = length > 1 && which[length - 1] == '+';
    if (onwards)
        which[length - 1] = '\0';
    bool all = strcmp(which, "*") == 0;
    fault->first = all ? 1 : (uint64_t)integer("fault", which);
    fault->last = all || onwards ? UINT64_MAX : fault->first;

    if (strcmp(action, "hang") == 0) {
        fault->action = FAULT_HANG;
    } else if (strcmp(action, "kill") == 0) {
        fault->action = FAULT_KILL;
    } else if (strncmp(action, "sleep", 5) == 0) {
        fault->action = FAULT_SLEEP;
        fault->ms = integer("fault", action + 5);
    } else {
        fault->action = FAULT_ERROR;
        fault->error = driver_error(action);
        if (fault->error == CUDA_SUCCESS)
            fault->error = (CUresult)integer("fault", action);
    }
}

static void read_entry_time(const char *entry, const char *value)
{
    struct time_model *time = &settings->time;
    if (time->entry_count == ENTRY_TIMES_MAX)
        refuse("more than %d entries with times of their own", ENTRY_TIMES_MAX);
    copy_text("time", entry, time->entries[time->entry_count].entry, sizeof time->entries[0].entry);
    time->entries[time->entry_count++].base_ns = number("time", value);
}

/* PERIOD_MS:LENGTH_MS:FACTOR */
static void read_throttle(const char *text)
{
    char copy[128];
    copy_text("throttle", text, copy, sizeof copy);
    char *rest = copy;
    char *period = strsep(&rest, ":");
    char *length = strsep(&rest, ":");
    if (length == NULL || rest == NULL)
        refuse("'throttle = %s' is not PERIOD_MS:LENGTH_MS:FACTOR", text);
    settings->time.throttle_period_ms = number("throttle", period);
    settings->time.throttle_length_ms = number("throttle", length);
    settings->time.throttle_factor = number("throttle", rest);
}

/* PID:PID:... */
static void read_processes(const char *text)
{
    char copy[512];
    copy_text("processes", text, copy, sizeof copy);
    char *rest = copy;
    for (char *pid; (pid = strsep(&rest, ":")) != NULL;) {
        if (settings->process_count == PROCESSES_MAX)
            refuse("more than %d processes", PROCESSES_MAX);
        settings->processes[settings->process_count++] = (unsigned)integer("processes", pid);
    }
}

/* What is one number, of the type of its member. */
static bool set_number(const char *key, const char *value)
{
#define X(member) {#member, &settings->member, sizeof settings->member},
#define T(member) {#member, &settings->time.member, 0},
    const struct {
        const char *key;
        void *target;
        size_t bytes; /* 0: a double */
    } numbers[] = {
        X(devices) X(compute_capability) X(sm_count) X(l2_bytes) X(memory_bytes) X(memory_taken)
            X(driver_version) X(nvml) X(sm_clock_mhz) X(throttle_reasons) X(throttled_readings)
                X(pid_offset) X(first_uuid) X(unhidden) T(base_ns) T(best_block) T(best_grid)
                    T(steepness) T(element_ns) T(noise) T(drift) T(placement)
                        T(addresses){"seed", &settings->time.seed, sizeof settings->time.seed}};
#undef X
#undef T
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(key, numbers[i].key) != 0)
            continue;
        if (numbers[i].bytes == 0)
            *(double *)numbers[i].target = number(key, value);
        else if (numbers[i].bytes == sizeof(bool))
            *(bool *)numbers[i].target = integer(key, value) != 0;
        else if (numbers[i].bytes == sizeof(int))
            *(int *)numbers[i].target = (int)integer(key, value);
        else
            *(int64_t *)numbers[i].target = integer(key, value);
        return true;
    }
    return false;
}

static void read_missing(const char *text)
{
    settings->missing = call_from_name(text);
}

static void set_one(const char *key, const char *value)
{
    struct control *own = settings;
    const struct {
        const char *key;
        char *text;
        size_t bytes;
    } texts[] = {{"name", own->name, sizeof own->name},
                 {"driver_build", own->driver_build, sizeof own->driver_build},
                 {"note", own->note, sizeof own->note},
                 {"log", own->log, sizeof own->log},
                 {"state", own->state, sizeof own->state}};
    static const struct {
        const char *key;
        void (*read)(const char *value);
    } lists[] = {{"missing", read_missing},
                 {"processes", read_processes},
                 {"throttle", read_throttle},
                 {"fault", read_fault}};
    bool known = set_number(key, value);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0) {
            copy_text(key, value, texts[i].text, texts[i].bytes);
            known = true;
        }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(key, lists[i].key) == 0) {
            lists[i].read(value);
            known = true;
        }
    if (strncmp(key, "time.", 5) == 0)
        read_entry_time(key + 5, value);
    else if (!known)
        refuse("unknown key '%s'", key);
}

/* "KEY" is for every device, "1.KEY" for device 1. */
static void set(const char *key, const char *value)
{
    char *end;
    long device = strtol(key, &end, 10);
    bool alone = end != key && *end == '.' && device >= 0 && device < DEVICES_MAX;
    for (int i = alone ? (int)device : -1; i < (alone ? (int)device + 1 : DEVICES_MAX); i++) {
        settings = i < 0 ? &common : &of_device[i];
        set_one(alone ? end + 1 : key, value);
        if (alone && strcmp(end + 1, "fault") == 0)
            settings->faults[settings->fault_count - 1].device = i;
    }
    settings = &common;
}

static char *trim(char *text)
{
    text += strspn(text, " \t\r\n");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
        text[--length] = '\0';
    return text;
}

static void set_pair(char *pair)
{
    pair = trim(pair);
    if (*pair == '\0' || *pair == '#')
        return;
    char *equals = strchr(pair, '=');
    if (equals == NULL)
        refuse("'%s' is not KEY = VALUE", pair);
    *equals = '\0';
    set(trim(pair), trim(equals + 1));
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        refuse("cannot open '%s': %s", path, strerror(errno));
    char *line = NULL;
    size_t bytes = 0;
    while (getline(&line, &bytes, file) >= 0)
        set_pair(line);
    free(line);
    fclose(file);
    if (settings->state[0] == '\0') {
        int length = snprintf(settings->state, sizeof settings->state, "%s.state", path);
        if (length < 0 || (size_t)length >= sizeof settings->state)
            refuse("the path '%s' is too long", path);
    }
}

static void read_pairs(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL)
        refuse("out of memory");
    char *rest = copy;
    for (char *pair; (pair = strsep(&rest, ",")) != NULL;)
        set_pair(pair);
    free(copy);
}

/* Of the state file where there is one. */
static struct shared *map_shared(const char *path)
{
    const size_t bytes = sizeof(struct shared);
    void *page = MAP_FAILED;
    if (path[0] == '\0') {
        page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    } else {
        int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
            refuse("cannot make the state file '%s': %s", path, strerror(errno));
        page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
    }
    if (page == MAP_FAILED)
        refuse("cannot map the state: %s", strerror(errno));
    return page;
}

__attribute__((destructor)) static void unmap_shared(void)
{
    if (shared != NULL)
        munmap(shared, sizeof *shared);
    shared = NULL;
}

static const struct control defaults = {
    .devices = 1,
    .name = "Stand-in H200",
    .compute_capability = 90,
    .sm_count = 132,
    .l2_bytes = 60 << 20,
    .memory_bytes = (int64_t)4 << 30,
    .driver_version = 13000,
    .driver_build = "580.95.05",
    .missing = CALL_ANY,
    .nvml = true,
    .sm_clock_mhz = 1980,
    .throttle_reasons = 0x4,
    .time = {.base_ns = 10000,
             .best_block = 256,
             .best_grid = 64,
             .steepness = 0.05,
             .element_ns = 0.002,
             .noise = 0.005,
             .throttle_factor = 1},
};

static void read_settings(void)
{
    common = defaults;
    for (int i = 0; i < DEVICES_MAX; i++)
        of_device[i] = defaults;
    const char *value = getenv("AUTOTUNE_STANDIN");
    struct stat status;
    if (value != NULL && stat(value, &status) == 0)
        read_file(value);
    else if (value != NULL)
        read_pairs(value);
    if (common.devices < 0 || common.devices > DEVICES_MAX)
        refuse("devices is 0 to %d", DEVICES_MAX);
    shared = map_shared(common.state);
    settings_read = true;
}

const struct control *control_of(int device)
{
    if (!settings_read)
        read_settings();
    return device >= 0 && device < DEVICES_MAX ? &of_device[device] : &common;
}

const struct control *control(void)
{
    return control_of(chosen);
}

int control_choose(int device)
{
    int before = chosen;
    chosen = device;
    return before;
}

void control_uuid(int device, char text[UUID_BYTES])
{
    (void)snprintf(text, UUID_BYTES, "GPU-");
    for (int i = 0; i < 16; i++) {
        size_t length = strlen(text);
        const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        (void)snprintf(text + length, UUID_BYTES - length, "%s%02x", dash,
                       (i + device + control()->first_uuid) & 0xff);
    }
}

/* In one write, so that processes do not mix. */
void control_note(const char *format, ...)
{
    const char *path = control()->log;
    char line[160];
    if (path[0] == '\0')
        return;
    int start = snprintf(line, sizeof line, "%ld ", (long)getpid());
    va_list arguments;
    va_start(arguments, format);
    int length = start + vsnprintf(line + start, sizeof line - (size_t)start, format, arguments);
    va_end(arguments);
    if ((size_t)length + 1 >= sizeof line)
        refuse("a line of the log is too long");
    line[length++] = '\n';
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || write(file, line, (size_t)length) != length)
        refuse("cannot write the log '%s': %s", path, strerror(errno));
    close(file);
}

CUresult control_call(enum call call)
{
    const struct control *asked = control();
    uint64_t any = __atomic_add_fetch(&shared->counters[CALL_ANY], 1, __ATOMIC_RELAXED);
    uint64_t own = __atomic_add_fetch(&shared->counters[call], 1, __ATOMIC_RELAXED);
    uint64_t here_any = any;
    uint64_t here = own;
    if (chosen >= 0) {
        uint64_t *counters = shared->device_counters[chosen];
        here_any = __atomic_add_fetch(&counters[CALL_ANY], 1, __ATOMIC_RELAXED);
        here = __atomic_add_fetch(&counters[call], 1, __ATOMIC_RELAXED);
    }
    const struct fault *found = NULL;
    for (size_t i = 0; i < asked->fault_count && found == NULL; i++) {
        const struct fault *fault = &asked->faults[i];
        uint64_t count = fault->device < 0 ? (fault->call == CALL_ANY ? any : own)
                                           : (fault->call == CALL_ANY ? here_any : here);
        if ((fault->call == CALL_ANY || fault->call == call) && count >= fault->first &&
            count <= fault->last)
            found = fault;
    }
    static const char *const ends[] = {[FAULT_ERROR] = " error",
                                       [FAULT_HANG] = " hang",
                                       [FAULT_KILL] = " kill",
                                       [FAULT_SLEEP] = " sleep"};
    control_note("%s%s", call_names[call], found == NULL ? "" : ends[found->action]);
    if (found == NULL)
        return CUDA_SUCCESS;
    if (found->action == FAULT_KILL)
        raise(SIGKILL);
    while (found->action == FAULT_HANG)
        pause();
    if (found->action == FAULT_SLEEP) {
        struct timespec time = {.tv_sec = found->ms / 1000, .tv_nsec = found->ms % 1000 * 1000000};
        while (nanosleep(&time, &time) != 0)
            ;
        return CUDA_SUCCESS;
    }
    return found->error;
}

/* --- contexts --- */

/* One that is dead and not waited for yet holds nothing any more: it has no executable. */
static bool is_alive(int pid)
{
    char path[32];
    char target[1];
    (void)snprintf(path, sizeof path, "/proc/%d/exe", pid);
    return readlink(path, target, sizeof target) > 0;
}

/* Of this process; makes one where there is none, unless the table is full. */
static size_t own_context(int device)
{
    int own = (int)getpid();
    for (size_t i = 0; i < CONTEXTS_MAX; i++)
        if (shared->contexts[i].pid == own && shared->contexts[i].device == device)
            return i;
    for (size_t i = 0; i < CONTEXTS_MAX; i++) {
        int pid = __atomic_load_n(&shared->contexts[i].pid, __ATOMIC_RELAXED);
        if (pid != 0 && is_alive(pid))
            continue;
        if (!__atomic_compare_exchange_n(&shared->contexts[i].pid, &pid, own, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        shared->contexts[i].device = device;
        shared->contexts[i].used_bytes = 0;
        return i;
    }
    refuse("more than %d contexts", CONTEXTS_MAX);
}

void control_note_context(int device, size_t used_bytes)
{
    if (shared != NULL) /* the process is ending */
        shared->contexts[own_context(device)].used_bytes = used_bytes;
}

void control_forget_context(int device)
{
    shared->contexts[own_context(device)].pid = 0;
}

size_t control_other_contexts(int device, size_t *used_bytes, unsigned *pids, size_t room)
{
    size_t count = 0;
    *used_bytes = 0;
    for (size_t i = 0; i < CONTEXTS_MAX; i++) {
        int pid = shared->contexts[i].pid;
        if (pid == 0 || pid == (int)getpid() || shared->contexts[i].device != device ||
            !is_alive(pid))
            continue;
        *used_bytes += shared->contexts[i].used_bytes;
        if (count < room)
            pids[count++] = (unsigned)pid;
    }
    return count;
}
