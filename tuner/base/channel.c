#include "base/channel.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/json_text.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, LINE_LIMIT = 64 << 20, BYTES_LIMIT = 512 << 20 };

void channel_init(struct channel *channel, int in, int out)
{
    *channel = (struct channel){.in = in, .out = out};
}

static void release_kept(struct channel_kept *kept, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(kept[i].bytes);
    free(kept);
}

void channel_release(struct channel *channel)
{
    if (channel->in >= 0)
        (void)close(channel->in);
    if (channel->out >= 0 && channel->out != channel->in)
        (void)close(channel->out);
    release_kept(channel->kept, channel->kept_count);
    release_kept(channel->sent, channel->sent_count);
    for (size_t i = 0; i < channel->descriptor_count; i++)
        (void)close(channel->descriptors[i]);
    free(channel->descriptors);
    json_decref(channel->pending);
    free(channel->buffer);
    *channel = (struct channel){.in = -1, .out = -1};
}

/* --- sending --- */

enum { PIECES = 2 };

/* Room for one descriptor, aligned as a header has to be. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* sendmsg() with MSG_NOSIGNAL to a socket, and with the descriptor unless that is negative; writev() to anything
 * else, such as a terminal. */
static ssize_t write_some(int out, struct iovec *pieces, int descriptor)
{
    union control control = {0};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = PIECES};
    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
    }
    ssize_t written = sendmsg(out, &message, MSG_NOSIGNAL);
    return written < 0 && errno == ENOTSOCK ? writev(out, pieces, PIECES) : written;
}

/* Together, so that the other process wakes once. */
static int write_all(const struct channel *channel, struct iovec pieces[PIECES], int descriptor,
                     struct error *error)
{
    while (pieces[0].iov_len + pieces[1].iov_len > 0) {
        ssize_t written = write_some(channel->out, pieces, descriptor);
        if (written < 0 && (errno != EINTR || interrupt_requested()))
            return error_set_errno(error, ERROR_WORKER, "cannot write to the other process");
        size_t left = written > 0 ? (size_t)written : 0;
        if (written > 0)
            descriptor = -1;
        for (size_t i = 0; i < PIECES; i++) {
            size_t taken = left < pieces[i].iov_len ? left : pieces[i].iov_len;
            pieces[i].iov_base = (char *)pieces[i].iov_base + taken;
            pieces[i].iov_len -= taken;
            left -= taken;
        }
    }
    return 0;
}

static int send_all(const struct channel *channel, json_t *message, const void *bytes, size_t count,
                    int descriptor, struct error *error)
{
    if (count > 0)
        json_object_set_new(message, "bytes", json_integer((json_int_t)count));
    char *object = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (object == NULL) {
        errno = EILSEQ;
        return error_set(error, ERROR_WORKER, "cannot send a message: its text is not UTF-8");
    }
    size_t length = strlen(object);
    object[length] = '\n'; /* in place of the null character */
    struct iovec pieces[PIECES] = {{object, length + 1}, {(void *)bytes, count}};
    int status = write_all(channel, pieces, descriptor, error);
    int number = errno;
    free(object);
    errno = number;
    return status;
}

int channel_send_bytes(struct channel *channel, json_t *message, const void *bytes, size_t count,
                       struct error *error)
{
    return send_all(channel, message, bytes, count, -1, error);
}

int channel_send(struct channel *channel, json_t *message, struct error *error)
{
    return send_all(channel, message, NULL, 0, -1, error);
}

int channel_send_descriptor(struct channel *channel, json_t *message, int descriptor,
                            struct error *error)
{
    return send_all(channel, message, NULL, 0, descriptor, error);
}

static const struct channel_kept *find(const struct channel_kept *kept, size_t count,
                                       const char *hash)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(kept[i].hash, hash) == 0)
            return &kept[i];
    return NULL;
}

static struct channel_kept *add(struct channel_kept **kept, size_t *count, const char *hash)
{
    struct channel_kept *new = ARRAY_APPEND(*kept, *count);
    (void)snprintf(new->hash, sizeof new->hash, "%s", hash);
    return new;
}

int channel_keep(struct channel *channel, const char *hash, const void *bytes, size_t count,
                 struct error *error)
{
    if (find(channel->sent, channel->sent_count, hash) != NULL)
        return 0;
    (void)add(&channel->sent, &channel->sent_count, hash);
    return channel_send_bytes(channel, json_pack("{s:s, s:i}", "keep", hash, "bytes", 0), bytes,
                              count, error);
}

