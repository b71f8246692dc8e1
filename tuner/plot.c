#include "plot.h"

#include "alloc.h"
#include "plot_svg.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { LIMIT_MS = 60000, POLL_MS = 2 };

bool plots_possible(void)
{
    const char *path = getenv("PATH");
    char *folders = alloc_string(path != NULL ? path : "/usr/bin:/bin");
    bool found = false;
    char *rest = NULL;
    for (char *folder = strtok_r(folders, ":", &rest); folder != NULL && !found;
         folder = strtok_r(NULL, ":", &rest)) {
        char *program = alloc_format("%s/gnuplot", folder);
        found = access(program, X_OK) == 0;
        free(program);
    }
    free(folders);
    return found;
}

/* -- the script ---------------------------------------------------------------------------------
 */

void plots_init(struct plots *plots)
{
    *plots = (struct plots){0};
    plots->script = open_memstream(&plots->script_text, &plots->script_bytes);
    if (plots->script == NULL)
        abort(); /* out of memory, as in alloc.h */
    fputs("set encoding utf8\n", plots->script);
    plot_svg_write_colours(plots->script);
}

void plots_release(struct plots *plots)
{
    if (plots->script != NULL)
        (void)fclose(plots->script);
    for (size_t i = 0; i < plots->count; i++) {
        free(plots->labels[i]);
        if (plots->svgs != NULL)
            free(plots->svgs[i]);
    }
    free(plots->labels);
    free(plots->svgs);
    free(plots->script_text);
    *plots = (struct plots){0};
}

FILE *plots_add(struct plots *plots, const char *label)
{
    char **slot = ARRAY_APPEND(plots->labels, plots->count);
    *slot = alloc_string(label);
    fprintf(plots->script,
            "unset output\n"
            "reset\n"
            "set terminal svg size %d,%d noenhanced font 'sans-serif,14'\n"
            "set output\n"
            "set border 3 lc rgb c_axis\n"
            "set tics nomirror scale 0.5 textcolor rgb c_muted\n"
            "set grid back lc rgb c_grid lt 1\n"
            "set key off\n",
            PLOT_WIDTH, PLOT_HEIGHT);
    return plots->script;
}

/* -- the process --------------------------------------------------------------------------------
 */

/* Files in memory: the process cannot wait for us, nor we for it, as with pipes. */
struct streams {
    int in, out, err;
};

static void close_streams(const struct streams *streams)
{
    (void)close(streams->in);
    (void)close(streams->out);
    (void)close(streams->err);
}

static int write_all(int descriptor, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(descriptor, text, bytes);
        if (written < 0 && errno != EINTR)
            return -1;
        if (written > 0) {
            text += written;
            bytes -= (size_t)written;
        }
    }
    return lseek(descriptor, 0, SEEK_SET) < 0 ? -1 : 0;
}

/* The whole file from its beginning, as a new string; NULL where it cannot be read. */
static char *read_all(int descriptor)
{
    off_t end = lseek(descriptor, 0, SEEK_END);
    if (end < 0)
        return NULL;
    char *text = alloc_zeroed((size_t)end + 1, 1);
    for (off_t at = 0; at < end;) {
        ssize_t count = pread(descriptor, text + at, (size_t)(end - at), at);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            free(text);
            return NULL;
        }
        at += count > 0 ? count : 0;
    }
    return text;
}

static int open_streams(struct streams *streams, const struct plots *plots, struct error *error)
{
    streams->in = memfd_create("plots", MFD_CLOEXEC);
    streams->out = memfd_create("plots", MFD_CLOEXEC);
    streams->err = memfd_create("plots", MFD_CLOEXEC);
    if (streams->in >= 0 && streams->out >= 0 && streams->err >= 0 &&
        write_all(streams->in, plots->script_text, plots->script_bytes) == 0)
        return 0;
    (void)error_set_errno(error, ERROR_RECORD, "cannot make files in memory for gnuplot");
    close_streams(streams);
    return ERROR_RECORD;
}

static int start(const struct streams *streams, pid_t *process)
{
    char *arguments[] = {(char[]){"gnuplot"}, (char[]){"-d"}, NULL}; /* -d: no ~/.gnuplot */
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, streams->in, STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, streams->out, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, streams->err, STDERR_FILENO);
    int status = posix_spawnp(process, arguments[0], &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return status;
}

/* The exit status as waitpid() gives it; -1 after a minute, the process then being gone. */
static int wait_for(pid_t process)
{
    int status = 0;
    for (int waited_ms = 0; waited_ms < LIMIT_MS; waited_ms += POLL_MS) {
        pid_t ended = waitpid(process, &status, WNOHANG);
        if (ended == process)
            return status;
        if (ended < 0 && errno != EINTR)
            return -1;
        (void)nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
    (void)kill(process, SIGKILL);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    return -1;
}

/* Takes the SVG documents, one behind the other, apart. */
static int take_svgs(struct plots *plots, const char *output, struct error *error)
{
    plots->svgs = alloc_zeroed(plots->count, sizeof *plots->svgs);
    for (size_t i = 0; i < plots->count; i++) {
        const char *begin = strstr(output, "<svg");
        const char *end = begin != NULL ? strstr(begin, "</svg>") : NULL;
        if (end == NULL)
            return error_set(error, ERROR_RECORD, "gnuplot drew %zu plots of %zu", i, plots->count);
        char *svg = alloc_string_n(begin, (size_t)(end - begin));
        plots->svgs[i] = plot_svg_inline(svg, plots->labels[i]);
        free(svg);
        output = end;
    }
    return 0;
}

/* gnuplot's complaint without the blank lines that it begins with. */
static int complain(int descriptor, int status, struct error *error)
{
    if (status == -1)
        return error_set(error, ERROR_RECORD, "gnuplot did not end within a minute");
    char *text = read_all(descriptor);
    const char *complaint = text != NULL ? text + strspn(text, " \t\r\n") : "";
    (void)error_set(error, ERROR_RECORD, "gnuplot failed: %.1000s", complaint);
    free(text);
    return ERROR_RECORD;
}

int plots_draw(struct plots *plots, struct error *error)
{
    struct streams streams;
    pid_t process;
    fputs("unset output\n", plots->script);
    int failed = fclose(plots->script);
    plots->script = NULL;
    if (failed)
        return error_set_errno(error, ERROR_RECORD, "the plots' script cannot be kept");
    if (plots->count == 0)
        return 0;
    int result = open_streams(&streams, plots, error);
    if (result != 0)
        return result;
    int status = start(&streams, &process);
    if (status != 0) {
        result = error_set(error, ERROR_RECORD, "cannot start gnuplot: %s", strerror(status));
    } else {
        status = wait_for(process);
        if (status != 0)
            result = complain(streams.err, status, error);
    }
    char *output = result == 0 ? read_all(streams.out) : NULL;
    if (output != NULL)
        result = take_svgs(plots, output, error);
    else if (result == 0)
        result = error_set(error, ERROR_RECORD, "gnuplot's plots cannot be read");
    free(output);
    close_streams(&streams);
    return result;
}
