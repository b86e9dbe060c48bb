#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/syscall.h>
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
    LAST_WORDS_MS = 100,
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
    uint64_t read_before; /* bytes that the program has read for its own start, where that can be told apart */
} receiver;

static void start(const struct batch *batch);
static void await_readiness(void);
static bool is_ready(void);
static void await_end(void);
static void await(int descriptor);
static _Noreturn void fail_without_client(void) __attribute__((cold));
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
    receiver.read_before = 0;
    if (route_has_beside(&receiver.route)) {
        /* Nobody sends before the word. */
        process_bytes_read(receiver.child.process, &receiver.read_before);
        if (!back_say(&receiver.route)) {
            fail_without_client();
        }
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
    /* Where a client is early, a small batch may be over by now; how, is seen when it is waited for. */
    while (!is_ready() && !child_has_ended(&receiver.child)) {
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
    return process_waits(receiver.child.process, "socat") &&
           (!route_has_beside(&receiver.route) || listening_at(&receiver.route.at));
}

/* The word comes first, since the client's clock waits for it; what is found out afterwards can still fail. */
struct together receiver_run(const struct batch *batch)
{
    const uint64_t total = batch->ops * receiver.route.cell->size;
    const uint64_t began_ns = now_ns();
    if (batch->kind == VERIFY) {
        check_payload(total);
    }
    await_end();
    const bool was_heard = back_say(&receiver.route);
    const uint64_t ended_ns = now_ns();
    uint64_t received;
    const bool is_known = process_bytes_read(receiver.child.process, &received);
    struct usage usage = child_wait(&receiver.child);
    /* It ends well at the end of what it reads, also where that comes too early. */
    if (!was_heard || (is_known && received - receiver.read_before < total)) {
        fail_without_client();
    }
    if (receiver.route.is_started) {
        usage = usage_after(usage, &receiver.before, receiver.before_cpu_ns);
    }
    return (struct together){.wall_ns = ended_ns - began_ns, .usage = usage};
}

static void await_end(void)
{
    const int process_fd = (int)syscall(SYS_pidfd_open, receiver.child.process, 0);
    if (process_fd >= 0) {
        await(process_fd);
        close(process_fd);
    }
    child_await_end(&receiver.child);
}

/*
 * Waits until a descriptor can be read, or the client is gone. A receiver that listens does not notice that nobody
 * will ever come; the connection beside does. Over all other transports it reads the end of what such a client has
 * left.
 */
static void await(int descriptor)
{
    const bool has_beside = route_has_beside(&receiver.route);
    struct pollfd watched[] = {
        {.fd = descriptor, .events = POLLIN},
        {.fd = has_beside ? receiver.route.channel.read_fd : -1, .events = POLLRDHUP},
    };
    while (poll(watched, 2, -1) < 0 && errno == EINTR) {
    }
    if (watched[0].revents == 0) {
        fail_without_client();
    }
}

/* It, or its sender, is gone. It tells best itself why, and is given the time to be heard first. */
static _Noreturn void fail_without_client(void)
{
    poll(NULL, 0, LAST_WORDS_MS);
    fail("the client or its socat ended before all bytes had come");
}

/* Reads what the program writes to its end. */
static void check_payload(uint64_t total)
{
    static unsigned char *bytes;
    if (bytes == NULL) {
        bytes = fresh_buffer(CHECKED_BYTES);
    }
    const size_t size = receiver.route.cell->size;
    uint64_t received = 0;
    ssize_t count;
    await(receiver.payload);
    while ((count = receive_some(receiver.payload, bytes, CHECKED_BYTES)) > 0) {
        payload_check_row(bytes, (size_t)count, received, size);
        received += (uint64_t)count;
    }
    close(receiver.payload);
    if (received != total) {
        child_wait(&receiver.child);
        fail("payload mismatch: %" PRIu64 " bytes came, not %" PRIu64, received, total);
    }
}
