#include "command/command_values.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The option called `name`, of `length` bytes, or `letter`; NULL if there is none. */
static const struct poptOption *find_option(const struct poptOption *table, const char *name,
                                            size_t length, char letter)
{
    for (; table->longName != NULL || table->shortName != '\0'; table++) {
        if (name != NULL && table->longName != NULL && strlen(table->longName) == length &&
            memcmp(table->longName, name, length) == 0)
            return table;
        if (name == NULL && table->shortName == letter)
            return table;
    }
    return NULL;
}

static bool takes_argument(const struct poptOption *option)
{
    return (option->argInfo & POPT_ARG_MASK) != POPT_ARG_NONE;
}

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int take_value(struct bindings *values, const char *name, size_t length, const char *text,
                      struct error *error)
{
    struct value value;
    struct value word;
    struct error reason;
    char *copy = alloc_string_n(name, length);
    int status = 0;
    if (value_parse(copy, &word, NULL) != 0 || word.kind != VALUE_WORD)
        status = error_set(error, ERROR_USAGE, "'%s' is neither an option nor the name of a value",
                           copy);
    else if (text == NULL)
        status =
            error_set(error, ERROR_USAGE, "no value for '%s'; write it like --%s 1024", copy, copy);
    else if (value_parse(text, &value, &reason) != 0)
        status = error_set(error, ERROR_USAGE, "value of '%s': %.1000s", copy, reason.message);
    else
        bindings_set(values, copy, value);
    free(copy);
    return status;
}

static void pass(struct command_values *taken, const char *argument)
{
    taken->argv[taken->argc++] = argument;
}

/*
 * Takes argv[*index] and its value as a value of the kernel, or passes them on. Leaves *index at
 * the last argument used.
 */
static int sort_argument(struct command_values *taken, int argc, const char **argv, int *index,
                         const struct poptOption *table, struct error *error)
{
    const char *argument = argv[*index];
    const char *next = *index + 1 < argc ? argv[*index + 1] : NULL;
    bool is_long = strncmp(argument, "--", 2) == 0 && argument[2] != '\0';
    size_t length = is_long ? strcspn(argument + 2, "=") : 0;
    bool joined = is_long ? argument[2 + length] == '=' : strlen(argument) > 2;
    const struct poptOption *option = NULL;
    if (is_long)
        option = find_option(table, argument + 2, length, '\0');
    else if (argument[0] == '-' && argument[1] != '\0')
        option = find_option(table, NULL, 0, argument[1]);
    if (is_long && option == NULL && !is_help(argument)) {
        *index += !joined && next != NULL;
        return take_value(&taken->values, argument + 2, length,
                          joined ? argument + 3 + length : next, error);
    }
    pass(taken, argument);
    if (option != NULL && takes_argument(option) && !joined && next != NULL) {
        pass(taken, next);
        ++*index;
    }
    return 0;
}

int command_values_take(struct command_values *taken, int argc, const char **argv,
                        const struct poptOption *table, struct error *error)
{
    int status = 0;
    *taken = (struct command_values){0};
    taken->argv = alloc_zeroed((size_t)argc + 1, sizeof *taken->argv);
    pass(taken, argv[0]);
    for (int i = 1; i < argc && status == 0; i++)
        status = sort_argument(taken, argc, argv, &i, table, error);
    return status;
}

void command_values_release(struct command_values *taken)
{
    free(taken->argv);
    bindings_release(&taken->values);
    *taken = (struct command_values){0};
}

int command_values_set(struct bindings *values, char *const *settings, struct error *error)
{
    int status = 0;
    for (; settings != NULL && *settings != NULL && status == 0; settings++) {
        size_t length = strcspn(*settings, "=");
        status = take_value(values, *settings, length,
                            (*settings)[length] == '=' ? *settings + length + 1 : NULL, error);
    }
    return status;
}
