/* What to do over which transport: one point of the engine's matrix. */
#ifndef CELL_H
#define CELL_H

#include <stdbool.h>
#include <stddef.h>

#include "json.h"

enum pattern { CONNECT, RR, STREAM, PATTERNS };
enum transport { PIPE, FIFO, UNIX, UNIX_ABSTRACT, SOCKETPAIR, TCP, TCP6, MQ, SHM_SLOT, TRANSPORTS };

/* How a side of shared memory waits for the other. */
enum waiting { BLOCKING, SPINNING, HYBRID, WAITINGS };

/* Who closes a connection first; the other waits for its end. With `any`, neither waits. */
enum closing { SERVER_CLOSES_FIRST, CLIENT_CLOSES_FIRST, ANY_CLOSES_FIRST, CLOSINGS };

extern const char *const PATTERN_NAMES[PATTERNS];
extern const char *const TRANSPORT_NAMES[TRANSPORTS];

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
    bool workers_are_processes;
    bool table_is_shared; /* descriptor_table = shared */
    bool table_is_private;
    bool tcp_nodelay;
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
};

/* Reads a cell; anything invalid or unknown ends the peer with an error. */
struct cell cell_read(struct json object);

/* An option of a cell as the engine sent it; false if it is not set. */
bool cell_option(struct json cell, const char *name, struct json *value);

/*
 * Ends the peer if an option is set that is not among `names`, which the driven program does not support; `names` ends
 * with NULL.
 */
void cell_allow_options(struct json cell, const char *const *names, const char *program);

/* Whether a client opens connections to a server that listens. */
bool transport_connects(enum transport transport);

#endif
