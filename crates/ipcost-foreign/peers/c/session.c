#define _GNU_SOURCE 1

#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "fields.h"
#include "text.h"

/* Below 2^53. */
static const uint64_t MOST_SEED = (UINT64_C(1) << 53) - 1;

/* How far the peer has got. */
static struct {
    const struct peer *peer;
    bool is_prepared;
    bool is_server;
    struct cell cell;
} session;

static void say_hello(void);
static void print_names(int count, const char *const *names, bool (*has)(int));
static bool has_transport(int transport);
static bool has_pattern(int pattern);
static bool has_option(int option);
static bool read_message(struct json *message);
static bool obey_message(struct json message);
static void prepare(struct json message);
static struct batch read_batch(struct json message);
static void run_batch(struct json message, struct batch batch);
static void say_done(uint64_t id, const struct batch *batch, const struct together *together);

void session_run(const struct peer *peer)
{
    session.peer = peer;
    say_hello();
    struct json message;
    do {
        if (peer->gather != NULL) {
            peer->gather();
        }
    } while (read_message(&message) && obey_message(message));
    if (peer->leave != NULL) {
        peer->leave();
    }
}

static void say_hello(void)
{
    const struct peer *peer = session.peer;
    printf("{\"type\":\"hello\",\"protocol\":1,\"peer\":\"%s\",\"version\":\"%s\",", peer->name, peer->version);
    printf("\"runtime\":");
    text_print(peer->runtime);
    printf(",\"roles\":[\"server\",\"client\"],\"transports\":[");
    print_names(TRANSPORTS, TRANSPORT_NAMES, has_transport);
    printf("],\"patterns\":[");
    print_names(PATTERNS, PATTERN_NAMES, has_pattern);
    printf("],\"options\":[");
    print_names(OPTIONS, OPTION_NAMES, has_option);
    printf("]}\n");
    control_flush();
}

/* Prints those names that the peer has. */
static void print_names(int count, const char *const *names, bool (*has)(int))
{
    const char *before = "";
    for (int index = 0; index < count; index++) {
        if (has(index)) {
            printf("%s\"%s\"", before, names[index]);
            before = ",";
        }
    }
}

static bool has_transport(int transport)
{
    return session.peer->has_transport((enum transport)transport);
}

static bool has_pattern(int pattern)
{
    return session.peer->has_pattern((enum pattern)pattern);
}

static bool has_option(int option)
{
    return option_exists((enum cell_option)option);
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

/* False if the message says to stop. */
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
        run_batch(message, read_batch(message));
    } else if (strcmp(type, "verify") == 0) {
        run_batch(message, (struct batch){.kind = VERIFY});
    } else {
        fail("protocol: there is no message type \"%s\"", type);
    }
    return true;
}

static void prepare(struct json message)
{
    if (session.is_prepared) {
        fail("protocol: prepared twice");
    }
    session.is_server = !value_is_second(field(message, "role"), "role", "server", "client");
    session.cell = cell_read(field_object(message, "cell"));
    session.peer->prepare(session.is_server, &session.cell, message);
    session.is_prepared = true;
}

void ready_begin(void)
{
    printf("{\"type\":\"ready\",\"address\":");
}

void ready_end(const struct effective *effective)
{
    const struct {
        const char *name;
        uint64_t became;
    } options[] = {
        {"pipe_size", effective->pipe_size},
        {"so_rcvbuf", effective->so_rcvbuf},
        {"so_sndbuf", effective->so_sndbuf},
    };
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

/* With a seed a batch is at the pace of its cell, if that has one. */
static struct batch read_batch(struct json message)
{
    struct json value;
    struct batch batch = {.kind = TIMED};
    if (json_member(message, "latency", &value) && value_boolean(value, "latency")) {
        batch.kind = LATENCY;
    }
    if (json_member(message, "seed", &value)) {
        batch.seed = value_number(value, "seed", 0, MOST_SEED);
        if (cell_has_pace(&session.cell)) {
            batch.kind = PACED;
        }
    }
    return batch;
}

static void run_batch(struct json message, struct batch batch)
{
    if (!session.is_prepared) {
        fail("protocol: a batch before prepare");
    }
    const uint64_t id = field_number(message, "id", 0, UINT64_MAX);
    const uint64_t ops = field_number(message, "ops", 0, UINT64_MAX / session.cell.size);
    const size_t workers = session.cell.concurrency;
    if (ops == 0 || ops % workers != 0) {
        fail("protocol: %" PRIu64 " operations cannot be shared by %zu workers", ops, workers);
    }
    batch.ops = ops;
    control_leave_at_end(true);
    if (session.peer->begin != NULL) {
        session.peer->begin(&batch);
    }
    if (session.is_server) {
        printf("{\"type\":\"armed\",\"id\":%" PRIu64 "}\n", id);
        control_flush();
    }
    const struct together together = session.peer->run(&batch);
    control_leave_at_end(false);
    say_done(id, &batch, &together);
}

static void say_done(uint64_t id, const struct batch *batch, const struct together *together)
{
    const struct usage *usage = &together->usage;
    printf("{\"type\":\"done\",\"id\":%" PRIu64 ",\"ops\":%" PRIu64 ",\"wall_ns\":%" PRIu64, id, batch->ops,
           together->wall_ns);
    if (together->sent_ns != 0) {
        printf(",\"sent_ns\":%" PRIu64, together->sent_ns);
    }
    printf(",\"usage\":{\"user_ns\":%" PRIu64 ",\"sys_ns\":%" PRIu64, usage->user_ns, usage->sys_ns);
    printf(",\"voluntary_switches\":%" PRIu64 ",\"involuntary_switches\":%" PRIu64 "}",
           usage->voluntary_switches, usage->involuntary_switches);
    printf(",\"latency_ns\":[");
    if (session.peer->print_latencies != NULL) {
        session.peer->print_latencies(batch);
    }
    printf("],\"retries\":%" PRIu64, together->retries);
    if (session.peer->print_more != NULL) {
        session.peer->print_more(batch);
    }
    printf("}\n");
    control_flush();
}
