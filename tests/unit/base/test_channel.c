#include "base/channel.h"

#include "base/alloc.h"

#include "unit/test.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct pair {
    struct channel a, b;
};

static int open_pair(void **state)
{
    int ends[2];
    struct pair *pair = alloc_zeroed(1, sizeof *pair);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return -1;
    channel_init(&pair->a, ends[0], ends[0]);
    channel_init(&pair->b, ends[1], ends[1]);
    *state = pair;
    return 0;
}

static int close_pair(void **state)
{
    struct pair *pair = *state;
    channel_release(&pair->a);
    channel_release(&pair->b);
    free(pair);
    return 0;
}

static void write_raw(const struct channel *channel, const char *text)
{
    assert_int_equal(write(channel->out, text, strlen(text)), strlen(text));
}

static void assert_message(json_t *message, const char *expected)
{
    char *text = json_dumps(message, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(message);
}

UNIT_TEST_WITH(messages_arrive_in_order, open_pair, close_pair)
{
    struct pair *pair = *state;
    struct error error;
    json_t *message;
    assert_int_equal(channel_send(&pair->a, json_pack("{s:i}", "n", 1), &error), 0);
    assert_int_equal(channel_send(&pair->a, json_pack("{s:s}", "text", "two\nlines"), &error), 0);
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    assert_message(message, "{\"n\":1}");
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    assert_message(message, "{\"text\":\"two\\nlines\"}");
    assert_int_equal(channel_send(&pair->b, json_pack("{s:i}", "back", 3), &error), 0);
    assert_int_equal(channel_receive(&pair->a, &message, &error), 1);
    assert_message(message, "{\"back\":3}");
}

UNIT_TEST_WITH(messages_may_come_in_pieces, open_pair, close_pair)
{
    struct pair *pair = *state;
    struct error error;
    json_t *message;
    assert_int_equal(channel_next(&pair->b, &message, &error), 0);
    assert_null(message);
    write_raw(&pair->a, "{\"n\"");
    assert_int_equal(channel_fill(&pair->b, &error), 1);
    assert_int_equal(channel_next(&pair->b, &message, &error), 0);
    write_raw(&pair->a, ":1}\n{\"n\":2}\n{\"n\"");
    assert_int_equal(channel_fill(&pair->b, &error), 1);
    assert_int_equal(channel_next(&pair->b, &message, &error), 1);
    assert_message(message, "{\"n\":1}");
    assert_int_equal(channel_next(&pair->b, &message, &error), 1);
    assert_message(message, "{\"n\":2}");
    assert_int_equal(channel_next(&pair->b, &message, &error), 0);
    write_raw(&pair->a, ":3}\n");
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    assert_message(message, "{\"n\":3}");
}

UNIT_TEST_WITH(the_end_of_the_stream, open_pair, close_pair)
{
    struct pair *pair = *state;
    struct error error;
    json_t *message;
    write_raw(&pair->a, "{\"n\":1}\n{\"cut");
    channel_release(&pair->a);
    assert_int_equal(pair->a.in, -1);
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    assert_message(message, "{\"n\":1}");
    assert_int_equal(channel_receive(&pair->b, &message, &error), 0);
    assert_int_equal(channel_fill(&pair->b, &error), 0);
}

/* The test would die of SIGPIPE. */
UNIT_TEST_WITH(nobody_at_the_other_end, open_pair, close_pair)
{
    struct pair *pair = *state;
    struct error error;
    channel_release(&pair->a);
    assert_int_equal(channel_send(&pair->b, json_pack("{s:i}", "n", 1), &error), ERROR_WORKER);
    assert_string_equal(error.message, "cannot write to the other process: Broken pipe");
}

UNIT_TEST_WITH(lines_that_are_no_message, open_pair, close_pair)
{
    struct pair *pair = *state;
    static const char *const lines[] = {"hello\n", "{\"n\":\n", "\n", "{} {}\n",
                                        "{\"a\":\"\xff\"}\n"};
    struct error error;
    json_t *message;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        write_raw(&pair->a, lines[i]);
        assert_int_equal(channel_receive(&pair->b, &message, &error), ERROR_WORKER);
        assert_memory_equal(error.message, "a message is not JSON: ", 23);
        assert_null(message);
    }
    write_raw(&pair->a, "[1]\n");
    assert_int_equal(channel_receive(&pair->b, &message, &error), ERROR_WORKER);
    assert_string_equal(error.message, "a message is not a JSON object");
    assert_null(message);
    /* what follows is read all the same */
    write_raw(&pair->a, "{\"n\":1}\n");
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    assert_message(message, "{\"n\":1}");
}

static void *send_text(void *user)
{
    struct pair *pair = ((void **)user)[0];
    json_t *message = ((void **)user)[1];
    struct error error;
    int status = channel_send(&pair->a, message, &error);
    return status == 0 ? user : NULL;
}

