#define _GNU_SOURCE 1

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "control.h"
#include "counts.h"
#include "fields.h"
#include "given.h"
#include "key.h"
#include "private.h"
#include "resp.h"
#include "roles.h"
#include "text.h"
#include "words.h"

enum {
    PATIENCE_S = 8,
    LAST_WORDS_MS = 100,
};

static struct {
    bool is_private;
    struct socket_address at;
    struct child child;
    pid_t process;
    struct resp desk; /* for questions, between batches only */
    struct key key;
    struct counts before;
    struct counts after;
} server;

static void set_up_private(const struct program *program, const struct cell *cell, struct json message);
static void set_up_given(const struct settings *settings, const struct cell *cell, struct json message);
static void say_ready(void);
static _Noreturn void fail_without_client(void) __attribute__((cold));

void server_prepare(const struct settings *settings, const struct program *program, const struct cell *cell,
                    struct json message)
{
    /* Told before anything is started. */
    key_length(cell->size);
    control_leave_at_end(true);
    if (settings_give_a_server(settings)) {
        set_up_given(settings, cell, message);
    } else {
        set_up_private(program, cell, message);
    }
    resp_wait_at_most(&server.desk, PATIENCE_S);
    server.key = key_make(&server.desk, cell->size);
    if (!server.is_private) {
        given_keep_clean(&server.desk, &server.at, &server.key);
    }
    words_listen();
    control_leave_at_end(false);
    say_ready();
}

static void set_up_private(const struct program *program, const struct cell *cell, struct json message)
{
    struct json unused;
    const bool sets_backlog = cell_option(field_object(message, "cell"), "backlog", &unused);
    const struct private_settings settings = {
        .backlog = sets_backlog ? cell->backlog : 0,
        .takes_all_of_127 = cell->transport == TCP && cell->pattern == CONNECT && cell->spread_sources,
    };
    server.is_private = true;
    server.at = socket_address_read(cell, field_object(message, "address"));
    server.child = private_start(program, &settings, &server.at);
    server.process = server.child.process;
    server.desk = resp_open(&server.at);
}

static void set_up_given(const struct settings *settings, const struct cell *cell, struct json message)
{
    struct json unused;
    if (cell_option(field_object(message, "cell"), "backlog", &unused)) {
        fail("a redis server that is there already keeps its queue; leave option backlog out");
    }
    /* A peer that has no server for a transport has not said hello with it. */
    server.at = cell->transport == UNIX ? settings->unix_at : settings->tcp_at;
    server.desk = given_open(&server.at);
    server.process = given_process(&server.desk);
}

static void say_ready(void)
{
    ready_begin();
    putchar('{');
    socket_address_print(&server.at);
    printf(",\"key\":");
    text_print(server.key.name);
    words_print_address();
    putchar('}');
    ready_end(&(struct effective){0});
}

void server_gather(void)
{
    words_gather();
}

/* The client's word ends a batch, and this one lets it begin: so nothing is counted for a batch that is not its. */
void server_begin(const struct batch *batch)
{
    (void)batch;
    words_complete();
    server.before = counts_at_begin(&server.desk, &server.key, server.process);
    if (!words_say()) {
        fail_without_client();
    }
}

struct together server_run(const struct batch *batch)
{
    const uint64_t began_ns = now_ns();
    if (!words_hear()) {
        fail_without_client();
    }
    const uint64_t ended_ns = now_ns();
    server.after = counts_at_end(&server.desk, &server.key, server.process);
    const uint64_t counted = server.after.value - server.before.value;
    if (counted != batch->ops) {
        fail("INCR counted %" PRId64 " of %" PRIu64 " requests", (int64_t)counted, batch->ops);
    }
    return (struct together){
        .wall_ns = ended_ns - began_ns,
        .usage = counts_usage(&server.before, &server.after),
    };
}

void server_print_more(void)
{
    const uint64_t calls = server.after.incr_calls - server.before.incr_calls;
    const uint64_t usec = server.after.incr_usec - server.before.incr_usec;
    /* Somebody may have reset a given server's statistics in between. */
    const bool rose = server.after.incr_calls > server.before.incr_calls &&
                      server.after.incr_usec >= server.before.incr_usec;
    if (rose) {
        printf(",\"measures\":{\"incr_usec_per_call\":%.6f}", (double)usec / (double)calls);
    }
}

/*
 * It tells best itself why it is gone, and so does a redis-server that is the reason: they are given the time to
 * be heard first.
 */
static _Noreturn void fail_without_client(void)
{
    for (int waited_ms = 0; waited_ms < LAST_WORDS_MS; waited_ms++) {
        if (server.is_private && child_has_ended(&server.child)) {
            child_wait(&server.child);
            fail("redis-server ended in the middle of a batch");
        }
        poll(NULL, 0, 1);
    }
    fail("the client ended before the batch did");
}

void server_leave(void)
{
    if (server.is_private) {
        private_end(&server.child);
    } else {
        given_clean();
    }
}
