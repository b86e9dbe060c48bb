/* Pattern `stream`: messages one way, and one byte back when all have arrived. */

#define _GNU_SOURCE 1

#include "stamps.h"
#include "work.h"

static void prepare_client(struct worker *worker);
static void run_client(struct worker *worker, const struct order *order);
static void prepare_server(struct worker *worker);
static void run_server(struct worker *worker, const struct order *order);

/* The sender does not see when a message arrives, so there is no latency to record; at a pace the server sees it. */
const struct part STREAM_CLIENT = {
    .prepare = prepare_client, .run = run_client, .records_sent = true, .tells = TELLS_SENDS};
const struct part STREAM_SERVER = {.prepare = prepare_server, .run = run_server, .tells = TELLS_ARRIVALS};

/* The client: sends. */

/* How many messages the memory holds that they come from. */
static uint64_t messages_held(const struct worker *worker)
{
    const uint64_t held = worker->cell->send_memory / worker->cell->size;
    return held > 1 ? held : 1;
}

static void prepare_client(struct worker *worker)
{
    create_outgoing(worker, worker->cell->size * messages_held(worker), 'a');
}

SPECIALISED void send_messages(const struct worker *worker, uint64_t ops, enum kind kind, bool touches)
{
    const struct channel channel = worker->channel;
    const size_t size = worker->cell->size;
    const uint64_t messages = messages_held(worker);
    if (kind == PACED) {
        pace_start(worker->pace, worker->began_ns);
    }
    for (uint64_t operation = 0; operation < ops; operation++) {
        if (kind == PACED) {
            pace_begin(worker->pace);
        }
        /* A division is not part of the cost of those that have one message. */
        unsigned char *message = worker->outgoing + (messages == 1 ? 0 : operation % messages * size);
        if (kind == VERIFY) {
            payload_fill(message, size, operation, false);
        }
        if (touches) {
            write_every_byte(message, size, operation);
        }
        if (kind == PACED) {
            stamp_write(message, worker->pace->due_ns);
        }
        if (!send_all(channel, message, size)) {
            fail_moving(operation, ops);
        }
        if (kind == PACED) {
            pace_end(worker->pace);
        }
    }
}

static void run_client(struct worker *worker, const struct order *order)
{
    worker->began_ns = now_ns();
    if (order->kind == VERIFY) {
        send_messages(worker, order->ops, VERIFY, false);
        memset(worker->outgoing, 'a', worker->outgoing_size);
    } else if (order->kind == PACED && worker->cell->touches) {
        send_messages(worker, order->ops, PACED, true);
    } else if (order->kind == PACED) {
        send_messages(worker, order->ops, PACED, false);
    } else if (worker->cell->touches) {
        send_messages(worker, order->ops, TIMED, true);
    } else {
        send_messages(worker, order->ops, TIMED, false);
    }
    worker->sent_at_ns = now_ns();
    unsigned char end;
    if (!receive_all(worker->channel, &end, 1)) {
        fail_moving(order->ops - 1, order->ops);
    }
    worker->ended_ns = now_ns();
}

/* The server: receives, and answers one byte at the end. */

static void prepare_server(struct worker *worker)
{
    create_incoming(worker, worker->cell->recv_buffer);
}

SPECIALISED void receive_messages(const struct worker *worker, uint64_t ops, enum kind kind, bool touches)
{
    const struct channel channel = worker->channel;
    const size_t buffer_size = worker->incoming_size;
    unsigned char *buffer = worker->incoming;
    const size_t size = worker->cell->size;
    const uint64_t total = ops * size;
    struct stamps stamps = {.arrived = 0};
    for (uint64_t received = 0; received < total;) {
        const uint64_t left = total - received;
        const ssize_t count = receive_some(channel, buffer, left < buffer_size ? left : buffer_size);
        if (count <= 0) {
            fail_moving(received / size, ops);
        }
        if (kind == PACED) {
            stamps_take(&stamps, &worker->pace->took, buffer, (size_t)count, size);
        }
        if (kind == VERIFY) {
            payload_check_row(buffer, (size_t)count, received, size);
        }
        if (touches) {
            read_every_byte(buffer, (size_t)count);
        }
        received += (uint64_t)count;
    }
}

static void run_server(struct worker *worker, const struct order *order)
{
    static const unsigned char END[] = {'b'};
    worker->began_ns = now_ns();
    if (order->kind == VERIFY) {
        receive_messages(worker, order->ops, VERIFY, false);
    } else if (order->kind == PACED && worker->cell->touches) {
        receive_messages(worker, order->ops, PACED, true);
    } else if (order->kind == PACED) {
        receive_messages(worker, order->ops, PACED, false);
    } else if (worker->cell->touches) {
        receive_messages(worker, order->ops, TIMED, true);
    } else {
        receive_messages(worker, order->ops, TIMED, false);
    }
    if (!send_all(worker->channel, END, sizeof END)) {
        fail_moving(order->ops - 1, order->ops);
    }
    worker->ended_ns = now_ns();
}