UNIT_TEST_WITH(messages_larger_than_the_socket_holds, open_pair, close_pair)
{
    struct pair *pair = *state;
    size_t length = 5000000;
    char *text = alloc_zeroed(length + 1, 1);
    memset(text, 'x', length);
    json_t *message;
    struct error error;
    pthread_t thread;
    void *user[2] = {pair, json_pack("{s:s}", "log", text)};
    void *sent = NULL;
    assert_int_equal(pthread_create(&thread, NULL, send_text, user), 0);
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    assert_int_equal(pthread_join(thread, &sent), 0);
    assert_non_null(sent);
    assert_string_equal(json_string_value(json_object_get(message, "log")), text);
    json_decref(message);
    free(text);
}

/* Fills the receiver's buffer as if `length` bytes without a line's end had come, then `tail`. */
static void receive_long(struct channel *channel, size_t length, const char *tail)
{
    channel->capacity = length + strlen(tail);
    channel->used = channel->capacity;
    channel->buffer = alloc_resize(channel->buffer, channel->capacity, 1);
    memset(channel->buffer, 'x', length);
    memcpy(channel->buffer + length, tail, strlen(tail));
}

UNIT_TEST_WITH(messages_end_at_64_mib, open_pair, close_pair)
{
    struct pair *pair = *state;
    size_t limit = (size_t)64 * 1024 * 1024;
    struct error error;
    json_t *message;
    receive_long(&pair->b, limit, "");
    assert_int_equal(channel_next(&pair->b, &message, &error), ERROR_WORKER);
    assert_string_equal(error.message, "a message is longer than 64 MiB");
    receive_long(&pair->b, limit + 1, "\n");
    assert_int_equal(channel_next(&pair->b, &message, &error), ERROR_WORKER);
    assert_string_equal(error.message, "a message is longer than 64 MiB");
    receive_long(&pair->b, limit - 1, "");
    assert_int_equal(channel_next(&pair->b, &message, &error), 0);
}

UNIT_TEST_WITH(bytes_follow_their_object, open_pair, close_pair)
{
    static const char bytes[] = "{\n\0\xff";
    struct pair *pair = *state;
    struct error error;
    json_t *message;
    assert_int_equal(channel_send_bytes(&pair->a, json_object(), bytes, sizeof bytes, &error), 0);
    assert_int_equal(channel_send(&pair->a, json_object(), &error), 0);
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    assert_message(message, "{\"bytes\":5}");
    assert_int_equal(pair->b.byte_count, sizeof bytes);
    assert_memory_equal(pair->b.bytes, bytes, sizeof bytes);
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    assert_message(message, "{}");
    assert_int_equal(pair->b.byte_count, 0);
    write_raw(&pair->a, "{\"bytes\":3}\nab");
    assert_int_equal(channel_fill(&pair->b, &error), 1);
    assert_int_equal(channel_next(&pair->b, &message, &error), 0);
    write_raw(&pair->a, "c{\"bytes\":-1}\n{\"bytes\":1000000000}\n{}\n");
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    json_decref(message);
    assert_memory_equal(pair->b.bytes, "abc", 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(channel_receive(&pair->b, &message, &error), ERROR_WORKER);
        assert_non_null(strstr(error.message, "512 MiB"));
    }
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    json_decref(message);
}

static void assert_same_file(int descriptor, int other)
{
    struct stat here;
    struct stat there;
    assert_int_equal(fstat(descriptor, &here), 0);
    assert_int_equal(fstat(other, &there), 0);
    assert_int_equal(here.st_ino, there.st_ino);
    (void)close(descriptor);
    (void)close(other);
}

