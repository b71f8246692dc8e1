/* Messages between processes: cut into pieces at any place, they are the same messages. */
#include "base/channel.h"
#include "fuzz.h"
#include "record/gpu.h"
#include "template/value.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the coordinator and the workers take out of a message. */
static void use(const json_t *message)
{
    struct error error = {0};
    struct gpu gpu;
    struct bindings bindings = {0};
    (void)message_error(message, &error);
    (void)gpu_from_json(json_object_get(message, "gpu"), &gpu, &error);
    (void)bindings_from_json(&bindings, json_object_get(message, "parameters"), &error);
    bindings_release(&bindings);
}

/* All messages until the end or the first bad one; returns how many, and the last status. */
static size_t receive_all(struct channel *channel, int *status)
{
    json_t *message;
    struct error error = {0};
    size_t count = 0;
    for (; (*status = channel_receive(channel, &message, &error)) == 1; count++) {
        FUZZ_REQUIRE(json_is_object(message));
        use(message);
        json_decref(message);
    }
    FUZZ_REQUIRE(*status == 0 || (*status == ERROR_WORKER && error.message[0] != '\0'));
    return count;
}

static size_t receive_pieces(const uint8_t *data, size_t size, size_t piece, int *status)
{
    int sockets[2];
    struct channel channel;
    json_t *message;
    size_t count = 0;
    FUZZ_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    channel_init(&channel, sockets[0], sockets[0]);
    *status = 0;
    for (size_t sent = 0; sent < size && *status == 0;) {
        size_t length = size - sent < piece ? size - sent : piece;
        struct error error = {0};
        FUZZ_REQUIRE(write(sockets[1], data + sent, length) == (ssize_t)length);
        sent += length;
        FUZZ_REQUIRE(channel_fill(&channel, &error) == 1);
        while ((*status = channel_next(&channel, &message, &error)) == 1) {
            count++;
            json_decref(message);
        }
    }
    (void)close(sockets[1]);
    if (*status == 0)
        count += receive_all(&channel, status);
    channel_release(&channel);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int whole_status;
    int cut_status;
    if (size == 0 || size > 64 * 1024)
        return 0;
    size_t whole = receive_pieces(data, size, size, &whole_status);
    size_t cut = receive_pieces(data, size, 1 + data[0] % 32, &cut_status);
    FUZZ_REQUIRE(whole == cut && whole_status == cut_status);
    return 0;
}
