/* One worker's part of a batch, and what the loops of all patterns share. */
#ifndef WORK_H
#define WORK_H

#include <errno.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cell.h"
#include "channel.h"
#include "control.h"
#include "latency.h"
#include "pace.h"
#include "socket.h"

/* How to do operations: at full speed, with the clock read around each, at a pace, or with a checked payload. */
enum kind { TIMED, LATENCY, PACED, VERIFY };

struct usage {
    uint64_t user_ns;
    uint64_t sys_ns;
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
};

/* What a batch took, all workers together. */
struct together {
    uint64_t wall_ns;
    uint64_t sent_ns; /* 0 if not measured */
    uint64_t retries;
    struct usage usage;
};

/* A worker's order. */
struct order {
    enum kind kind;
    uint64_t ops; /* of this worker; of all workers in a server of `connect` */
    uint64_t seed; /* of a pace */
    bool is_ahead; /* only gets what the batch needs, which follows */
};

/* A worker has its own cache lines. */
struct worker {
    alignas(64) const struct cell *cell;
    unsigned char *outgoing;
    unsigned char *incoming;
    size_t outgoing_size;
    size_t incoming_size;

    struct channel channel; /* of `rr` and `stream` */
    struct caller caller;   /* of a client that connects */
    int listener;           /* of a server of `connect`, with its workers' count of claimed connections */
    atomic_uint_fast64_t *claimed;

    /* Its report. */
    uint64_t began_ns;
    uint64_t ended_ns;
    uint64_t sent_at_ns;
    struct latencies *latencies; /* NULL if none are recorded */
    struct pace *pace;           /* NULL if it keeps none */
    struct usage usage;          /* of a worker process */
};

/* What workers of one role and pattern do: create their buffers once, then run their part of every batch. */
struct part {
    void (*prepare)(struct worker *worker);
    void (*run)(struct worker *worker, const struct order *order);
    bool records_latency;
    enum tells tells; /* at a pace */
    bool records_sent;
};

extern const struct part RR_CLIENT;
extern const struct part RR_SERVER;
extern const struct part STREAM_CLIENT;
extern const struct part STREAM_SERVER;
extern const struct part CONNECT_CLIENT;
extern const struct part CONNECT_SERVER;

/*
 * Creates a worker's buffer, where the cell's send_offset or recv_offset asks for it: what a copy costs depends on where
 * its ends lie within their pages. It lives as long as the process.
 */
void create_outgoing(struct worker *worker, size_t size, unsigned char content);
void create_incoming(struct worker *worker, size_t size);

/*
 * The payload of `verify`: byte i of message m is (m + i) mod 251. Where a newline ends messages, byte 10 travels as
 * 251, which the payload otherwise never contains.
 */
void payload_fill(unsigned char *bytes, size_t count, uint64_t message, bool newline_ends);

/* Checks bytes of a message from its byte `offset` on. */
void payload_check(const unsigned char *bytes, size_t count, uint64_t message, uint64_t offset,
                   bool newline_ends);

/* Checks bytes that begin and end anywhere in a sequence of messages of one size, without newlines. */
void payload_check_row(const unsigned char *bytes, size_t count, uint64_t offset, size_t size);

/* Ends the peer: sending or receiving failed (errno, or 0 if the other side has closed). */
_Noreturn void fail_moving(uint64_t operation, uint64_t ops) __attribute__((cold));

/*
 * The loops are written once and compiled for every kind, with and without touch, so that none checks these inside the
 * loop.
 */
#define SPECIALISED static inline __attribute__((always_inline))

static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* For touch: writes every byte of a message. The value changes from one operation to the next and is no newline. */
static inline void write_every_byte(unsigned char *bytes, size_t size, uint64_t operation)
{
    memset(bytes, 0x60 + (int)(operation % 16), size);
}

/* For touch: reads every byte, in words. The sum is stored where the compiler cannot drop it. */
static inline void read_every_byte(const unsigned char *bytes, size_t size)
{
    uint64_t sum = 0;
    for (; size >= sizeof sum; bytes += sizeof sum, size -= sizeof sum) {
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        sum += word;
    }
    while (size-- > 0) {
        sum += *bytes++;
    }
    volatile uint64_t kept = sum;
    (void)kept;
}

static inline bool send_all(struct channel channel, const unsigned char *bytes, size_t size)
{
    if (channel.way == SLOT) {
        return slot_send(channel.other, bytes, size);
    }
    if (channel.way > SENDS) {
        return way_send(channel.way, channel.other, bytes, size);
    }
    for (;;) {
        const ssize_t count = channel.way == SENDS ? send(channel.write_fd, bytes, size, MSG_NOSIGNAL)
                                                   : write(channel.write_fd, bytes, size);
        if (count == (ssize_t)size) {
            return true;
        }
        if (count >= 0) {
            bytes += count;
            size -= (size_t)count;
        } else if (errno != EINTR) {
            return false;
        }
    }
}

/* Some bytes; 0 at the end, with no error. */
static inline ssize_t receive_some(struct channel channel, unsigned char *bytes, size_t size)
{
    for (;;) {
        ssize_t count;
        if (channel.way == SLOT) {
            count = slot_receive(channel.other, bytes, size);
        } else if (channel.way > SENDS) {
            count = way_receive(channel.way, channel.other, bytes, size);
        } else if (channel.way == SENDS) {
            count = recv(channel.read_fd, bytes, size, 0);
        } else {
            count = read(channel.read_fd, bytes, size);
        }
        if (count > 0) {
            return count;
        }
        if (count == 0) {
            errno = 0;
            return 0;
        }
        if (errno != EINTR) {
            return -1;
        }
    }
}

static inline bool receive_all(struct channel channel, unsigned char *bytes, size_t size)
{
    for (;;) {
        const ssize_t count = receive_some(channel, bytes, size);
        if (count == (ssize_t)size) {
            return true;
        }
        if (count <= 0) {
            return false;
        }
        bytes += count;
        size -= (size_t)count;
    }
}

#endif
