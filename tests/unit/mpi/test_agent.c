#include "mpi/agent.h"

#include "base/alloc.h"
#include "mpi/peers.h"
#include "unit/scratch.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* --- the hub, in place of peers.c: it gives the agent packets, and reacts to the agent's --- */

enum { PACKETS = 64, TEXT_BYTES = 512 };

static struct hub {
    struct packet packets[PACKETS];
    char texts[PACKETS][TEXT_BYTES];
    size_t count, next;
    void (*react)(enum packet_kind kind, const char *text);
    int needs;                   /* how often a file was asked for */
    char replies[2][TEXT_BYTES]; /* of the workers */
    int reply_count;
} hub;

static void give(enum packet_kind kind, uint32_t id, const char *text)
{
    assert_true(hub.count < PACKETS);
    (void)snprintf(hub.texts[hub.count], TEXT_BYTES, "%s", text);
    hub.packets[hub.count] = (struct packet){
        .kind = kind, .id = id, .bytes = hub.texts[hub.count], .count = strlen(text)};
    hub.count++;
}

static void give_file(const char *path)
{
    char *begin = alloc_format("{\"path\":\"%s\",\"links\":[],\"folder\":false}", path);
    char *end = alloc_format("{\"asked\":\"%s\",\"good\":true}", path);
    give(PACKET_FILE, 0, begin);
    give(PACKET_FILE_BYTES, 0, "text");
    give(PACKET_FILE_END, 0, end);
    free(begin);
    free(end);
}

static void give_request(uint32_t id, const char *header)
{
    char *request = alloc_format("{\"do\":\"open\",\"files\":[\"%s\"]}\n", header);
    give(PACKET_DATA, id, request);
    free(request);
}

bool peers_receive(struct peers *peers, struct packet *packet)
{
    (void)peers;
    if (hub.next == hub.count)
        return false;
    *packet = hub.packets[hub.next++];
    return true;
}

void peers_send(struct peers *peers, int rank, enum packet_kind kind, uint32_t id,
                const void *bytes, size_t count)
{
    (void)peers;
    (void)rank;
    (void)id;
    char *text = alloc_string_n(count > 0 ? bytes : "", count);
    hub.needs += kind == PACKET_NEED;
    if (kind == PACKET_DATA && hub.reply_count < 2)
        (void)snprintf(hub.replies[hub.reply_count++], TEXT_BYTES, "%s", text);
    hub.react(kind, text);
    free(text);
}

void peers_send_object(struct peers *peers, int rank, enum packet_kind kind, uint32_t id,
                       json_t *object)
{
    peers_send(peers, rank, kind, id, "", 0);
    json_decref(object);
}

bool peers_move(struct peers *peers)
{
    (void)peers;
    return false;
}

size_t peers_unsent(const struct peers *peers, int rank)
{
    (void)peers;
    (void)rank;
    return 0;
}

/* --- the agent's disk --- */

static const char *scratch;

/* In the way of the folder "/a" of the coordinator's machine. */
static void obstruct(bool obstructed)
{
    glob_t found;
    char *pattern = alloc_format("%s/autotune-mpi-*", scratch);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    char *path = alloc_format("%s/a", found.gl_pathv[0]);
    FILE *file = obstructed ? fopen(path, "we") : NULL;
    assert_true(obstructed ? file != NULL && fclose(file) == 0 : unlink(path) == 0);
    free(path);
    free(pattern);
    globfree(&found);
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

/* An agent whose workers send back what they are asked. */
static void run(void (*react)(enum packet_kind kind, const char *text))
{
    struct error error;
    bool orderly;
    char *worker = alloc_format("%s/worker", scratch);
    FILE *file = fopen(worker, "we");
    assert_non_null(file);
    fputs("#!/bin/sh\nexec cat\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(worker, S_IRWXU), 0);
    (void)setenv("TMPDIR", scratch, 1); /* the agent sets its own */
    hub = (struct hub){.react = react};
    give(PACKET_WELCOME, 0, "/project");
    give(PACKET_START, 1, "{\"role\":\"compile\"}");
    give_request(1, "/a/one.h");
    assert_int_equal(agent_run(NULL, worker, &orderly, &error), 0);
    free(worker);
}

/* --- tests --- */

static void react_and_ask_again(enum packet_kind kind, const char *text)
{
    if (kind == PACKET_NEED) {
        assert_string_equal(text, "/a/one.h");
        obstruct(hub.needs == 1);
        give_file("/a/one.h");
    } else if (kind == PACKET_DATA && hub.reply_count == 1) {
        give_request(1, "/a/one.h");
    } else if (kind == PACKET_DATA) {
        give(PACKET_END, 0, "");
    }
}

static void a_file_that_cannot_be_written_is_an_error_and_asked_for_again(void **state)
{
    (void)state;
    run(react_and_ask_again);
    assert_non_null(strstr(hub.replies[0], "\"event\":\"error\""));
    assert_non_null(strstr(hub.replies[0], "/a"));
    assert_non_null(strstr(hub.replies[1], "\"do\":\"open\""));
    assert_int_equal(hub.needs, 2);
}

static void react_and_need_another(enum packet_kind kind, const char *text)
{
    bool first = kind == PACKET_NEED && strcmp(text, "/a/one.h") == 0;
    if (first) {
        give(PACKET_CLOSE, 1, "");
    } else if (kind == PACKET_ENDED) {
        obstruct(true);
        give_file("/a/one.h");
        give(PACKET_START, 2, "{\"role\":\"compile\"}");
        give_request(2, "/a/two.h");
    } else if (kind == PACKET_NEED) {
        obstruct(false);
        give_file(text);
    } else if (kind == PACKET_DATA) {
        give(PACKET_END, 0, "");
    }
}

static void a_file_that_nobody_waits_for_any_more_harms_nobody(void **state)
{
    (void)state;
    run(react_and_need_another);
    assert_int_equal(hub.reply_count, 1);
    assert_non_null(strstr(hub.replies[0], "\"do\":\"open\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_cannot_be_written_is_an_error_and_asked_for_again),
        cmocka_unit_test(a_file_that_nobody_waits_for_any_more_harms_nobody),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
