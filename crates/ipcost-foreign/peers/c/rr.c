/* Pattern `rr`: request and reply on an open connection. */

#define _GNU_SOURCE 1

#include "work.h"

static void prepare_client(struct worker *worker);
static void run_client(struct worker *worker, const struct order *order);
static void prepare_server(struct worker *worker);
static void run_server(struct worker *worker, const struct order *order);

const struct part RR_CLIENT = {
    .prepare = prepare_client, .run = run_client, .records_latency = true, .tells = TELLS_ANSWERS};
const struct part RR_SERVER = {.prepare = prepare_server, .run = run_server};

/* The client: sends a request, waits for the reply. */

static void prepare_client(struct worker *worker)
{
    const struct cell *cell = worker->cell;
    create_outgoing(worker, cell->size + (cell->newline_framing ? 1 : 0), 'a');
    if (cell->newline_framing) {
        worker->outgoing[cell->size] = '\n';
    }
    create_incoming(worker, cell->reply);
}

/* With `is_clocked` the clock is read to no purpose, like programs that time each operation. */
SPECIALISED void exchange(const struct worker *worker, uint64_t ops, enum kind kind, bool is_clocked, bool touches)
{
    const struct channel channel = worker->channel;
    const size_t request_size = worker->outgoing_size;
    const size_t reply_size = worker->incoming_size;
    unsigned char *request = worker->outgoing;
    unsigned char *reply = worker->incoming;
    const bool newline_ends = worker->cell->newline_framing;
    const bool has_reply = channel.way != SIGNALS; /* there, the reply is just a signal */
    const uint64_t first_recorded = latency_first(ops);
    volatile uint64_t clocked_ns = 0;
    if (kind == PACED) {
        pace_start(worker->pace, worker->began_ns);
    }
    for (uint64_t operation = 0; operation < ops; operation++) {
        if (kind == VERIFY) {
            payload_fill(request, worker->cell->size, operation, newline_ends);
        }
        if (kind == PACED) {
            pace_begin(worker->pace);
        }
        const uint64_t begun_ns = kind == LATENCY || is_clocked ? now_ns() : 0;
        if (touches) {
            write_every_byte(request, worker->cell->size, operation);
        }
        if (!send_all(channel, request, request_size) ||
            !receive_all(channel, reply, reply_size)) {
            fail_moving(operation, ops);
        }
        if (touches && has_reply) {
            read_every_byte(reply, reply_size);
        }
        if (kind == LATENCY) {
            const uint64_t latency_ns = now_ns() - begun_ns;
            if (operation >= first_recorded) {
                latency_record(worker->latencies, latency_ns);
            }
        }
        if (kind == PACED) {
            pace_end(worker->pace);
        }
        if (is_clocked) {
            clocked_ns += now_ns() - begun_ns;
        }
        if (kind == VERIFY && has_reply) {
            payload_check(reply, reply_size, operation, 0, false);
        }
    }
}

static void run_client(struct worker *worker, const struct order *order)
{
    const bool is_clocked = worker->cell->is_clocked;
    const bool touches = worker->cell->touches;
    worker->began_ns = now_ns();
    switch (order->kind) {
    case TIMED:
        if (touches && is_clocked) {
            exchange(worker, order->ops, TIMED, true, true);
        } else if (touches) {
            exchange(worker, order->ops, TIMED, false, true);
        } else if (is_clocked) {
            exchange(worker, order->ops, TIMED, true, false);
        } else {
            exchange(worker, order->ops, TIMED, false, false);
        }
        break;
    case LATENCY:
        if (touches) {
            exchange(worker, order->ops, LATENCY, false, true);
        } else {
            exchange(worker, order->ops, LATENCY, false, false);
        }
        break;
    case PACED:
        if (touches) {
            exchange(worker, order->ops, PACED, false, true);
        } else {
            exchange(worker, order->ops, PACED, false, false);
        }
        break;
    case VERIFY:
        exchange(worker, order->ops, VERIFY, false, false);
        memset(worker->outgoing, 'a', worker->cell->size);
        break;
    }
    worker->ended_ns = now_ns();
}

/* The server: waits for a request, sends the reply. */

static void prepare_server(struct worker *worker)
{
    const struct cell *cell = worker->cell;
    create_outgoing(worker, cell->reply, 'b');
    create_incoming(worker, cell->newline_framing ? cell->server_buffer : cell->size);
}

/* Reads until the last byte read is a newline. */
SPECIALISED bool receive_line(const struct worker *worker, uint64_t message, enum kind kind, bool touches)
{
    unsigned char *bytes = worker->incoming;
    const size_t size = worker->incoming_size;
    uint64_t offset = 0;
    for (;;) {
        const ssize_t count = receive_some(worker->channel, bytes, size);
        if (count <= 0) {
            return false;
        }
        const bool is_complete = bytes[count - 1] == '\n';
        if (touches) {
            read_every_byte(bytes, (size_t)count);
        }
        if (kind == VERIFY) {
            const size_t payload = (size_t)count - (is_complete ? 1 : 0);
            payload_check(bytes, payload, message, offset, true);
            offset += payload;
        }
        if (!is_complete) {
            continue;
        }
        if (kind == VERIFY && offset != worker->cell->size) {
            fail("payload mismatch: message %" PRIu64 " has %" PRIu64 " bytes, not %zu", message, offset,
                 worker->cell->size);
        }
        return true;
    }
}

SPECIALISED void answer(const struct worker *worker, uint64_t ops, enum kind kind, bool newline_ends, bool touches)
{
    const struct channel channel = worker->channel;
    const size_t request_size = worker->incoming_size;
    const size_t reply_size = worker->outgoing_size;
    unsigned char *request = worker->incoming;
    unsigned char *reply = worker->outgoing;
    const bool has_reply = channel.way != SIGNALS;
    for (uint64_t operation = 0; operation < ops; operation++) {
        const bool received = newline_ends ? receive_line(worker, operation, kind, touches)
                                           : receive_all(channel, request, request_size);
        if (!received) {
            fail_moving(operation, ops);
        }
        if (kind == VERIFY) {
            if (!newline_ends) {
                payload_check(request, request_size, operation, 0, false);
            }
            payload_fill(reply, reply_size, operation, false);
        }
        if (touches && !newline_ends) {
            read_every_byte(request, request_size);
        }
        if (touches && has_reply) {
            write_every_byte(reply, reply_size, operation);
        }
        if (!send_all(channel, reply, reply_size)) {
            fail_moving(operation, ops);
        }
    }
}

static void run_server(struct worker *worker, const struct order *order)
{
    const bool newline_ends = worker->cell->newline_framing;
    const bool touches = worker->cell->touches;
    worker->began_ns = now_ns();
    if (order->kind == VERIFY) {
        answer(worker, order->ops, VERIFY, newline_ends, false);
        memset(worker->outgoing, 'b', worker->outgoing_size);
    } else if (newline_ends && touches) {
        answer(worker, order->ops, TIMED, true, true);
    } else if (newline_ends) {
        answer(worker, order->ops, TIMED, true, false);
    } else if (touches) {
        answer(worker, order->ops, TIMED, false, true);
    } else {
        answer(worker, order->ops, TIMED, false, false);
    }
    worker->ended_ns = now_ns();
}