const struct channel_kept *channel_find(const struct channel *channel, const char *hash)
{
    return find(channel->kept, channel->kept_count, hash);
}

/* --- receiving --- */

static void make_room(struct channel *channel)
{
    if (channel->capacity - channel->used < READ_BYTES) {
        channel->capacity = channel->used + READ_BYTES > 2 * channel->capacity
                                ? channel->used + READ_BYTES
                                : 2 * channel->capacity;
        channel->buffer = alloc_resize(channel->buffer, channel->capacity, 1);
    }
}

int channel_fill(struct channel *channel, struct error *error)
{
    make_room(channel);
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

int channel_fill_now(struct channel *channel, struct error *error)
{
    make_room(channel);
    struct iovec room = {channel->buffer + channel->used, channel->capacity - channel->used};
    union control control = {0};
    struct msghdr message = {.msg_iov = &room,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t count = recvmsg(channel->in, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 1;
    if (count < 0 && errno != ECONNRESET)
        return error_set_errno(error, ERROR_WORKER, "cannot read from the other process");
    const struct cmsghdr *header = count > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header != NULL && header->cmsg_type == SCM_RIGHTS)
        memcpy(ARRAY_APPEND(channel->descriptors, channel->descriptor_count), CMSG_DATA(header),
               sizeof(int));
    channel->used += count > 0 ? (size_t)count : 0;
    return count > 0;
}

int channel_descriptor(struct channel *channel)
{
    if (channel->descriptor_count == 0)
        return -1;
    int first = channel->descriptors[0];
    channel->descriptor_count--;
    memmove(channel->descriptors, channel->descriptors + 1,
            channel->descriptor_count * sizeof *channel->descriptors);
    return first;
}

static int read_line(struct channel *channel, struct error *error)
{
    json_error_t reason;
    const char *newline = channel->used > 0 ? memchr(channel->buffer, '\n', channel->used) : NULL;
    size_t length = newline != NULL ? (size_t)(newline - channel->buffer) : channel->used;
    if (length + (newline == NULL) > LINE_LIMIT)
        return error_set(error, ERROR_WORKER, "a message is longer than 64 MiB");
    if (newline == NULL)
        return 0;
    json_t *message = json_loadb(channel->buffer, length, 0, &reason);
    channel->line = channel->taken = length + 1;
    if (message == NULL)
        return error_set(error, ERROR_WORKER, "a message is not JSON: %s at column %d", reason.text,
                         reason.column);
    json_int_t bytes = json_integer_value(json_object_get(message, "bytes"));
    if (!json_is_object(message) || bytes < 0 || bytes > BYTES_LIMIT) {
        bool object = json_is_object(message);
        json_decref(message);
        return error_set(error, ERROR_WORKER, "a message is not a JSON object%s",
                         object ? " with 0 to 512 MiB behind it" : "");
    }
    channel->taken = 0;
    channel->pending = message;
    channel->byte_count = (size_t)bytes;
    return 1;
}

/* Takes over the message if it is about what to keep. */
static bool keep(struct channel *channel, json_t *message)
{
    const char *hash = json_string_value(json_object_get(message, "keep"));
    if (hash == NULL || !json_is_integer(json_object_get(message, "bytes")))
        return false;
    if (channel_find(channel, hash) == NULL) {
        struct channel_kept *kept = add(&channel->kept, &channel->kept_count, hash);
        kept->count = channel->byte_count;
        kept->bytes = alloc_zeroed(kept->count + 1, 1);
        memcpy(kept->bytes, channel->bytes, kept->count);
    }
    json_decref(message);
    return true;
}

int channel_next_whole(struct channel *channel, json_t **message, struct error *error)
{
    *message = NULL;
    channel->used -= channel->taken;
    if (channel->taken > 0)
        memmove(channel->buffer, channel->buffer + channel->taken, channel->used);
    channel->taken = 0;
    int status = channel->pending != NULL ? 1 : read_line(channel, error);
    if (status != 1)
        return status;
    if (channel->used - channel->line < channel->byte_count)
        return 0;
    *message = channel->pending;
    channel->pending = NULL;
    channel->bytes = channel->buffer + channel->line;
    channel->taken = channel->line + channel->byte_count;
    return 1;
}

int channel_next(struct channel *channel, json_t **message, struct error *error)
{
    int status;
    do
        status = channel_next_whole(channel, message, error);
    while (status == 1 && keep(channel, *message));
    return status;
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

int channel_receive(struct channel *channel, json_t **message, struct error *error)
{
    bool late;
    return channel_receive_until(channel, INT64_MAX, &late, message, error);
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
