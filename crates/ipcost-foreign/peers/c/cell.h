/* What to do over which transport: one point of the engine's matrix. */
#ifndef CELL_H
#define CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"

enum pattern { CONNECT, RR, STREAM, PATTERNS };
enum transport { PIPE, FIFO, UNIX, UNIX_ABSTRACT, SOCKETPAIR, TCP, TCP6, MQ, SHM_SLOT, TRANSPORTS };

/* How a side of shared memory waits for the other. */
enum waiting { BLOCKING, SPINNING, HYBRID, WAITINGS };

/* Who closes a connection first; the other waits for its end. With `any`, neither waits. */
enum closing { SERVER_CLOSES_FIRST, CLIENT_CLOSES_FIRST, ANY_CLOSES_FIRST, CLOSINGS };

/* Every option that this peer may know: hello lists those that it knows here, and any other is refused. */
enum cell_option {
    OPTION_FRAMING,
    OPTION_SERVER_BUFFER,
    OPTION_RECV_BUFFER,
    OPTION_SEND_OFFSET,
    OPTION_RECV_OFFSET,
    OPTION_TOUCH,
    OPTION_SEND_MEMORY,
    OPTION_CLOCK,
    OPTION_WORKERS,
    OPTION_DESCRIPTOR_TABLE,
    OPTION_TCP_NODELAY,
    OPTION_TCP_CONGESTION,
    OPTION_SO_SNDBUF,
    OPTION_SO_RCVBUF,
    OPTION_IO,
    OPTION_PIPE_SIZE,
    OPTION_PIPE_CALLS,
    OPTION_WAIT,
    OPTION_BACKLOG,
    OPTION_CLOSES_FIRST,
    OPTION_SPREAD_SOURCES,
    OPTION_THINK,
    OPTION_RATE,
    OPTION_ARRIVALS,
    OPTION_PACER,
    OPTION_POLLUTE,
    OPTION_TIMER_SLACK,
    OPTIONS
};

extern const char *const PATTERN_NAMES[PATTERNS];
extern const char *const TRANSPORT_NAMES[TRANSPORTS];
extern const char *const OPTION_NAMES[OPTIONS];

/* Where a buffer begins within a page of 4096 bytes: an offset, or wherever malloc puts it. */
enum { PAGE_BYTES = 4096, ANYWHERE = -1 };

/* How pauses, or operations at a rate, are spread. */
enum arrivals { USUAL_ARRIVALS, RANDOM_ARRIVALS, CONSTANT_ARRIVALS, IN_STEP_ARRIVALS };

struct cell {
    enum pattern pattern;
    enum transport transport;
    size_t size;
    size_t reply;
    size_t concurrency;
    bool server_speaks_first;

    /* Options; 0 if a number is not set. */
    bool newline_framing;
    size_t server_buffer;
    size_t recv_buffer;
    int send_offset; /* of buffers that payload is sent from; or ANYWHERE */
    int recv_offset; /* of buffers that payload is received into; or ANYWHERE */
    bool touches;    /* touch = every-byte */
    size_t send_memory;
    bool workers_are_processes;
    bool table_is_shared; /* descriptor_table = shared */
    bool table_is_private;
    bool tcp_nodelay;
    char tcp_congestion[16]; /* TCP_CA_NAME_MAX; empty for the system's */
    int so_sndbuf;
    int so_rcvbuf;
    bool sends; /* io = send */
    int pipe_size;
    bool is_clocked;        /* clock = each */
    bool stdio;             /* pipe_calls = stdio, or stdio-signals */
    bool signals;           /* pipe_calls = stdio-signals */
    enum waiting waiting;
    int backlog;
    enum closing closing;
    bool spread_sources;

    /* The pace. */
    bool thinks; /* think, which may be 0 */
    uint64_t think_ns;
    uint64_t rate; /* operations a second of all workers; 0 if none is set */
    enum arrivals arrivals;
    bool pacer_spins;      /* pacer = spin */
    size_t polluted_bytes; /* pollute */
    uint64_t timer_slack_ns;
};

/* Reads a cell; anything invalid or unknown ends the peer with an error. */
struct cell cell_read(struct json object);

/* Whether this system has what an option asks for. */
bool option_exists(enum cell_option option);

/* Whether operations wait for something else than the one before. */
bool cell_has_pace(const struct cell *cell);

/* Whether a client opens connections to a server that listens. */
bool transport_connects(enum transport transport);

#endif
