#define _GNU_SOURCE 1

#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "fields.h"
#include "text.h"

/*
 * Source addresses all over 127.0.0.0/8. Two addresses and two ports identify a connection. Towards one listener, one
 * source address has about 28 000 ports, and if this side closes first, each stays in use for a minute.
 */
enum {
    FIRST_SOURCE = 0x7f010000, /* 127.1.0.0; other services listen below */
    SOURCES = 0x00ff0000,
    USES_OF_A_SOURCE = 256, /* far fewer than it has ports */
};

static struct socket_address read_local(struct json address);
static struct socket_address read_abstract(struct json address);
static struct socket_address read_v4(struct json address);
static struct socket_address read_v6(struct json address);
static _Noreturn void refuse_host(const char *host);
static int stream_socket(const struct socket_address *address);
static void switch_on(int descriptor, int level, int option, const char *name);
static void set_congestion(int descriptor, const struct cell *cell);
static void set_buffers(int descriptor, const struct cell *cell);
static void read_buffers(int descriptor, const struct cell *cell, struct effective *effective);
static uint64_t read_buffer(int descriptor, int option);
static void bind_source(struct caller *caller, int descriptor);
static void connect_patiently(struct caller *caller, int descriptor);
static _Noreturn void fail_connecting(const struct caller *caller) __attribute__((cold));

static bool is_tcp(const struct cell *cell)
{
    return cell->transport == TCP || cell->transport == TCP6;
}

static bool sets_buffers(const struct cell *cell)
{
    return cell->so_sndbuf != 0 || cell->so_rcvbuf != 0;
}

/* Addresses. */

struct socket_address socket_address_read(const struct cell *cell, struct json address)
{
    switch (cell->transport) {
    case UNIX:
        return read_local(address);
    case UNIX_ABSTRACT:
        return read_abstract(address);
    case TCP:
        return read_v4(address);
    case TCP6:
        return read_v6(address);
    default:
        fail("transport %s has no sockets with a name", TRANSPORT_NAMES[cell->transport]);
    }
}

static struct socket_address read_local(struct json address)
{
    struct socket_address read = {.name.local.sun_family = AF_UNIX};
    char *path = read.name.local.sun_path;
    field_text(address, "path", path, sizeof read.name.local.sun_path);
    read.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
    return read;
}

/* A name in Linux's abstract namespace begins with NUL and does not end with one (unix(7)). */
static struct socket_address read_abstract(struct json address)
{
    struct socket_address read = {.name.local.sun_family = AF_UNIX};
    char name[sizeof read.name.local.sun_path];
    field_text(address, "name", name, sizeof name);
    const size_t length = strlen(name);
    memcpy(read.name.local.sun_path + 1, name, length);
    read.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return read;
}

static struct socket_address read_v4(struct json address)
{
    struct socket_address read = {.name.v4.sin_family = AF_INET, .length = sizeof read.name.v4};
    char host[64];
    field_text(address, "host", host, sizeof host);
    struct in_addr *at = &read.name.v4.sin_addr;
    if (inet_pton(AF_INET, host, at) != 1 || ntohl(at->s_addr) >> 24 != IN_LOOPBACKNET) {
        refuse_host(host);
    }
    read.name.v4.sin_port = htons((uint16_t)field_number(address, "port", 0, UINT16_MAX));
    return read;
}

static struct socket_address read_v6(struct json address)
{
    struct socket_address read = {.name.v6.sin6_family = AF_INET6, .length = sizeof read.name.v6};
    char host[64];
    field_text(address, "host", host, sizeof host);
    struct in6_addr *at = &read.name.v6.sin6_addr;
    if (inet_pton(AF_INET6, host, at) != 1 || !IN6_IS_ADDR_LOOPBACK(at)) {
        refuse_host(host);
    }
    read.name.v6.sin6_port = htons((uint16_t)field_number(address, "port", 0, UINT16_MAX));
    return read;
}

static _Noreturn void refuse_host(const char *host)
{
    fail("protocol: host \"%s\" is not a loopback address of this transport", host);
}

