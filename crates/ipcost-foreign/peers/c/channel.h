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
    struct other *other; /* what it needs besides descriptors, or NULL */
};

/* A socket, both ways. */
struct channel channel_of(int socket, const struct cell *cell);

/* The same descriptors, called in the way that the cell asks for. */
struct channel channel_in_way(struct channel channel, const struct cell *cell, bool is_server);

void channel_close(struct channel channel);

/* A server's channels, which arrive one by one. */
struct gathering {
    const struct cell *cell;
    struct channel *channels;
    size_t count;
    int listener;     /* below 0 if the transport does not connect */
    char **to_client; /* paths of FIFOs that wait for their reader */
};

/* Sets up what clients will reach; takes over channels that already exist. */
struct gathering gathering_open(const struct cell *cell, struct json address, struct effective *effective);

/* The same for a transport that connects. */
struct gathering gathering_listen(const struct cell *cell, int listener);

/* Opens channels until all are open (true), or a control line arrives (false). */
bool gathering_until_line(struct gathering *gathering);

/* Opens the rest, which are on their way once the engine has seen the client connect. */
void gathering_complete(struct gathering *gathering);

/* A client's channels, one after another. */
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
