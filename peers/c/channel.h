/* Open channels for `rr` and `stream`, one for each of a client's workers. */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "cell.h"
#include "json.h"
#include "socket.h"
#include "way.h"

/* A two-way stream of bytes; a socket is the same descriptor twice. */
struct channel {
    int read_fd;
    int write_fd;
    enum way way;
    struct other *other; /* what it needs beside descriptors, or NULL */
};

/* A socket, both ways. */
struct channel channel_of(int socket, const struct cell *cell);

/* The same descriptors in the way that the cell asks for. */
struct channel channel_in_way(struct channel channel, const struct cell *cell, bool is_server);

void channel_close(struct channel channel);

/* A server's channels, which come one by one. */
struct gathering {
    const struct cell *cell;
    struct channel *channels;
    size_t count;
    int listener;     /* below 0 where the transport does not connect */
    char **to_client; /* paths of FIFOs that wait for their reader */
};

/* Sets up what clients are to reach; channels that are there already are taken over. */
struct gathering gathering_open(const struct cell *cell, struct json address, struct effective *effective);

/* The same for a transport that connects. */
struct gathering gathering_listen(const struct cell *cell, int listener);

/* Opens channels until all are there (true), or a control line is (false). */
bool gathering_until_line(struct gathering *gathering);

/* Opens the rest, which is on its way once the engine has seen the client connected. */
void gathering_complete(struct gathering *gathering);

/* A client's channels, one after the other. */
struct reaching {
    const struct cell *cell;
    struct json first; /* a list of addresses: this one, then those under "more" */
    struct json_walk more;
    size_t count;
};

struct reaching reaching_start(const struct cell *cell, struct json address);

/* Opens the next worker's channel. */
struct channel reaching_next(struct reaching *reaching, struct effective *effective);

#endif
