#include "mpi/agent.h"

#include "base/alloc.h"
#include "mpi/peers.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the hub, in place of peers.c: it gives the agent packets, and reacts to the agent's --- */

enum { PACKETS = 64, TEXT_BYTES = 512 };

static struct hub {
    struct packet packets[PACKETS];
    char texts[PACKETS][TEXT_BYTES];
    size_t count, next;
    int written;              /* how many files the agent has answered for */
    char failure[TEXT_BYTES]; /* its answer for the first */
    char reply[TEXT_BYTES];   /* what the worker has sent */
} hub;

static void give_bytes(enum packet_kind kind, uint32_t id, const void *bytes, size_t count)
{
    assert_true(hub.count < PACKETS && count < TEXT_BYTES);
    memcpy(hub.texts[hub.count], bytes, count);
    hub.packets[hub.count] =
        (struct packet){.kind = kind, .id = id, .bytes = hub.texts[hub.count], .count = count};
    hub.count++;
}

static void give(enum packet_kind kind, uint32_t id, const char *text)
{
    give_bytes(kind, id, text, strlen(text));
}

static void give_file(void)
{
    give(PACKET_FILE, 0, "te");
    give(PACKET_FILE, 0, "xt");
    give(PACKET_FILE_END, 0, "{\"name\":\"1a\",\"seconds\":1000,\"nanoseconds\":5}");
}

bool peers_receive(struct peers *peers, struct packet *packet)
{
    (void)peers;
    if (hub.next == hub.count)
        return false;
    *packet = hub.packets[hub.next++];
    return true;
}

/* --- the agent's disk --- */

static const char *scratch;

/* A path in the agent's folder. */
static char *in_folder(const char *name)
{
    glob_t found;
    char *pattern = alloc_format("%s/autotune-mpi-*", scratch);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    char *path = alloc_format("%s/%s", found.gl_pathv[0], name);
    free(pattern);
    globfree(&found);
    return path;
}

/* A folder that is in the way of what comes. */
static void obstruct(bool obstructed)
{
    char *path = in_folder("incoming");
    assert_int_equal(obstructed ? mkdir(path, 0700) : rmdir(path), 0);
    free(path);
}

static void check_file(void)
{
    char *path = in_folder("1a");
    struct stat status;
    char text[8] = "";
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text, file), 4);
    assert_string_equal(text, "text");
    assert_int_equal(fstat(fileno(file), &status), 0);
    assert_int_equal(status.st_mtim.tv_sec, 1000);
    assert_int_equal(status.st_mtim.tv_nsec, 5);
    assert_int_equal(fclose(file), 0);
    free(path);
}

void peers_send(struct peers *peers, int rank, enum packet_kind kind, uint32_t id,
                const void *bytes, size_t count)
{
    (void)peers;
    (void)rank;
    size_t used = strlen(hub.reply);
    if (kind == PACKET_WRITTEN && hub.written++ == 0) {
        memcpy(hub.failure, bytes, count);
        obstruct(false);
        give_file();
    } else if (kind == PACKET_WRITTEN) {
        assert_int_equal(count, 0);
        check_file();
        give_bytes(PACKET_KEPT, 1, (const uint32_t[]){1}, sizeof(uint32_t));
        give(PACKET_DATA, 1, "request\n");
    } else if (kind == PACKET_DATA) {
        assert_int_equal(id, 1);
        memcpy(hub.reply + used, bytes, count);
        if (strcmp(hub.reply, "begin\n") == 0) {
            obstruct(true);
            give_file();
        }
        if (strstr(hub.reply, "request\n") != NULL)
            give(PACKET_END, 0, "");
    }
}

void peers_send_object(struct peers *peers, int rank, enum packet_kind kind, uint32_t id,
                       json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    peers_send(peers, rank, kind, id, text, strlen(text));
    free(text);
    json_decref(object);
}

bool peers_move(struct peers *peers)
{
    (void)peers;
    return false;
}

void peers_wait(struct peers *peers, bool moved, struct pollfd *descriptors, size_t count)
{
    (void)peers;
    (void)poll(descriptors, count, moved ? 0 : 1);
}

void peers_look(struct peers *peers)
{
    (void)peers;
}

int64_t peers_heard_ns(const struct peers *peers, int64_t heard_ns)
{
    (void)peers;
    return heard_ns;
}

size_t peers_unsent(const struct peers *peers, int rank)
{
    (void)peers;
    (void)rank;
    return 0;
}

static int make_scratch(void **state)
{
    int status = scratch_enter(state);
    scratch = *state;
    return status != 0 || setenv("TMPDIR", scratch, 1) != 0;
}

static int remove_scratch(void **state)
{
    char *worker = alloc_format("%s/worker", scratch);
    (void)unlink(worker);
    free(worker);
    int left = rmdir(scratch); /* the agent leaves nothing */
    return scratch_leave(state) != 0 || left != 0;
}

/* An agent whose worker sends back what it is asked. */
static void a_file_that_cannot_be_written_is_an_error_and_can_come_again(void **state)
{
    struct error error;
    bool orderly;
    char *worker = alloc_format("%s/worker", scratch);
    FILE *file = fopen(worker, "we");
    assert_non_null(file);
    fputs("#!/bin/sh\nexec cat\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(worker, S_IRWXU), 0);
    give(PACKET_WELCOME, 0, "");
    give(PACKET_START, 1, "{\"role\":\"compile\"}");
    give(PACKET_KEEP, 0, "zero\n");
    give(PACKET_KEEP, 0, "one\n");
    give(PACKET_DATA, 1, "begin\n");
    assert_int_equal(agent_run(NULL, worker, &orderly, &error), 0);
    assert_non_null(strstr(hub.failure, "\"event\":\"error\""));
    assert_non_null(strstr(hub.failure, "cannot write a file into"));
    assert_string_equal(hub.reply, "begin\none\nrequest\n");
    free(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_cannot_be_written_is_an_error_and_can_come_again),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
