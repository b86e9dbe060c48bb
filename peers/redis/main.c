/*
 * ipcost-peer-redis: drives a real redis-server. As the server it starts one, or takes one that is there; as
 * the client it sends INCR. It speaks the control protocol of ipcost, version 1, on standard input and output.
 */

#define _GNU_SOURCE 1

#include <stdio.h>

#include "control.h"
#include "counts.h"
#include "course.h"
#include "fields.h"
#include "given.h"
#include "key.h"
#include "roles.h"

static struct {
    struct settings settings;
    struct program program;
    char runtime[64];
    bool is_server;
} play;

static void find_runtime(void);
static bool has_transport(enum transport transport);
static bool has_pattern(enum pattern pattern);
static void prepare(bool is_server, const struct cell *cell, struct json message);
static void check_cell(const struct cell *cell, struct json sent);
static void gather(void);
static void begin(const struct batch *batch);
static struct together run(const struct batch *batch);
static void print_latencies(void);
static void print_more(void);
static void leave(void);

int main(int count, char **arguments)
{
    control_open();
    play.settings = settings_read(count, arguments);
    find_runtime();
    const struct peer peer = {
        .name = play.settings.resolves ? "redis-resolve" : "redis",
        .version = "0.1.0",
        .runtime = play.runtime,
        .has_transport = has_transport,
        .has_pattern = has_pattern,
        .prepare = prepare,
        .gather = gather,
        .begin = begin,
        .run = run,
        .print_latencies = print_latencies,
        .print_more = print_more,
        .leave = leave,
    };
    course_run(&peer);
    return 0;
}

/* A server that is there already may be of another version than the one that is installed, if any is. */
static void find_runtime(void)
{
    const struct settings *settings = &play.settings;
    char version[32];
    if (settings_give_a_server(settings)) {
        struct resp desk = given_open(settings->has_unix ? &settings->unix_at : &settings->tcp_at);
        counts_version(&desk, version, sizeof version);
        resp_close(&desk);
    } else {
        play.program = program_find("redis-server", "redis-server");
        program_version(&play.program, "--version", "v=", version, sizeof version);
    }
    snprintf(play.runtime, sizeof play.runtime, "redis-server %s", version);
}

/* With a server that is there already, the transports over which it was given: all else would be another. */
static bool has_transport(enum transport transport)
{
    const struct settings *settings = &play.settings;
    if (settings_give_a_server(settings)) {
        return (transport == UNIX && settings->has_unix) || (transport == TCP && settings->has_tcp);
    }
    return transport == UNIX || transport == TCP;
}

static bool has_pattern(enum pattern pattern)
{
    return pattern == RR || pattern == CONNECT;
}

static void prepare(bool is_server, const struct cell *cell, struct json message)
{
    check_cell(cell, field_object(message, "cell"));
    play.is_server = is_server;
    if (is_server) {
        server_prepare(&play.settings, &play.program, cell, message);
    } else {
        client_prepare(&play.settings, cell, message);
    }
}

static void check_cell(const struct cell *cell, struct json sent)
{
    static const char *const OPTIONS[] = {"framing", "workers", "tcp_nodelay", "backlog", "closes_first",
                                          "spread_sources", NULL};
    struct json closes_first;
    if (!has_transport(cell->transport)) {
        fail("this peer has no redis server for transport %s", TRANSPORT_NAMES[cell->transport]);
    }
    if (!has_pattern(cell->pattern)) {
        fail("redis has no pattern %s; give --patterns rr,connect", PATTERN_NAMES[cell->pattern]);
    }
    if (cell->server_speaks_first) {
        fail("redis does not speak first; give --speaks-first client");
    }
    if (cell->reply != INCR_REPLY_BYTES) {
        fail("INCR answers %d bytes: give --replies %d", INCR_REPLY_BYTES, INCR_REPLY_BYTES);
    }
    cell_allow_options(sent, OPTIONS, "redis");
    if (cell->newline_framing) {
        fail("redis knows by itself where a request ends; leave option framing out");
    }
    if (!cell->tcp_nodelay) {
        fail("redis-server sets TCP_NODELAY itself; leave option tcp_nodelay out");
    }
    if (cell_option(sent, "closes_first", &closes_first) && cell->closing != CLIENT_CLOSES_FIRST) {
        fail("redis does not close first; leave option closes_first out, or give closes_first=client");
    }
}

static void gather(void)
{
    if (play.is_server) {
        server_gather();
    }
}

static void begin(const struct batch *batch)
{
    if (play.is_server) {
        server_begin(batch);
    } else {
        client_begin(batch);
    }
}

static struct together run(const struct batch *batch)
{
    return play.is_server ? server_run(batch) : client_run(batch);
}

static void print_latencies(void)
{
    if (!play.is_server) {
        client_print_latencies();
    }
}

static void print_more(void)
{
    if (play.is_server) {
        server_print_more();
    }
}

static void leave(void)
{
    if (play.is_server) {
        server_leave();
    } else {
        client_leave();
    }
}
