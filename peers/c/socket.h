/* Sockets with a name: Unix sockets and TCP, from the server's side and from the client's. */
#ifndef SOCKET_H
#define SOCKET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cell.h"
#include "json.h"

struct socket_address {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name;
    socklen_t length;
};

/* What options became where they were set, in the measure in which they were asked for; 0 if they were not. */
struct effective {
    uint64_t so_sndbuf;
    uint64_t so_rcvbuf;
    uint64_t pipe_size;
};

/* Where channels differ, the least is told, which is what limits. */
static inline void effective_note(uint64_t *least, uint64_t became)
{
    if (*least == 0 || became < *least) {
        *least = became;
    }
}

/* Reads an address; TCP's must be on loopback, since nothing is measured, or offered, beyond it. */
struct socket_address socket_address_read(const struct cell *cell, struct json address);

/* An address in words, for errors. */
enum { SHOWN_BYTES = 128 };
const char *socket_address_show(const struct socket_address *address, char buffer[SHOWN_BYTES]);

/* Prints the members of the protocol's object for an address; of a Unix socket, for one that has a path. */
void socket_address_print(const struct socket_address *address);

/* Whether sockets of IPv6's loopback can be had. */
bool socket_has_ipv6(void);

/* Listens at the address; `at` is then the address it really has. */
int listener_open(const struct cell *cell, struct socket_address *at, struct effective *effective);

/* Waits for the next connection. */
int listener_accept(int listener, const struct cell *cell);

/* A client that opens connections, one of a cell's workers. */
struct caller {
    const struct cell *cell;
    struct socket_address to;
    uint32_t source;      /* the next connection's source address, as its place among all there are */
    uint32_t source_uses; /* how many connections it is still good for */
    uint64_t retries;     /* attempts that met a full queue */
    struct effective effective;
};

struct caller caller_create(const struct cell *cell, const struct socket_address *to, size_t worker);

int caller_connect(struct caller *caller);

#endif
