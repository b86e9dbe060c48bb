/*
 * ipcost-peer-c: plays the client or the server of one cell and speaks the control protocol of ipcost,
 * version 1, on standard input and output.
 */

#define _GNU_SOURCE 1

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "control.h"
#include "crew.h"
#include "fields.h"
#include "json.h"
#include "socket.h"
#include "work.h"

#define VERSION "0.1.0"

#if defined __clang__
#define COMPILER "clang"
#define COMPILER_MAJOR __clang_major__
#define COMPILER_MINOR __clang_minor__
#define COMPILER_PATCH __clang_patchlevel__
#else
#define COMPILER "gcc"
#define COMPILER_MAJOR __GNUC__
#define COMPILER_MINOR __GNUC_MINOR__
#define COMPILER_PATCH __GNUC_PATCHLEVEL__
#endif

/* How far the peer has got. */
static struct {
    enum { FRESH, GATHERING, PLAYING } stage;
    bool is_server;
    struct cell cell;
    struct gathering gathering;
    struct crew crew;
    atomic_uint_fast64_t claimed; /* connections that a server's workers have claimed in this batch */
} peer;

static void say_hello(void);
static void gather(void);
static bool read_message(struct json *message);
static bool obey_message(struct json message);
static void prepare(struct json message);
static void prepare_server(struct json address);
static void prepare_client(struct json address);
static void say_ready(struct json address, const struct socket_address *bound,
                      const struct effective *effective);
static void begin_on_channels(void);
static void run_batch(struct json message, enum kind kind);
static void gather_the_rest(void);
static void say_done(uint64_t id, uint64_t ops, enum kind kind, const struct together *together);

int main(void)
{
    control_open();
    say_hello();
    struct json message;
    do {
        gather();
    } while (read_message(&message) && obey_message(message));
    crew_dismiss(&peer.crew);
    return 0;
}

static void say_hello(void)
{
    printf("{\"type\":\"hello\",\"protocol\":1,\"peer\":\"c\",\"version\":\"" VERSION "\",");
    printf("\"runtime\":\"" COMPILER " %d.%d.%d\",", COMPILER_MAJOR, COMPILER_MINOR, COMPILER_PATCH);
    printf("\"roles\":[\"server\",\"client\"],\"transports\":[");
    for (int transport = 0; transport < TRANSPORTS; transport++) {
        if (transport != TCP6 || socket_has_ipv6()) {
            printf("%s\"%s\"", transport == 0 ? "" : ",", TRANSPORT_NAMES[transport]);
        }
    }
    printf("],\"patterns\":[");
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        printf("%s\"%s\"", pattern == 0 ? "" : ",", PATTERN_NAMES[pattern]);
    }
    printf("]}\n");
    control_flush();
}

/* Opens a server's channels while no control line is there; then sets the workers up. */
static void gather(void)
{
    if (peer.stage != GATHERING) {
        return;
    }
    struct gathering *gathering = &peer.gathering;
    while (!gathering_is_complete(gathering)) {
        if (!gathering_try(gathering) &&
            control_wait_beside(gathering->listener, gathering_pause_ms(gathering))) {
            return;
        }
    }
    begin_on_channels();
}

static bool read_message(struct json *message)
{
    const char *line;
    size_t length;
    const char *problem;
    if (!control_line(&line, &length)) {
        return false;
    }
    if (!json_read(line, length, message, &problem)) {
        fail("protocol: a control line is no JSON: %s", problem);
    }
    if (!json_is_object(*message)) {
        fail("protocol: a control line is no object");
    }
    return true;
}

/* False where the message says to stop. */
static bool obey_message(struct json message)
{
    char type[64];
    field_text(message, "type", type, sizeof type);
    if (strcmp(type, "stop") == 0) {
        return false;
    }
    if (strcmp(type, "prepare") == 0) {
        prepare(message);
    } else if (strcmp(type, "batch") == 0) {
        struct json latency;
        const bool wants_latency =
            json_member(message, "latency", &latency) && value_boolean(latency, "latency");
        run_batch(message, wants_latency ? LATENCY : TIMED);
    } else if (strcmp(type, "verify") == 0) {
        run_batch(message, VERIFY);
    } else {
        fail("protocol: there is no message type \"%s\"", type);
    }
    return true;
}

static void prepare(struct json message)
{
    if (peer.stage != FRESH) {
        fail("protocol: prepared twice");
    }
    peer.is_server = !value_is_second(field(message, "role"), "role", "server", "client");
    peer.cell = cell_read(field_object(message, "cell"));
    const struct json address = field_object(message, "address");
    if (peer.is_server) {
        prepare_server(address);
    } else {
        prepare_client(address);
    }
}

static void prepare_server(struct json address)
{
    struct effective effective = {0};
    if (!transport_connects(peer.cell.transport)) {
        peer.gathering = gathering_open(&peer.cell, address, &effective);
        peer.stage = GATHERING;
        say_ready(address, NULL, &effective);
        return;
    }
    struct socket_address at = socket_address_read(&peer.cell, address);
    const int listener = listener_open(&peer.cell, &at, &effective);
    if (peer.cell.pattern == CONNECT) {
        peer.crew = crew_create(&CONNECT_SERVER, &peer.cell, false);
        for (size_t index = 0; index < peer.crew.count; index++) {
            peer.crew.workers[index].listener = listener;
            peer.crew.workers[index].claimed = &peer.claimed;
        }
        crew_start(&peer.crew);
        peer.stage = PLAYING;
    } else {
        peer.gathering = gathering_listen(&peer.cell, listener);
        peer.stage = GATHERING;
    }
    say_ready(address, &at, &effective);
}