/* Two descriptors, of which the first comes with what is behind a long message. */
UNIT_TEST_WITH(descriptors_come_in_order, open_pair, close_pair)
{
    struct pair *pair = *state;
    struct error error;
    json_t *message;
    int first[2];
    int second[2];
    char *bytes = alloc_zeroed(1, 65000);
    assert_int_equal(pipe(first), 0);
    assert_int_equal(pipe(second), 0);
    assert_int_equal(channel_fill_now(&pair->b, &error), 1);
    assert_int_equal(channel_next_whole(&pair->b, &message, &error), 0);
    assert_int_equal(channel_keep(&pair->a, "1a", bytes, 65000, &error), 0);
    assert_int_equal(
        channel_send_descriptor(&pair->a, json_pack("{s:s}", "file", "1"), first[0], &error), 0);
    assert_int_equal(
        channel_send_descriptor(&pair->a, json_pack("{s:s}", "file", "2"), second[0], &error), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(channel_fill_now(&pair->b, &error), 1);
    assert_int_equal(channel_next_whole(&pair->b, &message, &error), 1);
    assert_message(message, "{\"keep\":\"1a\",\"bytes\":65000}");
    assert_int_equal(pair->b.taken, strlen("{\"keep\":\"1a\",\"bytes\":65000}\n") + 65000);
    assert_null(channel_find(&pair->b, "1a"));
    assert_int_equal(channel_next_whole(&pair->b, &message, &error), 1);
    assert_message(message, "{\"file\":\"1\"}");
    assert_same_file(channel_descriptor(&pair->b), first[0]);
    assert_int_equal(channel_next_whole(&pair->b, &message, &error), 1);
    assert_message(message, "{\"file\":\"2\"}");
    assert_same_file(channel_descriptor(&pair->b), second[0]);
    assert_int_equal(channel_descriptor(&pair->b), -1);
    channel_release(&pair->a);
    assert_int_equal(channel_fill_now(&pair->b, &error), 0);
    (void)close(first[1]);
    (void)close(second[1]);
    free(bytes);
}

UNIT_TEST_WITH(what_is_kept_is_sent_once, open_pair, close_pair)
{
    struct pair *pair = *state;
    struct error error;
    json_t *message;
    assert_null(channel_find(&pair->b, "1a"));
    for (int i = 0; i < 2; i++)
        assert_int_equal(channel_keep(&pair->a, "1a", "text", 4, &error), 0);
    assert_int_equal(channel_keep(&pair->a, "1b", "", 0, &error), 0);
    assert_int_equal(channel_send(&pair->a, json_object(), &error), 0);
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    assert_message(message, "{}");
    assert_int_equal(pair->b.kept_count, 2);
    assert_string_equal(channel_find(&pair->b, "1a")->bytes, "text");
    assert_int_equal(channel_find(&pair->b, "1b")->count, 0);
}

UNIT_TEST_WITH(text_that_is_no_utf8_is_refused, open_pair, close_pair)
{
    struct pair *pair = *state;
    struct error error;
    json_t *message = json_object();
    (void)json_object_set_new(message, "text", json_string_nocheck("\xff"));
    assert_int_equal(channel_send(&pair->a, message, &error), ERROR_WORKER);
    assert_string_equal(error.message, "cannot send a message: its text is not UTF-8");
}

/* A person may run a worker with its input and output in pipes. */
UNIT_TEST(pipes_will_do)
{
    int ends[2];
    struct channel channel;
    struct error error;
    json_t *message;
    assert_int_equal(pipe(ends), 0);
    channel_init(&channel, ends[0], ends[1]);
    assert_int_equal(channel_send(&channel, json_pack("{s:i}", "n", 1), &error), 0);
    assert_int_equal(channel_receive(&channel, &message, &error), 1);
    assert_message(message, "{\"n\":1}");
    channel_release(&channel);
    assert_int_equal(close(ends[0]), -1);
    assert_int_equal(close(ends[1]), -1);
}

UNIT_TEST_WITH(errors_travel, open_pair, close_pair)
{
    struct pair *pair = *state;
    struct error sent;
    struct error received;
    struct error error;
    json_t *message;
    (void)error_set_at(&sent, ERROR_DEVICE, "k.ini", 12, "'%s' failed…", "cuLaunchKernel");
    assert_int_equal(channel_send(&pair->a, message_from_error(&sent), &error), 0);
    assert_int_equal(channel_receive(&pair->b, &message, &error), 1);
    assert_int_equal(message_error(message, &received), ERROR_DEVICE);
    assert_int_equal(received.code, ERROR_DEVICE);
    assert_int_equal(received.line, 12);
    assert_string_equal(received.file, "k.ini");
    assert_string_equal(received.message, "'cuLaunchKernel' failed…");
    json_decref(message);
}

UNIT_TEST(errors_that_are_no_utf8_travel_too)
{
    struct error sent;
    struct error received;
    (void)error_set_at(&sent, ERROR_CONFIG, "caf\xe9.ini", 3, "cut in a character \xe2\x80");
    json_t *message = message_from_error(&sent);
    assert_non_null(message);
    assert_int_equal(message_error(message, &received), ERROR_CONFIG);
    assert_string_equal(received.file, "caf?.ini");
    assert_string_equal(received.message, "cut in a character ??");
    json_decref(message);
}

UNIT_TEST(other_messages_are_no_errors)
{
    struct error error = {.line = 99};
    static const char *const texts[] = {"{}", "{\"event\":\"done\"}", "{\"event\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *message = json_loads(texts[i], 0, NULL);
        assert_int_equal(message_error(message, &error), 0);
        assert_int_equal(error.line, 99);
        json_decref(message);
    }
    /* an error without its members is still one */
    json_t *message = json_loads("{\"event\":\"error\"}", 0, NULL);
    assert_int_equal(message_error(message, &error), ERROR_WORKER);
    assert_string_equal(error.message, "a worker failed without giving a reason");
    json_decref(message);
}
