/*
 * The commands. To add one: a function in command_NAME.c, its declaration here, a line in main.c's
 * table and, where users see it, a section in README.md.
 */
#ifndef AUTOTUNE_COMMAND_H
#define AUTOTUNE_COMMAND_H

#include "base/error.h"
#include "report/report.h"
#include "template/sweep.h"

#include <limits.h>
#include <popt.h>
#include <stdbool.h>
#include <stddef.h>

enum { JOBS_ALL = INT_MIN }; /* --jobs was not given: one worker a core */

/* Options of all commands; each command's table names those it takes. Strings are popt's and live
 * on. */
struct command_options {
    char *config;
    char *arch;
    char *tuned;
    char *results;
    char *format;
    char *output;
    char **kernels; /* --kernel, ended by NULL */
    int device;
    int jobs;
    int quiet;
    int remeasure;
    int timings;
    int sass;
    int exhaustive;
    int no_wait;
    int allow_path;
    int top;
};

/* Frees what popt allocated. */
void command_options_release(struct command_options *options);

/* Every option once, for the commands' tables. */
#define OPTION_CONFIG(o)                                                                           \
    {                                                                                              \
        "config", 'c', POPT_ARG_STRING, &(o)->config, 0, "the sweep file", "FILE"                  \
    }
#define OPTION_ARCH(o)                                                                             \
    {                                                                                              \
        "arch", 'a', POPT_ARG_STRING, &(o)->arch, 0,                                               \
            "static mode: compile for this architecture and report; no GPU, no timing, no tuned "  \
            "INI",                                                                                 \
            "sm_XX"                                                                                \
    }
#define OPTION_DEVICE(o)                                                                           \
    {                                                                                              \
        "device", 'd', POPT_ARG_INT | POPT_ARGFLAG_SHOW_DEFAULT, &(o)->device, 0,                  \
            "the GPU, counted from 0", "N"                                                         \
    }
#define OPTION_JOBS(o)                                                                             \
    {                                                                                              \
        "jobs", 'j', POPT_ARG_INT, &(o)->jobs, 0, "compile workers (default: one a core)", "N"     \
    }
#define OPTION_TUNED(o)                                                                            \
    {                                                                                              \
        "tuned", 't', POPT_ARG_STRING, &(o)->tuned, 0,                                             \
            "the tuned INI (default: the sweep's, or results/tuned.ini)", "FILE"                   \
    }
#define OPTION_RESULTS(o)                                                                          \
    {                                                                                              \
        "results", 'r', POPT_ARG_STRING, &(o)->results, 0,                                         \
            "the folder of the record and the reports (default: the sweep's, or results)", "DIR"   \
    }
#define OPTION_KERNEL(o)                                                                           \
    {                                                                                              \
        "kernel", 'k', POPT_ARG_ARGV, &(o)->kernels, 0, "only this kernel; may be repeated",       \
            "NAME"                                                                                 \
    }
#define OPTION_FORMAT(o)                                                                           \
    {                                                                                              \
        "format", 'f', POPT_ARG_STRING, &(o)->format, 0,                                           \
            "table, csv, json, html or t4 (default: table)", "F"                                   \
    }
#define OPTION_OUTPUT(o)                                                                           \
    {                                                                                              \
        "output", 'o', POPT_ARG_STRING, &(o)->output, 0,                                           \
            "write this file, or into this folder/ a file for each study (html: for each kernel)", \
            "PATH"                                                                                 \
    }
#define OPTION_TOP(o)                                                                              \
    {                                                                                              \
        "top", 'n', POPT_ARG_INT, &(o)->top, 0,                                                    \
            "rows of a table (default: 10, in static mode all)", "N"                               \
    }
#define OPTION_QUIET(o)                                                                            \
    {                                                                                              \
        "quiet", 'q', POPT_ARG_NONE, &(o)->quiet, 0, "no progress on stderr", NULL                 \
    }
#define OPTION_REMEASURE(o)                                                                        \
    {                                                                                              \
        "remeasure", 0, POPT_ARG_NONE, &(o)->remeasure, 0,                                         \
            "measure again what the record has already", NULL                                      \
    }
#define OPTION_EXHAUSTIVE(o)                                                                       \
    {                                                                                              \
        "exhaustive", 0, POPT_ARG_INT, &(o)->exhaustive, 0,                                        \
            "every variant takes part in N rounds of finals, of 3 samples each: slow, for "        \
            "judging tuners",                                                                      \
            "N"                                                                                    \
    }
#define OPTION_NO_WAIT(o)                                                                          \
    {                                                                                              \
        "no-wait", 0, POPT_ARG_NONE, &(o)->no_wait, 0,                                             \
            "end at once where another run is using the GPU (default: wait for it)", NULL          \
    }
#define OPTION_ALLOW_PATH(o)                                                                       \
    {                                                                                              \
        "allow-path", 0, POPT_ARG_NONE, &(o)->allow_path, 0,                                       \
            "let the sweep and its templates name files anywhere: only where you trust them", NULL \
    }
#define OPTION_SASS(o)                                                                             \
    {                                                                                              \
        "sass", 0, POPT_ARG_NONE, &(o)->sass, 0,                                                   \
            "with --arch: also count the instructions of each variant (loads by width, barriers, " \
            "atomics); needs nvdisasm or cuobjdump",                                               \
            NULL                                                                                   \
    }
#define OPTION_TIMINGS(o)                                                                          \
    {                                                                                              \
        "timings", 0, POPT_ARG_NONE, &(o)->timings, 0, "say on stderr where the time went", NULL   \
    }

/*
 * Parses a command's arguments by its table. Returns 0; 1 where --help was asked for and printed;
 * ERROR_USAGE for an unknown option, a bad number, or an argument left over.
 */
int command_parse(int argc, const char **argv, const struct poptOption *options,
                  const char *summary, struct error *error);

/* The same for a command that takes arguments: they go to `*arguments`, a new array ended by NULL,
 * whatever is returned. */
int command_parse_arguments(int argc, const char **argv, const struct poptOption *options,
                            const char *summary, char ***arguments, struct error *error);
void command_arguments_release(char **arguments); /* NULL is allowed */

/* Checks what the commands share: --config is there (where `needs_config`), --format is one. */
int command_check(const struct command_options *options, bool needs_config,
                  enum report_format *format, struct error *error);

/* Loads --config's sweep with --kernel's choice, and checks the paths in it (paths.h). */
int command_load_sweep(const struct command_options *options, struct sweep *sweep,
                       struct error *error);

/* Each returns 0 or the error's code; `argv[0]` is the command's name. */
int command_tune(int argc, const char **argv, struct error *error);
int command_check_sweep(int argc, const char **argv, struct error *error);
int command_devices(int argc, const char **argv, struct error *error);
int command_report(int argc, const char **argv, struct error *error);
int command_explain(int argc, const char **argv, struct error *error);
int command_export(int argc, const char **argv, struct error *error);
int command_emit(int argc, const char **argv, struct error *error);
int command_bundle(int argc, const char **argv, struct error *error);
int command_merge(int argc, const char **argv, struct error *error);
int command_compare(int argc, const char **argv, struct error *error);
int command_worker(int argc, const char **argv, struct error *error);

#endif
