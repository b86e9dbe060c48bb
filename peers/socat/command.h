/* The command lines of socat: `socat -u -b SIZE FROM TO`, one for each end. */
#ifndef COMMAND_H
#define COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cell.h"
#include "channel.h"
#include "program/program.h"
#include "socket.h"

/* How the two programs reach each other. */
struct route {
    const struct cell *cell;
    bool is_started;            /* whether what they move bytes over is open before they are */
    bool sets_backlog;          /* whether the cell says how long the listener's queue is */
    struct socket_address at;   /* of a transport that connects */
    char fifo[PATH_MAX];        /* of `fifo`, the one to the server */
    struct channel channel;     /* whose bytes they move where they inherit them; and the way back */
};

/* Reads what the address tells of it. */
struct route route_read(const struct cell *cell, bool is_started, struct json message);

/* Whether the programs open by themselves what they move bytes over. */
bool route_is_opened_by_programs(const struct route *route);

/* Whether they connect by themselves, and these peers beside them. */
bool route_has_beside(const struct route *route);

struct command {
    char block[24];
    char from[2 * PATH_MAX + 128];
    char to[2 * PATH_MAX + 128];
    const char *arguments[6];
    struct launch launch;
};

/* What sends so many bytes. It reads them from /dev/zero, or from the descriptor where one is given. */
void command_sender(struct command *command, const struct program *socat, const struct route *route,
                    uint64_t bytes, int payload);

/* What receives so many bytes. It writes them to /dev/null, or to the descriptor where one is given. */
void command_receiver(struct command *command, const struct program *socat, const struct route *route,
                      uint64_t bytes, int payload);

#endif
