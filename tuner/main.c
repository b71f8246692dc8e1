#include "command/command.h"

#include "base/json_text.h"
#include "base/suggestion.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int command_help(int argc, const char **argv, struct error *error);

/* To add a command: a line here; command.h lists the other steps. */
static const struct command {
    const char *name;
    int (*run)(int argc, const char **argv, struct error *error);
    const char *summary; /* NULL: not for users */
} commands[] = {
    {"tune", command_tune, "tune the kernels of a sweep (the default command)"},
    {"cover", command_cover, "find a few configurations for a whole range of problems"},
    {"check", command_check_sweep, "check a sweep and print its search space"},
    {"run", command_run, "run, verify and time one variant"},
    {"devices", command_devices, "list the GPUs"},
    {"report", command_report, "print the stored results again, or write them as a page"},
    {"compare", command_compare, "print what changed between two results, beyond noise"},
    {"explain", command_explain, "print which configuration an application would get, and why"},
    {"export", command_export, "write tuned configurations as a C header, -D options or JSON"},
    {"bundle", command_bundle, "pack tuned configurations, cubins and templates to ship"},
    {"merge", command_merge, "merge tuned INIs, keeping the better of two entries"},
    {"emit", command_emit, "write the source, PTX, cubin or machine code of one variant"},
    {"simulate", command_simulate, "try the search on a space in which every point was measured"},
    {"init", command_init, "write a template and a sweep for kernels of your own"},
    {"import", command_import, "read the spaces and results of other tuners"},
    {"cache", command_cache, "show or empty the cache of compiled variants"},
    {"help", command_help, "show this help, or the help of a command"},
    {"worker", command_worker, NULL},
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_help(void)
{
    puts("Usage: autotune {SWEEP | COMMAND} [OPTION...]\n\n"
         "Finds the fastest correct configuration of CUDA kernels, for each GPU.\n\n"
         "Commands:");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].summary != NULL)
            printf("  %-10s%s\n", commands[i].name, commands[i].summary);
    puts("\n`autotune help COMMAND` lists a command's options, `autotune --version` prints\n"
         "the version, and `man autotune` also describes environment variables and files.\n\n"
         "Exit status: 0 done, 1 nothing valid found (compare: something is slower),\n"
         "2 usage or configuration, 3 device, driver, NVRTC or disassembler,\n"
         "4 a worker, the record or an output file failed, 130 interrupted.\n\n"
         "Example: autotune configs/sweep.ini");
}

/* Returns NULL with `error` set if there is no such command. */
static const struct command *find_command(const char *name, struct error *error)
{
    const char *names[COMMAND_COUNT + 1] = {NULL};
    size_t named = 0;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
        if (commands[i].summary != NULL)
            names[named++] = commands[i].name;
    }
    const char *nearest = suggestion_nearest(name, names);
    if (nearest != NULL)
        (void)error_set(error, ERROR_USAGE,
                        "unknown command '%s'; did you mean '%s'? `autotune --help` lists all",
                        name, nearest);
    else
        (void)error_set(error, ERROR_USAGE, "unknown command '%s'; see `autotune --help`", name);
    return NULL;
}

static int show_help(void *user, struct command_input *input, struct error *error)
{
    char *const *names = input->arguments;
    (void)user;
    if (names[0] == NULL) {
        print_help();
        return 0;
    }
    if (names[1] != NULL)
        return error_set(error, ERROR_USAGE, "unexpected argument '%s'; see `autotune help --help`",
                         names[1]);
    const struct command *command = find_command(names[0], error);
    const char *arguments[] = {names[0], "--help", NULL};
    return command != NULL ? command->run(2, arguments, error) : ERROR_USAGE;
}

static int command_help(int argc, const char **argv, struct error *error)
{
    const struct poptOption table[] = {POPT_TABLEEND};
    const struct command_line line = {table, TAKES_ARGUMENTS,
                                      "help [COMMAND]\n\n"
                                      "Shows the list of commands, or the help of one.\n\n"
                                      "Example: autotune help tune",
                                      show_help, NULL};
    return command_perform(argc, argv, &line, error);
}

/* Whether it is a sweep file rather than a command. */
static bool is_file(const char *name)
{
    struct stat entry;
    const char *end = strrchr(name, '.');
    return (stat(name, &entry) == 0 && S_ISREG(entry.st_mode)) ||
           (end != NULL && strcmp(end, ".ini") == 0);
}

static int run(int argc, const char **argv, struct error *error)
{
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        puts("autotune " AUTOTUNE_VERSION);
        return 0;
    }
    if (argc == 1 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return 0;
    }
    const struct command *command = find_command(argv[1], error);
    if (argv[1][0] == '-' || (command == NULL && is_file(argv[1]))) {
        argv[0] = commands[0].name;
        return commands[0].run(argc, argv, error);
    }
    return command != NULL ? command->run(argc - 1, argv + 1, error) : ERROR_USAGE;
}

int main(int argc, const char **argv)
{
    /* A standard stream that was closed is opened, so that no other file takes its number; for reading
     * only, so that writing to it is still an error. */
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++)
        if (fcntl(number, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != number)
            return error_exit_status(ERROR_RECORD);
    /* A pipe that nobody reads and a file at its size limit (ulimit -f) are errors of the call that
     * writes. Workers inherit this. If the parent ignored SIGCHLD, waitpid() could not say how a worker
     * ended. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL);
    json_text_set_alloc();
    struct error error = {0};
    int status = run(argc, argv, &error);
    if (status < 0 && error.message[0] != '\0')
        error_print(&error, stderr);
    bool failed = fflush(stdout) != 0 || ferror(stdout) != 0;
    int reason = errno;
    struct pollfd output = {.fd = STDOUT_FILENO};
    if (failed && status == 0 && poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) {
        (void)signal(SIGPIPE, SIG_DFL); /* nobody reads on, as with `| head`: it ends quietly */
        (void)raise(SIGPIPE);
    } else if (failed && status == 0) {
        errno = reason;
        status = error_set_errno(&error, ERROR_RECORD, "standard output cannot be written");
        error_print(&error, stderr);
    }
    return error_exit_status(status);
}
