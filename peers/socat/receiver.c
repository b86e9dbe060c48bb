#define _GNU_SOURCE 1

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "back.h"
#include "command.h"
#include "control.h"
#include "fields.h"
#include "listening.h"
#include "program/process.h"
#include "roles.h"

enum {
    PATIENCE_MS = 8000,
    CHECKED_BYTES = 65536,
};

static struct {
    const struct program *socat;
    struct route route;
    struct gathering gathering;
    bool is_gathering;
    struct command command;
    struct child child;
    int payload; /* what the program writes, where it is checked; else 0 */
    struct usage before;
    uint64_t before_cpu_ns;
} receiver;

static void start(const struct batch *batch);
static void await_readiness(void);
static bool is_ready(void);
static void check_payload(uint64_t total);

void receiver_prepare(const struct program *socat, const struct cell *cell, bool is_started,
                      struct json message)
{
    receiver.socat = socat;
    receiver.route = route_read(cell, is_started, message);
    receiver.gathering = back_serve(&receiver.route, field_object(message, "address"));
    receiver.is_gathering = true;
}

void receiver_gather(void)
{
    if (receiver.is_gathering && gathering_until_line(&receiver.gathering)) {
        receiver.route.channel = receiver.gathering.channels[0];
        receiver.is_gathering = false;
    }
}

void receiver_begin(const struct batch *batch)
{
    if (receiver.is_gathering) {
        gathering_complete(&receiver.gathering);
        receiver.route.channel = receiver.gathering.channels[0];
        receiver.is_gathering = false;
    }
    start(batch);
    await_readiness();
    if (receiver.route.is_started) {
        receiver.before = (struct usage){0};
        process_read_switches(receiver.child.process, &receiver.before);
        receiver.before_cpu_ns = process_cpu_ns(receiver.child.process);
    }
}

static void start(const struct batch *batch)
{
    int ends[2] = {0, 0};
    if (batch->kind == VERIFY && pipe2(ends, O_CLOEXEC) != 0) {
        fail_with_reason("cannot make a pipe");
    }
    const uint64_t bytes = batch->ops * receiver.route.cell->size;
    command_receiver(&receiver.command, receiver.socat, &receiver.route, bytes, ends[1]);
    receiver.child = child_start(&receiver.command.launch);
    if (ends[1] != 0) {
        close(ends[1]);
    }
    receiver.payload = ends[0];
}

/* Every receiver is started before the time begins: over all transports it is to have come as far by then. */
static void await_readiness(void)
{
    const uint64_t deadline_ns = now_ns() + UINT64_C(1000000) * PATIENCE_MS;
    while (!is_ready()) {
        if (child_has_ended(&receiver.child)) {
            child_wait(&receiver.child);
            fail("socat ended before it received anything");
        }
        if (now_ns() > deadline_ns) {
            fail("socat did not get ready to receive within %d seconds; is the machine too busy?",
                 PATIENCE_MS / 1000);
        }
        const struct timespec pause = {.tv_nsec = 200000};
        nanosleep(&pause, NULL);
    }
}

static bool is_ready(void)
{
    const bool listens = route_is_opened_by_programs(&receiver.route) &&
                         transport_connects(receiver.route.cell->transport);
    return process_waits(receiver.child.process, "socat") && (!listens || listening_at(&receiver.route.at));
}

struct together receiver_run(const struct batch *batch)
{
    static const unsigned char WORD[] = {'b'};
    const uint64_t began_ns = now_ns();
    if (batch->kind == VERIFY) {
        check_payload(batch->ops * receiver.route.cell->size);
    }
    struct usage usage = child_wait(&receiver.child);
    if (receiver.route.is_started) {
        usage = usage_after(usage, &receiver.before, receiver.before_cpu_ns);
    }
    if (!send_all(receiver.route.channel.write_fd, WORD, sizeof WORD)) {
        fail_moving(batch->ops - 1, batch->ops);
    }
    const uint64_t ended_ns = now_ns();
    return (struct together){
        .wall_ns = ended_ns - began_ns,
        .usage = usage,
    };
}

/* Reads what the program writes to its end. */
static void check_payload(uint64_t total)
{
    unsigned char *bytes = fresh_buffer(CHECKED_BYTES);
    const size_t size = receiver.route.cell->size;
    uint64_t received = 0;
    ssize_t count;
    while ((count = receive_some(receiver.payload, bytes, CHECKED_BYTES)) > 0) {
        payload_check_row(bytes, (size_t)count, received, size);
        received += (uint64_t)count;
    }
    close(receiver.payload);
    free(bytes);
    if (received != total) {
        child_wait(&receiver.child);
        fail("payload mismatch: %" PRIu64 " bytes came, not %" PRIu64, received, total);
    }
}
