/* Pattern `connect`: every operation opens a connection, exchanges one message each way and closes it. */

#define _GNU_SOURCE 1

#include "work.h"

static void prepare_client(struct worker *worker);
static void run_client(struct worker *worker, const struct order *order);
static void prepare_server(struct worker *worker);
static void run_server(struct worker *worker, const struct order *order);

const struct part CONNECT_CLIENT = {
    .prepare = prepare_client, .run = run_client, .records_latency = true, .tells = TELLS_ANSWERS};
const struct part CONNECT_SERVER = {.prepare = prepare_server, .run = run_server};

/* Waits for the other side to close. */
static inline void receive_end(struct channel channel, uint64_t operation, uint64_t ops)
{
    unsigned char none;
    const ssize_t count = receive_some(channel, &none, 1);
    if (count > 0) {
        fail("in operation %" PRIu64 " of %" PRIu64 ": more bytes came than were agreed on", operation + 1,
             ops);
    }
    if (count < 0) {
        fail_moving(operation, ops);
    }
}

/* The client: connects, speaks, closes. */

static void prepare_client(struct worker *worker)
{
    create_outgoing(worker, worker->cell->size, 'a');
    create_incoming(worker, worker->cell->reply);
}

SPECIALISED void visit(struct worker *worker, uint64_t ops, enum kind kind, bool touches)
{
    const bool client_speaks_first = !worker->cell->server_speaks_first;
    const bool awaits_end = worker->cell->closing == SERVER_CLOSES_FIRST;
    const size_t request_size = worker->outgoing_size;
    const size_t reply_size = worker->incoming_size;
    unsigned char *request = worker->outgoing;
    unsigned char *reply = worker->incoming;
    const uint64_t first_recorded = latency_first(ops);
    if (kind == PACED) {
        pace_start(worker->pace, worker->began_ns);
    }
    for (uint64_t operation = 0; operation < ops; operation++) {
        if (kind == PACED) {
            pace_begin(worker->pace);
        }
        const uint64_t begun_ns = kind == LATENCY ? now_ns() : 0;
        const struct channel connection = channel_of(caller_connect(&worker->caller), worker->cell);
        if (touches && client_speaks_first) {
            write_every_byte(request, request_size, operation);
        }
        if (client_speaks_first && !send_all(connection, request, request_size)) {
            fail_moving(operation, ops);
        }
        if (!receive_all(connection, reply, reply_size)) {
            fail_moving(operation, ops);
        }
        if (touches) {
            read_every_byte(reply, reply_size);
        }
        if (awaits_end) {
            receive_end(connection, operation, ops);
        }
        close(connection.read_fd);
        if (kind == LATENCY) {
            const uint64_t latency_ns = now_ns() - begun_ns;
            if (operation >= first_recorded) {
                latency_record(worker->latencies, latency_ns);
            }
        }
        if (kind == PACED) {
            pace_end(worker->pace);
        }
        if (kind == VERIFY) {
            /* Each connection numbers its own messages, so this is number 0. */
            payload_check(reply, reply_size, 0, 0, false);
        }
    }
}

static void run_client(struct worker *worker, const struct order *order)
{
    const bool touches = worker->cell->touches;
    worker->caller.retries = 0;
    worker->began_ns = now_ns();
    switch (order->kind) {
    case TIMED:
        if (touches) {
            visit(worker, order->ops, TIMED, true);
        } else {
            visit(worker, order->ops, TIMED, false);
        }
        break;
    case LATENCY:
        if (touches) {
            visit(worker, order->ops, LATENCY, true);
        } else {
            visit(worker, order->ops, LATENCY, false);
        }
        break;
    case PACED:
        if (touches) {
            visit(worker, order->ops, PACED, true);
        } else {
            visit(worker, order->ops, PACED, false);
        }
        break;
    case VERIFY:
        payload_fill(worker->outgoing, worker->outgoing_size, 0, false);
        visit(worker, order->ops, VERIFY, false);
        memset(worker->outgoing, 'a', worker->outgoing_size);
        break;
    }
    worker->ended_ns = now_ns();
}

/* The server: accepts, answers, closes. Workers share the listener and take turns as connections come. */

static void prepare_server(struct worker *worker)
{
    create_outgoing(worker, worker->cell->reply, 'b');
    create_incoming(worker, worker->cell->size);
}

static inline bool claim(struct worker *worker, uint64_t ops)
{
    return atomic_fetch_add_explicit(worker->claimed, 1, memory_order_relaxed) < ops;
}

SPECIALISED void receive_visitors(struct worker *worker, uint64_t ops, enum kind kind, bool touches)
{
    const bool client_speaks_first = !worker->cell->server_speaks_first;
    const bool awaits_end = worker->cell->closing == CLIENT_CLOSES_FIRST;
    const size_t request_size = worker->incoming_size;
    const size_t reply_size = worker->outgoing_size;
    unsigned char *request = worker->incoming;
    unsigned char *reply = worker->outgoing;
    for (uint64_t operation = 0; claim(worker, ops); operation++) {
        const struct channel connection =
            channel_of(listener_accept(worker->listener, worker->cell), worker->cell);
        if (client_speaks_first) {
            if (!receive_all(connection, request, request_size)) {
                fail_moving(operation, ops);
            }
            if (kind == VERIFY) {
                payload_check(request, request_size, 0, 0, false);
            }
            if (touches) {
                read_every_byte(request, request_size);
            }
        }
        if (touches) {
            write_every_byte(reply, reply_size, operation);
        }
        if (!send_all(connection, reply, reply_size)) {
            fail_moving(operation, ops);
        }
        if (awaits_end) {
            receive_end(connection, operation, ops);
        }
        close(connection.read_fd);
    }
}

static void run_server(struct worker *worker, const struct order *order)
{
    worker->began_ns = now_ns();
    if (order->kind == VERIFY) {
        payload_fill(worker->outgoing, worker->outgoing_size, 0, false);
        receive_visitors(worker, order->ops, VERIFY, false);
        memset(worker->outgoing, 'b', worker->outgoing_size);
    } else if (worker->cell->touches) {
        receive_visitors(worker, order->ops, TIMED, true);
    } else {
        receive_visitors(worker, order->ops, TIMED, false);
    }
    worker->ended_ns = now_ns();
}