static void prepare_client(struct json address)
{
    const struct part *const parts[PATTERNS] = {&CONNECT_CLIENT, &RR_CLIENT, &STREAM_CLIENT};
    const struct cell *cell = &peer.cell;
    struct effective effective = {0};
    struct reaching reaching = reaching_start(cell, address);
    peer.crew = crew_create(parts[cell->pattern], cell, cell->workers_are_processes);
    for (size_t index = 0; index < peer.crew.count; index++) {
        struct worker *worker = &peer.crew.workers[index];
        if (cell->pattern == CONNECT) {
            const struct socket_address to = socket_address_read(cell, address);
            worker->caller = caller_create(cell, &to, index);
        } else {
            worker->channel = reaching_next(&reaching, &effective);
        }
        if (cell->workers_are_processes) {
            crew_fork(&peer.crew, index);
            if (cell->pattern != CONNECT) {
                channel_close(worker->channel);
            }
        }
    }
    crew_start(&peer.crew);
    peer.stage = PLAYING;
    static const char NOWHERE[] = "{}";
    say_ready((struct json){NOWHERE, NOWHERE + strlen(NOWHERE)}, NULL, &effective);
}

/* Answers the address as it was given, or the one that was bound where it tells a port. */
static void say_ready(struct json address, const struct socket_address *bound,
                      const struct effective *effective)
{
    const struct {
        const char *name;
        uint64_t became;
    } options[] = {
        {"pipe_size", effective->pipe_size},
        {"so_rcvbuf", effective->so_rcvbuf},
        {"so_sndbuf", effective->so_sndbuf},
    };
    printf("{\"type\":\"ready\",\"address\":");
    if (bound == NULL || !socket_address_print(bound)) {
        printf("%.*s", (int)(address.end - address.at), address.at);
    }
    const char *before = ",\"effective\":{";
    const char *after = "";
    for (size_t index = 0; index < sizeof options / sizeof *options; index++) {
        if (options[index].became != 0) {
            printf("%s\"%s\":%" PRIu64, before, options[index].name, options[index].became);
            before = ",";
            after = "}";
        }
    }
    printf("%s}\n", after);
    control_flush();
}

/* Sets a server's workers up on channels that are all open. */
static void begin_on_channels(void)
{
    peer.crew = crew_create(peer.cell.pattern == RR ? &RR_SERVER : &STREAM_SERVER, &peer.cell, false);
    for (size_t index = 0; index < peer.crew.count; index++) {
        peer.crew.workers[index].channel = peer.gathering.channels[index];
    }
    crew_start(&peer.crew);
    free(peer.gathering.channels);
    free(peer.gathering.to_client);
    peer.stage = PLAYING;
}

static void run_batch(struct json message, enum kind kind)
{
    if (peer.stage == FRESH) {
        fail("protocol: a batch before prepare");
    }
    const uint64_t id = field_number(message, "id", 0, UINT64_MAX);
    const uint64_t ops = field_number(message, "ops", 0, UINT64_MAX / peer.cell.size);
    const size_t workers = peer.cell.concurrency;
    if (ops == 0 || ops % workers != 0) {
        fail("protocol: %" PRIu64 " operations cannot be shared by %zu workers", ops, workers);
    }
    control_leave_at_end(true);
    gather_the_rest();
    if (peer.is_server) {
        printf("{\"type\":\"armed\",\"id\":%" PRIu64 "}\n", id);
        control_flush();
    }
    const bool share_all = peer.is_server && peer.cell.pattern == CONNECT;
    atomic_store(&peer.claimed, 0);
    const struct together together =
        crew_run(&peer.crew, (struct order){.kind = kind, .ops = share_all ? ops : ops / workers});
    control_leave_at_end(false);
    say_done(id, ops, kind, &together);
}

/* The engine has seen the client connected, so what is missing is on its way. */
static void gather_the_rest(void)
{
    if (peer.stage != GATHERING) {
        return;
    }
    struct gathering *gathering = &peer.gathering;
    while (!gathering_is_complete(gathering)) {
        if (!gathering_try(gathering)) {
            gathering_wait(gathering);
        }
    }
    begin_on_channels();
}

static void say_done(uint64_t id, uint64_t ops, enum kind kind, const struct together *together)
{
    const struct usage *usage = &together->usage;
    printf("{\"type\":\"done\",\"id\":%" PRIu64 ",\"ops\":%" PRIu64 ",\"wall_ns\":%" PRIu64, id, ops,
           together->wall_ns);
    if (peer.crew.part->records_sent) {
        printf(",\"sent_ns\":%" PRIu64, together->sent_ns);
    }
    printf(",\"usage\":{\"user_ns\":%" PRIu64 ",\"sys_ns\":%" PRIu64, usage->user_ns, usage->sys_ns);
    printf(",\"voluntary_switches\":%" PRIu64 ",\"involuntary_switches\":%" PRIu64 "}",
           usage->voluntary_switches, usage->involuntary_switches);
    printf(",\"latency_ns\":[");
    if (kind == LATENCY) {
        crew_print_latencies(&peer.crew);
    }
    printf("],\"retries\":%" PRIu64 "}\n", together->retries);
    control_flush();
}
