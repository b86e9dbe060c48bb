/*
 * ipcost-peer-c: plays the client or the server of one cell and speaks the control protocol of ipcost,
 * version 1, on standard input and output.
 */

#define _GNU_SOURCE 1

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "control.h"
#include "session.h"
#include "crew.h"
#include "fields.h"
#include "json.h"
#include "socket.h"
#include "telling.h"
#include "work.h"

#define WORD(value) WORD_OF(value)
#define WORD_OF(value) #value

#if defined __clang__
#define COMPILER                                                                                             \
    "clang " WORD(__clang_major__) "." WORD(__clang_minor__) "." WORD(__clang_patchlevel__)
#else
#define COMPILER "gcc " WORD(__GNUC__) "." WORD(__GNUC_MINOR__) "." WORD(__GNUC_PATCHLEVEL__)
#endif

static struct {
    bool is_server;
    bool is_gathering;
    const struct cell *cell;
    struct gathering gathering;
    struct crew crew;
    atomic_uint_fast64_t claimed; /* connections claimed by a server's workers in this batch */
} play;

static bool has_transport(enum transport transport);
static bool has_pattern(enum pattern pattern);
static void prepare(bool is_server, const struct cell *cell, struct json message);
static void prepare_server(struct json address);
static void prepare_client(struct json address);
static void say_ready(struct json address, const struct socket_address *bound,
                      const struct effective *effective);
static void gather(void);
static void begin(const struct batch *batch);
static void begin_on_channels(void);
static struct together run(const struct batch *batch);
static struct order share_of(const struct batch *batch);
static void print_latencies(const struct batch *batch);
static void print_more(const struct batch *batch);
static void leave(void);

static const struct peer PEER = {
    .name = "c",
    .version = "0.1.0",
    .runtime = COMPILER,
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

int main(void)
{
    control_open();
    session_run(&PEER);
    return 0;
}

static bool has_transport(enum transport transport)
{
#ifdef _WIN32
    if (transport == FIFO || transport == UNIX_ABSTRACT || transport == SOCKETPAIR) {
        return false;
    }
    if (transport == UNIX) {
        return posix_has_unix_sockets();
    }
#endif
#ifndef __linux__
    if (transport == MQ || transport == SHM_SLOT) {
        return false;
    }
#endif
    return transport != TCP6 || socket_has_ipv6();
}

static bool has_pattern(enum pattern pattern)
{
    return pattern < PATTERNS;
}

static void prepare(bool is_server, const struct cell *cell, struct json message)
{
    const struct json address = field_object(message, "address");
    play.is_server = is_server;
    play.cell = cell;
    if (is_server) {
        prepare_server(address);
    } else {
        prepare_client(address);
    }
}

static void prepare_server(struct json address)
{
    struct effective effective = {0};
    if (!transport_connects(play.cell->transport)) {
        play.gathering = gathering_open(play.cell, address, &effective);
        play.is_gathering = true;
        say_ready(address, NULL, &effective);
        return;
    }
    struct socket_address at = socket_address_read(play.cell, address);
    const int listener = listener_open(play.cell, &at, &effective);
    if (play.cell->pattern == CONNECT) {
        play.crew = crew_create(&CONNECT_SERVER, play.cell, false);
        for (size_t index = 0; index < play.crew.count; index++) {
            play.crew.workers[index].listener = listener;
            play.crew.workers[index].claimed = &play.claimed;
        }
        crew_start(&play.crew);
    } else {
        play.gathering = gathering_listen(play.cell, listener);
        play.is_gathering = true;
    }
    say_ready(address, &at, &effective);
}

static void prepare_client(struct json address)
{
    const struct part *const parts[PATTERNS] = {&CONNECT_CLIENT, &RR_CLIENT, &STREAM_CLIENT};
    const struct cell *cell = play.cell;
    struct effective effective = {0};
    struct reaching reaching = reaching_start(cell, address);
    play.crew = crew_create(parts[cell->pattern], cell, cell->workers_are_processes);
    for (size_t index = 0; index < play.crew.count; index++) {
        struct worker *worker = &play.crew.workers[index];
        if (cell->pattern == CONNECT) {
            const struct socket_address to = socket_address_read(cell, address);
            worker->caller = caller_create(cell, &to, index);
        } else {
            worker->channel = channel_in_way(reaching_next(&reaching, &effective), cell, false);
        }
        if (cell->workers_are_processes) {
            crew_fork(&play.crew, index);
            if (cell->pattern != CONNECT) {
                channel_close(worker->channel);
            }
        }
    }
    crew_start(&play.crew);
    static const char NOWHERE[] = "{}";
    say_ready((struct json){NOWHERE, NOWHERE + strlen(NOWHERE)}, NULL, &effective);
}

/* Answers the address as given, or the bound one if that includes a port. */
static void say_ready(struct json address, const struct socket_address *bound,
                      const struct effective *effective)
{
    ready_begin();
    if (bound == NULL || bound->name.any.sa_family == AF_UNIX) {
        printf("%.*s", (int)(address.end - address.at), address.at);
    } else {
        putchar('{');
        socket_address_print(bound);
        putchar('}');
    }
    ready_end(effective);
}

/* Opens a server's channels until a control line arrives; then sets up the workers. */
static void gather(void)
{
    if (play.is_gathering && gathering_until_line(&play.gathering)) {
        begin_on_channels();
    }
}

static void begin(const struct batch *batch)
{
    if (play.is_gathering) {
        gathering_complete(&play.gathering);
        begin_on_channels();
    }
    crew_ready(&play.crew, share_of(batch));
}

/* Sets up a server's workers on channels that are all open. */
static void begin_on_channels(void)
{
    play.crew = crew_create(play.cell->pattern == RR ? &RR_SERVER : &STREAM_SERVER, play.cell, false);
    for (size_t index = 0; index < play.crew.count; index++) {
        play.crew.workers[index].channel = channel_in_way(play.gathering.channels[index], play.cell, true);
    }
    crew_start(&play.crew);
    free(play.gathering.channels);
    free(play.gathering.to_client);
    play.is_gathering = false;
}

static struct together run(const struct batch *batch)
{
    atomic_store(&play.claimed, 0);
    return crew_run(&play.crew, share_of(batch));
}

/* A worker's order. */
static struct order share_of(const struct batch *batch)
{
    const bool share_all = play.is_server && play.cell->pattern == CONNECT;
    const uint64_t ops = share_all ? batch->ops : batch->ops / play.crew.count;
    return (struct order){.kind = batch->kind, .ops = ops, .seed = batch->seed};
}

static void print_latencies(const struct batch *batch)
{
    tell_latencies(&play.crew, batch->kind);
}

static void print_more(const struct batch *batch)
{
    if (batch->kind == PACED) {
        tell_pace(&play.crew);
    }
}

static void leave(void)
{
    crew_dismiss(&play.crew);
}
