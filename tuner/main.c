#include "command/command.h"

#include <stdio.h>
#include <string.h>

/* To add a command: a line here; command.h lists the other steps. */
static const struct command {
    const char *name;
    int (*run)(int argc, const char **argv, struct error *error);
    const char *summary; /* NULL: not for users */
} commands[] = {
    {"tune", command_tune, "tune the kernels of a sweep (the default command)"},
    {"check", command_check_sweep, "check a sweep and print its search space"},
    {"devices", command_devices, "list the GPUs"},
    {"report", command_report, "print the stored results again"},
    {"explain", command_explain, "say which configuration an application would get, and why"},
    {"export", command_export, "write tuned configurations as a C header or as -D options"},
    {"emit", command_emit, "write the source, PTX or binary of one variant"},
    {"bundle", command_bundle, "pack tuned configurations, cubins and templates to ship"},
    {"merge", command_merge, "merge tuned INIs, keeping the better of two entries"},
    {"compare", command_compare, "say what changed between two results, and whether it is noise"},
    {"worker", command_worker, NULL},
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_help(void)
{
    puts("Usage: autotune [COMMAND] [OPTION...]\n\nFinds the fastest correct configuration of CUDA "
         "kernels, once for each GPU.\n\nCommands:");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].summary != NULL)
            printf("  %-10s%s\n", commands[i].name, commands[i].summary);
    puts("\n`autotune COMMAND --help` lists a command's options.\n\n"
         "Exit status: 0 done, 1 nothing valid found (compare: something is slower), 2 usage or\n"
         "configuration, 3 device, driver, NVRTC or disassembler, 4 a worker, the record or an\n"
         "output file failed, 130 interrupted.\n\n"
         "Example: autotune --config configs/sweep.ini");
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int run(int argc, const char **argv, struct error *error)
{
    const struct command *command = NULL;
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("autotune " AUTOTUNE_VERSION);
        return 0;
    }
    if (argc == 1 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return 0;
    }
    if (argv[1][0] == '-') {
        argv[0] = commands[0].name;
        return commands[0].run(argc, argv, error);
    }
    command = find_command(argv[1]);
    if (command == NULL)
        return error_set(error, ERROR_USAGE, "unknown command '%s'; see `autotune --help`",
                         argv[1]);
    return command->run(argc - 1, argv + 1, error);
}

int main(int argc, const char **argv)
{
    struct error error = {0};
    int status = run(argc, argv, &error);
    if (status < 0 && error.message[0] != '\0')
        error_print(&error, stderr);
    if (fflush(stdout) != 0 && status == 0) {
        status = error_set_errno(&error, ERROR_RECORD, "standard output cannot be written");
        error_print(&error, stderr);
    }
    return error_exit_status(status);
}