const char *socket_address_show(const struct socket_address *address, char buffer[SHOWN_BYTES])
{
    char host[INET6_ADDRSTRLEN];
    const size_t path = offsetof(struct sockaddr_un, sun_path);
    switch (address->name.any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &address->name.v4.sin_addr, host, sizeof host);
        snprintf(buffer, SHOWN_BYTES, "%s:%d", host, ntohs(address->name.v4.sin_port));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &address->name.v6.sin6_addr, host, sizeof host);
        snprintf(buffer, SHOWN_BYTES, "[%s]:%d", host, ntohs(address->name.v6.sin6_port));
        break;
    default:
        if (address->name.local.sun_path[0] == '\0') {
            const int length = (int)((size_t)address->length - path - 1);
            snprintf(buffer, SHOWN_BYTES, "@%.*s", length, address->name.local.sun_path + 1);
        } else {
            snprintf(buffer, SHOWN_BYTES, "%s", address->name.local.sun_path);
        }
    }
    return buffer;
}

void socket_address_print(const struct socket_address *address)
{
    char host[INET6_ADDRSTRLEN];
    const int family = address->name.any.sa_family;
    if (family == AF_UNIX) {
        printf("\"path\":");
        text_print(address->name.local.sun_path);
        return;
    }
    if (family == AF_INET) {
        inet_ntop(family, &address->name.v4.sin_addr, host, sizeof host);
    } else {
        inet_ntop(family, &address->name.v6.sin6_addr, host, sizeof host);
    }
    /* Both families keep the port in the same place. */
    printf("\"host\":\"%s\",\"port\":%d", host, ntohs(address->name.v4.sin_port));
}

bool socket_has_ipv6(void)
{
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int descriptor = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        return false;
    }
    const int result = bind(descriptor, (const struct sockaddr *)&loopback, sizeof loopback);
    close(descriptor);
    return result == 0;
}

/* Both sides. */

static int stream_socket(const struct socket_address *address)
{
    const int descriptor = socket(address->name.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        fail_with_reason("cannot make a socket");
    }
    return descriptor;
}

static void switch_on(int descriptor, int level, int option, const char *name)
{
    const int on = 1;
    if (setsockopt(descriptor, level, option, &on, sizeof on) != 0) {
        fail_with_reason("cannot set %s", name);
    }
}

static void set_congestion(int descriptor, const struct cell *cell)
{
    const char *name = cell->tcp_congestion;
    if (name[0] == '\0') {
        return;
    }
#ifdef TCP_CONGESTION
    if (setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) != 0) {
        fail_with_reason("cannot set TCP_CONGESTION to %s", name);
    }
#else
    (void)descriptor;
    fail("this system has one congestion control, so not %s", name);
#endif
}

static void set_buffers(int descriptor, const struct cell *cell)
{
    if (cell->so_sndbuf != 0 &&
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &cell->so_sndbuf, sizeof cell->so_sndbuf) != 0) {
        fail_with_reason("cannot set SO_SNDBUF to %d", cell->so_sndbuf);
    }
    if (cell->so_rcvbuf != 0 &&
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &cell->so_rcvbuf, sizeof cell->so_rcvbuf) != 0) {
        fail_with_reason("cannot set SO_RCVBUF to %d", cell->so_rcvbuf);
    }
}

static void read_buffers(int descriptor, const struct cell *cell, struct effective *effective)
{
    if (cell->so_sndbuf != 0) {
        effective_note(&effective->so_sndbuf, read_buffer(descriptor, SO_SNDBUF));
    }
    if (cell->so_rcvbuf != 0) {
        effective_note(&effective->so_rcvbuf, read_buffer(descriptor, SO_RCVBUF));
    }
}

/* Linux doubles the requested size, for its own bookkeeping (socket(7)). */
#ifndef BUFFERS_ARE_KEPT_TIMES
#define BUFFERS_ARE_KEPT_TIMES 2
#endif

static uint64_t read_buffer(int descriptor, int option)
{
    int kept = 0;
    socklen_t length = sizeof kept;
    if (getsockopt(descriptor, SOL_SOCKET, option, &kept, &length) != 0) {
        fail_with_reason("cannot tell the size of a socket's buffer");
    }
    return (uint64_t)kept / BUFFERS_ARE_KEPT_TIMES;
}

/* The server's side. */

