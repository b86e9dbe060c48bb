#define _GNU_SOURCE 1

#include <stdio.h>
#include <string.h>

#include "control.h"
#include "crew.h"
#include "fields.h"
#include "incr.h"
#include "key.h"
#include "resp.h"
#include "roles.h"
#include "words.h"

enum { PATIENCE_S = 8 };

static struct {
    struct cell cell;
    struct crew crew;
    struct key key;
} client;

static void read_key(struct json address);
static struct socket_address read_address(struct json message);
static void check_sources(const struct socket_address *to, struct json sent);
static void check_resolving(const struct socket_address *to);
static void set_workers_up(const struct socket_address *to);

void client_prepare(const struct settings *settings, const struct cell *cell, struct json message)
{
    struct json unused;
    client.cell = *cell;
    /* redis-server sets TCP_NODELAY; the published client does not, and so this one only where it is asked to. */
    client.cell.tcp_nodelay = cell_option(field_object(message, "cell"), "tcp_nodelay", &unused);
    read_key(field_object(message, "address"));
    const struct socket_address to = read_address(message);
    control_leave_at_end(true);
    check_sources(&to, field_object(message, "cell"));
    if (settings->resolves && cell->transport == TCP && cell->pattern == CONNECT) {
        check_resolving(&to);
        incr_resolves = true;
    }
    set_workers_up(&to);
    words_reach(field_object(message, "address"));
    control_leave_at_end(false);
    ready_begin();
    printf("{}");
    ready_end(&(struct effective){0});
}

static void read_key(struct json address)
{
    struct json unused;
    if (!json_member(address, "key", &unused)) {
        fail("the server's address names no key, so it is no redis peer; give --server redis");
    }
    char name[KEY_NAME_BYTES];
    field_text(address, "key", name, sizeof name);
    client.key = key_named(name, client.cell.size);
}

/* A server that was given may listen on ::1 alone; what is done over it is the same. */
static struct socket_address read_address(struct json message)
{
    const struct json address = field_object(message, "address");
    if (client.cell.transport == TCP) {
        char host[64];
        field_text(address, "host", host, sizeof host);
        if (strchr(host, ':') != NULL) {
            client.cell.transport = TCP6;
        }
    }
    return socket_address_read(&client.cell, address);
}

/*
 * A server that was given may refuse connections from other addresses than 127.0.0.1: protected mode does in
 * redis 7.0 and before. Then they all come from there, unless it was asked for by name that they do not.
 */
static void check_sources(const struct socket_address *to, struct json sent)
{
    struct cell *cell = &client.cell;
    struct json unused;
    const bool is_asked_for = cell_option(sent, "spread_sources", &unused) && cell->spread_sources;
    if (cell->transport == TCP6 && is_asked_for) {
        fail("::1 has no other addresses beside it; leave option spread_sources out");
    }
    if (cell->transport != TCP || cell->pattern != CONNECT || !cell->spread_sources) {
        return;
    }
    struct caller caller = caller_create(cell, to, 0);
    struct resp resp = {.descriptor = caller_connect(&caller)};
    struct reply reply;
    const char *const words[] = {"PING", NULL};
    resp_wait_at_most(&resp, PATIENCE_S);
    /* A server that refuses may say so before it is asked, and close. */
    resp_send(&resp, words);
    if (!resp_receive(&resp, &reply) || reply.type == '-') {
        if (is_asked_for) {
            fail("the redis server refuses connections from other addresses than 127.0.0.1; give "
                 "spread_sources=false, or turn its protected mode off");
        }
        cell->spread_sources = false;
    }
    resp_close(&resp);
}

/* What is found must be where the server is, and so on loopback. */
static void check_resolving(const struct socket_address *to)
{
    struct caller caller = {.to = *to};
    const bool has_v4 = to->name.any.sa_family == AF_INET;
    if (has_v4) {
        incr_resolve(&caller);
    }
    if (!has_v4 || caller.to.name.v4.sin_addr.s_addr != to->name.v4.sin_addr.s_addr) {
        char at[SHOWN_BYTES];
        fail("with --resolve the server must be where gethostbyname finds localhost, and it is at %s",
             socket_address_show(to, at));
    }
}

static void set_workers_up(const struct socket_address *to)
{
    const struct cell *cell = &client.cell;
    const bool connects = cell->pattern == CONNECT;
    const struct part *part = connects ? &INCR_CONNECT : &INCR_RR;
    incr_key = &client.key;
    client.crew = crew_create(part, cell, cell->workers_are_processes);
    for (size_t index = 0; index < client.crew.count; index++) {
        struct worker *worker = &client.crew.workers[index];
        worker->caller = caller_create(cell, to, index);
        if (!connects) {
            const int connection = caller_connect(&worker->caller);
            worker->channel = (struct channel){.read_fd = connection, .write_fd = connection};
        }
        if (cell->workers_are_processes) {
            crew_fork(&client.crew, index);
            if (!connects) {
                close(worker->channel.read_fd);
            }
        }
    }
    crew_start(&client.crew);
}

void client_begin(const struct batch *batch)
{
    (void)batch;
    if (!words_hear()) {
        fail("the server ended before the batch began");
    }
}

/* Its word that it has finished comes after the clock and the usage have been read. */
struct together client_run(const struct batch *batch)
{
    const struct order order = {.kind = batch->kind, .ops = batch->ops / client.crew.count};
    const struct together together = crew_run(&client.crew, order);
    if (!words_say()) {
        fail("the server ended before the batch did");
    }
    return together;
}

void client_print_latencies(void)
{
    crew_print_latencies(&client.crew);
}

void client_leave(void)
{
    crew_dismiss(&client.crew);
}
