#include "base/error.h"

#include <errno.h>
#include <string.h>

static int set_formatted(struct error *error, enum error_code code, const char *file, int line,
                         const char *format, va_list arguments)
{
    if (error == NULL)
        return code;
    error->code = code;
    error->line = line;
    (void)snprintf(error->file, sizeof error->file, "%s", file);
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    return code;
}

int error_set(struct error *error, enum error_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = set_formatted(error, code, "", 0, format, arguments);
    va_end(arguments);
    return result;
}

int error_set_at(struct error *error, enum error_code code, const char *file, int line,
                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = set_formatted(error, code, file, line, format, arguments);
    va_end(arguments);
    return result;
}

int error_set_errno(struct error *error, enum error_code code, const char *format, ...)
{
    int number = errno;
    va_list arguments;
    va_start(arguments, format);
    int result = set_formatted(error, code, "", 0, format, arguments);
    va_end(arguments);
    if (error != NULL) {
        size_t used = strlen(error->message);
        (void)snprintf(error->message + used, sizeof error->message - used, ": %s",
                       error_reason(number));
    }
    return result;
}

const char *error_reason(int number)
{
    switch (number) {
    case EMFILE:
        return "too many open files; raise the limit with 'ulimit -n 1024'";
    case ENFILE:
        return "too many open files in the whole system; close programs, or raise the limit with "
               "'sysctl fs.file-max'";
    default:
        return strerror(number);
    }
}

bool error_is_file_limit(int number)
{
    return number == EMFILE || number == ENFILE;
}

void error_print(const struct error *error, FILE *stream)
{
    fputs("autotune: ", stream);
    if (error->file[0] != '\0') {
        fprintf(stream, "%s:", error->file);
        if (error->line > 0)
            fprintf(stream, "%d:", error->line);
        fputc(' ', stream);
    }
    fprintf(stream, "%s\n", error->message);
}

char *error_text(const struct error *error, char text[ERROR_TEXT_BYTES])
{
    const char *slash = strrchr(error->file, '/');
    const char *name = slash != NULL ? slash + 1 : error->file;
    if (error->file[0] == '\0')
        (void)snprintf(text, ERROR_TEXT_BYTES, "%.1000s", error->message);
    else if (error->line > 0)
        (void)snprintf(text, ERROR_TEXT_BYTES, "%.100s:%d: %.850s", name, error->line,
                       error->message);
    else
        (void)snprintf(text, ERROR_TEXT_BYTES, "%.100s: %.850s", name, error->message);
    return text;
}

int error_exit_status(int code)
{
    static const int statuses[] = {
#define X(name, value, status, text) [-(value)] = (status),
        ERROR_CODES(X)
#undef X
    };
    const int count = sizeof statuses / sizeof *statuses;
    return code <= 0 && code > -count ? statuses[-code] : 4;
}