int listener_open(const struct cell *cell, struct socket_address *at, struct effective *effective)
{
    char buffer[SHOWN_BYTES];
    const int listener = stream_socket(at);
    set_buffers(listener, cell);
    read_buffers(listener, cell, effective);
    if (is_tcp(cell)) {
        switch_on(listener, SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR");
        /* Accepted connections inherit it, so accepting costs no further calls. */
        if (cell->tcp_nodelay) {
            switch_on(listener, IPPROTO_TCP, TCP_NODELAY, "TCP_NODELAY");
        }
        set_congestion(listener, cell);
    }
    if (bind(listener, &at->name.any, at->length) != 0) {
        fail_with_reason("cannot bind %s", socket_address_show(at, buffer));
    }
    if (listen(listener, cell->backlog) != 0) {
        fail_with_reason("cannot listen on %s", socket_address_show(at, buffer));
    }
    if (is_tcp(cell) && getsockname(listener, &at->name.any, &at->length) != 0) {
        fail_with_reason("cannot tell the address of %s", socket_address_show(at, buffer));
    }
    return listener;
}

int listener_accept(int listener, const struct cell *cell)
{
    int connection;
    do {
        connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    } while (connection < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (connection < 0) {
        fail_with_reason("cannot accept a connection");
    }
    /* Over TCP, connections inherit the listener's buffers; over Unix sockets they do not. */
    if (sets_buffers(cell) && !is_tcp(cell)) {
        set_buffers(connection, cell);
    }
    return connection;
}

/* The client's side. */

struct caller caller_create(const struct cell *cell, const struct socket_address *to, size_t worker)
{
    /* Workers and processes start far apart, so that they seldom meet. */
    const uint32_t start = ((uint32_t)getpid() * 0x9e3779b9u) ^ ((uint32_t)worker * 0x85ebca6bu);
    return (struct caller){
        .cell = cell,
        .to = *to,
        .source = start % SOURCES,
        .source_uses = USES_OF_A_SOURCE,
    };
}

int caller_connect(struct caller *caller)
{
    const struct cell *cell = caller->cell;
    const int connection = stream_socket(&caller->to);
    if (is_tcp(cell)) {
        if (cell->tcp_nodelay) {
            switch_on(connection, IPPROTO_TCP, TCP_NODELAY, "TCP_NODELAY");
        }
        set_congestion(connection, cell);
    }
    if (cell->transport == TCP && cell->pattern == CONNECT && cell->spread_sources) {
        bind_source(caller, connection);
    }
    if (sets_buffers(cell)) {
        set_buffers(connection, cell);
        /* In `connect` it would cost every connection a call. */
        if (cell->pattern != CONNECT) {
            read_buffers(connection, cell, &caller->effective);
        }
    }
    connect_patiently(caller, connection);
    return connection;
}

/*
 * Binds only an address and leaves the port to connect(), which knows the whole connection and so may use a port that
 * another connection from there already uses (IP_BIND_ADDRESS_NO_PORT, ip(7)).
 */
static void bind_source(struct caller *caller, int descriptor)
{
    if (caller->source_uses == 0) {
        caller->source_uses = USES_OF_A_SOURCE;
        caller->source = (caller->source + 1) % SOURCES;
    }
    caller->source_uses--;
    const struct sockaddr_in source = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(FIRST_SOURCE + caller->source),
    };
    switch_on(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, "IP_BIND_ADDRESS_NO_PORT");
    if (bind(descriptor, (const struct sockaddr *)&source, sizeof source) != 0) {
        fail_with_reason("cannot bind a source address");
    }
}

static void connect_patiently(struct caller *caller, int descriptor)
{
    while (connect(descriptor, &caller->to.name.any, caller->to.length) != 0) {
        switch (errno) {
        case EAGAIN:
            /* The listener's queue is full (unix(7)): yield and retry. */
            caller->retries++;
            sched_yield();
            break;
        case EINTR:
        case EALREADY:
            /* The connection attempt continues; calling again tells when it is ready (connect(2)). */
            break;
        case EISCONN:
            return;
        default:
            fail_connecting(caller);
        }
    }
}

static _Noreturn void fail_connecting(const struct caller *caller)
{
    char buffer[SHOWN_BYTES];
    if (errno != EADDRNOTAVAIL) {
        fail_with_reason("cannot connect to %s", socket_address_show(&caller->to, buffer));
    }
    fail("no local port is left for %s to %s: all are in use or in TIME_WAIT; let the server close first "
         "(closes_first=server), spread sources (spread_sources=true, over tcp), widen "
         "net.ipv4.ip_local_port_range or set net.ipv4.tcp_tw_reuse=2 where it is 0",
         TRANSPORT_NAMES[caller->cell->transport], socket_address_show(&caller->to, buffer));
}
