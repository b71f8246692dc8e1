#include "base/channel.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/json_text.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, LINE_LIMIT = 64 * 1024 * 1024 };

void channel_init(struct channel *channel, int in, int out)
{
    *channel = (struct channel){.in = in, .out = out};
}

void channel_release(struct channel *channel)
{
    if (channel->in >= 0)
        (void)close(channel->in);
    if (channel->out >= 0 && channel->out != channel->in)
        (void)close(channel->out);
    free(channel->buffer);
    *channel = (struct channel){.in = -1, .out = -1};
}

/* send() with MSG_NOSIGNAL to a socket; write() to anything else, such as a terminal. */
static ssize_t write_some(int out, const char *bytes, size_t count)
{
    ssize_t written = send(out, bytes, count, MSG_NOSIGNAL);
    return written < 0 && errno == ENOTSOCK ? write(out, bytes, count) : written;
}

int channel_write(const struct channel *channel, const char *bytes, size_t count,
                  struct error *error)
{
    int status = 0;
    for (size_t sent = 0; sent < count && status == 0;) {
        ssize_t written = write_some(channel->out, bytes + sent, count - sent);
        if (written >= 0)
            sent += (size_t)written;
        else if (errno != EINTR || interrupt_requested())
            status = error_set_errno(error, ERROR_WORKER, "cannot write to the other process");
    }
    return status;
}

char *channel_line(json_t *message)
{
    json_t *figures = json_incref(json_object_get(message, "figures"));
    const char *text = json_string_value(figures);
    if (text != NULL)
        (void)json_object_del(message, "figures");
    char *object = json_dumps(message, JSON_COMPACT);
    char *line = object == NULL ? NULL
                 : text == NULL ? alloc_format("%s\n", object)
                                : alloc_format("%s\t%s\n", object, text);
    free(object);
    json_decref(figures);
    json_decref(message);
    return line;
}

int channel_send(struct channel *channel, json_t *message, struct error *error)
{
    char *line = channel_line(message);
    if (line == NULL) {
        errno = EILSEQ;
        return error_set(error, ERROR_WORKER, "cannot send a message: its text is not UTF-8");
    }
    int status = channel_write(channel, line, strlen(line), error);
    int number = errno;
    free(line);
    errno = number;
    return status;
}

int channel_fill(struct channel *channel, struct error *error)
{
    if (channel->capacity - channel->used < READ_BYTES) {
        channel->capacity = channel->used + READ_BYTES > 2 * channel->capacity
                                ? channel->used + READ_BYTES
                                : 2 * channel->capacity;
        channel->buffer = alloc_resize(channel->buffer, channel->capacity, 1);
    }
    for (;;) {
        ssize_t count =
            read(channel->in, channel->buffer + channel->used, channel->capacity - channel->used);
        if (count > 0) {
            channel->used += (size_t)count;
            return 1;
        }
        if (count == 0 || errno == ECONNRESET)
            return 0;
        if (errno != EINTR)
            return error_set_errno(error, ERROR_WORKER, "cannot read from the other process");
    }
}

/* Reads a line without its end; NULL with the reason if it is not JSON, but for the figures behind it. */
static json_t *read_line(const char *line, size_t length, json_error_t *reason)
{
    const char *tab = memchr(line, '\t', length);
    bool figures = tab != NULL && tab > line && tab[-1] == '}';
    json_t *message = json_loadb(line, figures ? (size_t)(tab - line) : length, 0, reason);
    if (figures && json_is_object(message))
        (void)json_object_set_new(message, "figures",
                                  json_stringn(tab + 1, length - (size_t)(tab + 1 - line)));
    return message;
}

int channel_next(struct channel *channel, json_t **message, struct error *error)
{
    *message = NULL;
    char *newline = channel->used > 0 ? memchr(channel->buffer, '\n', channel->used) : NULL;
    if (newline == NULL)
        return channel->used < LINE_LIMIT
                   ? 0
                   : error_set(error, ERROR_WORKER, "a message is longer than 64 MiB");
    size_t length = (size_t)(newline - channel->buffer);
    if (length > LINE_LIMIT)
        return error_set(error, ERROR_WORKER, "a message is longer than 64 MiB");
    json_error_t reason;
    *message = read_line(channel->buffer, length, &reason);
    channel->used -= length + 1;
    memmove(channel->buffer, newline + 1, channel->used);
    if (*message == NULL)
        return error_set(error, ERROR_WORKER, "a message is not JSON: %s at column %d", reason.text,
                         reason.column);
    if (!json_is_object(*message)) {
        json_decref(*message);
        *message = NULL;
        return error_set(error, ERROR_WORKER, "a message is not a JSON object");
    }
    return 1;
}

int channel_receive(struct channel *channel, json_t **message, struct error *error)
{
    for (;;) {
        int status = channel_next(channel, message, error);
        if (status != 0)
            return status;
        status = channel_fill(channel, error);
        if (status != 1)
            return status;
    }
}

/* Waits until there is something to read. Returns 1; 0 at `until_ns`; or ERROR_INTERRUPTED or
 * ERROR_WORKER. */
static int await_bytes(const struct channel *channel, int64_t until_ns, struct error *error)
{
    struct pollfd readable = {.fd = channel->in, .events = POLLIN};
    int ready = -1;
    while (ready < 0) {
        int64_t left_ns = until_ns - clock_ns();
        ready = interrupt_poll(&readable, 1, left_ns > 0 ? left_ns : 0);
        if (ready < 0 && errno != EINTR)
            return error_set_errno(error, ERROR_WORKER, "cannot wait for the other process");
        if (interrupt_requested())
            return error_set(error, ERROR_INTERRUPTED, "interrupted");
    }
    return ready;
}

int channel_receive_until(struct channel *channel, int64_t until_ns, bool *late, json_t **message,
                          struct error *error)
{
    *late = false;
    for (;;) {
        int status = channel_next(channel, message, error);
        if (status != 0)
            return status;
        status = await_bytes(channel, until_ns, error);
        *late = status == 0;
        if (status == 1)
            status = channel_fill(channel, error);
        if (status != 1)
            return status;
    }
}

json_t *message_from_error(const struct error *error)
{
    return json_pack("{s:s, s:i, s:o, s:i, s:o}", "event", "error", "code", (int)error->code,
                     "file", json_text(error->file), "line", error->line, "message",
                     json_text(error->message));
}

int message_error(const json_t *message, struct error *error)
{
    const char *event = json_string_value(json_object_get(message, "event"));
    if (event == NULL || strcmp(event, "error") != 0)
        return 0;
    const char *file = json_string_value(json_object_get(message, "file"));
    const char *text = json_string_value(json_object_get(message, "message"));
    int code = (int)json_integer_value(json_object_get(message, "code"));
    int line = (int)json_integer_value(json_object_get(message, "line"));
    return error_set_at(error, code < 0 ? (enum error_code)code : ERROR_WORKER,
                        file != NULL ? file : "", line, "%s",
                        text != NULL ? text : "a worker failed without giving a reason");
}
