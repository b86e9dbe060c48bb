#define _GNU_SOURCE 1

#include "incr.h"

#include <inttypes.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "control.h"

static void make_request(struct worker *worker);
static void run_rr(struct worker *worker, const struct order *order);
static void run_connect(struct worker *worker, const struct order *order);
static _Noreturn void refuse(int connection, const unsigned char *begin, size_t have, uint64_t operation,
                             uint64_t ops) __attribute__((cold));
static _Noreturn void fail_sending(int connection, uint64_t operation, uint64_t ops) __attribute__((cold));

const struct part INCR_RR = {.prepare = make_request, .run = run_rr, .records_latency = true};
const struct part INCR_CONNECT = {.prepare = make_request, .run = run_connect, .records_latency = true};

const struct key *incr_key;
bool incr_resolves;

static void make_request(struct worker *worker)
{
    worker->outgoing_size = worker->cell->size;
    worker->outgoing = key_request(incr_key, worker->outgoing_size);
    worker->incoming_size = INCR_REPLY_BYTES;
    worker->incoming = fresh_buffer(worker->incoming_size);
}

/* The number in a reply such as ":1000000001\r\n"; 0 where it is anything else. */
static inline uint64_t number_in(const unsigned char *reply)
{
    uint64_t number = 0;
    for (size_t index = 1; index < INCR_REPLY_BYTES - 2; index++) {
        const unsigned digit = (unsigned)reply[index] - '0';
        if (digit > 9) {
            return 0;
        }
        number = number * 10 + digit;
    }
    return reply[0] == ':' && memcmp(reply + INCR_REPLY_BYTES - 2, "\r\n", 2) == 0 ? number : 0;
}

/* Waits for a reply and checks it: a counter that was above 0 only rises. */
static inline uint64_t receive_number(int connection, unsigned char *reply, uint64_t operation, uint64_t ops)
{
    size_t have = 0;
    while (have < INCR_REPLY_BYTES) {
        const ssize_t count = receive_some(connection, reply + have, INCR_REPLY_BYTES - have);
        if (count <= 0) {
            fail_moving(operation, ops);
        }
        have += (size_t)count;
        if (have < INCR_REPLY_BYTES && reply[have - 1] == '\n') {
            /* It has ended, and too early. */
            refuse(connection, reply, have, operation, ops);
        }
    }
    const uint64_t number = number_in(reply);
    if (number == 0) {
        refuse(connection, reply, have, operation, ops);
    }
    return number;
}

/* An error's text is longer than the reply that was to come; the rest of its line is there by now, mostly. */
static _Noreturn void refuse(int connection, const unsigned char *begin, size_t have, uint64_t operation,
                             uint64_t ops)
{
    unsigned char line[256];
    memcpy(line, begin, have);
    if (memchr(line, '\n', have) == NULL) {
        const ssize_t more = recv(connection, line + have, sizeof line - have, MSG_DONTWAIT);
        have += more > 0 ? (size_t)more : 0;
    }
    int length = 0;
    while ((size_t)length < have && line[length] >= ' ') {
        length++;
    }
    fail("in operation %" PRIu64 " of %" PRIu64 ": redis answered INCR with \"%.*s\", and not with a number of "
         "ten digits",
         operation + 1, ops, length, (const char *)line);
}

/* A server that wants no more clients says why and closes. */
static _Noreturn void fail_sending(int connection, uint64_t operation, uint64_t ops)
{
    const int reason = errno;
    unsigned char begin[INCR_REPLY_BYTES];
    const ssize_t count = recv(connection, begin, sizeof begin, MSG_DONTWAIT);
    if (count > 0) {
        refuse(connection, begin, (size_t)count, operation, ops);
    }
    errno = reason;
    fail_moving(operation, ops);
}

/* With a single worker, each number follows the one before; with several, others may have come in between. */
static void check_order(const struct worker *worker, uint64_t *last, uint64_t number, uint64_t operation)
{
    const bool is_alone = worker->cell->concurrency == 1;
    if (*last != 0 && (is_alone ? number != *last + 1 : number <= *last)) {
        fail("payload mismatch: the number in reply %" PRIu64 " is %" PRIu64 " and the one before it %" PRIu64,
             operation, number, *last);
    }
    *last = number;
}

SPECIALISED void count_up(struct worker *worker, uint64_t ops, enum kind kind, bool connects)
{
    const size_t size = worker->outgoing_size;
    const unsigned char *request = worker->outgoing;
    unsigned char *reply = worker->incoming;
    const bool resolves = connects && incr_resolves;
    int connection = worker->channel.write_fd;
    uint64_t last = 0;
    const uint64_t first_recorded = latency_first(ops);
    for (uint64_t operation = 0; operation < ops; operation++) {
        const uint64_t begun_ns = kind == LATENCY ? now_ns() : 0;
        if (resolves) {
            incr_resolve(&worker->caller);
        }
        if (connects) {
            connection = caller_connect(&worker->caller);
        }
        if (!send_all(connection, request, size)) {
            fail_sending(connection, operation, ops);
        }
        const uint64_t number = receive_number(connection, reply, operation, ops);
        if (connects) {
            close(connection);
        }
        if (kind == LATENCY) {
            const uint64_t latency_ns = now_ns() - begun_ns;
            if (operation >= first_recorded) {
                latency_record(worker->latencies, latency_ns);
            }
        }
        if (kind == VERIFY) {
            check_order(worker, &last, number, operation);
        }
    }
}

SPECIALISED void run_kind(struct worker *worker, const struct order *order, bool connects)
{
    worker->caller.retries = 0;
    worker->began_ns = now_ns();
    switch (order->kind) {
    case TIMED:
        count_up(worker, order->ops, TIMED, connects);
        break;
    case LATENCY:
        count_up(worker, order->ops, LATENCY, connects);
        break;
    case VERIFY:
        count_up(worker, order->ops, VERIFY, connects);
        break;
    }
    worker->ended_ns = now_ns();
}

static void run_rr(struct worker *worker, const struct order *order)
{
    run_kind(worker, order, false);
}

static void run_connect(struct worker *worker, const struct order *order)
{
    run_kind(worker, order, true);
}

/* As the published client does; gethostbyname() itself, which only wraps this, is for one thread at a time. */
void incr_resolve(struct caller *caller)
{
    char room[4096];
    struct hostent entry;
    struct hostent *found = NULL;
    int problem;
    if (gethostbyname_r("localhost", &entry, room, sizeof room, &found, &problem) != 0 || found == NULL ||
        found->h_addrtype != AF_INET) {
        fail("gethostbyname finds no address of localhost; name it in /etc/hosts");
    }
    memcpy(&caller->to.name.v4.sin_addr, found->h_addr_list[0], sizeof caller->to.name.v4.sin_addr);
}
