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

/* Effective values of the options that were set, in the unit of the request; 0 if not set. */
struct effective {
    uint64_t so_sndbuf;
    uint64_t so_rcvbuf;
    uint64_t pipe_size;
};

/* Where channels differ, the least is reported, as it is the limit. */
static inline void effective_note(uint64_t *least, uint64_t became)
{
    if (*least == 0 || became < *least) {
        *least = became;
    }
}

/* Reads an address; TCP's must be on loopback, since nothing is measured, or offered, beyond it. */
struct socket_address socket_address_read(const struct cell *cell, struct json address);

/* An address as text, for errors. */
enum { SHOWN_BYTES = 128 };
const char *socket_address_show(const struct socket_address *address, char buffer[SHOWN_BYTES]);

/* Prints the members of the protocol's address object; a Unix socket needs a path. */
void socket_address_print(const struct socket_address *address);

/* Whether IPv6 loopback sockets work here. */
bool socket_has_ipv6(void);

/* Listens at the address; `at` then holds the actual address. */
int listener_open(const struct cell *cell, struct socket_address *at, struct effective *effective);

/* Waits for the next connection. */
int listener_accept(int listener, const struct cell *cell);

/* A client that opens connections, one of a cell's workers. */
struct caller {
    const struct cell *cell;
    struct socket_address to;
    uint32_t source;      /* the next connection's source address, as an index */
    uint32_t source_uses; /* how many more connections may use it */
    uint64_t retries;     /* attempts that met a full queue */
    struct effective effective;
};

struct caller caller_create(const struct cell *cell, const struct socket_address *to, size_t worker);

int caller_connect(struct caller *caller);

#endif
