#define _GNU_SOURCE 1

#include "program/port.h"

#include "control.h"

/*
 * Sockets with SO_REUSEADDR may share an address as long as at most one of them listens (socket(7)): this one
 * never does, and the program's, which has the option too, may. Nobody else is given the port meanwhile.
 */
int port_hold(struct socket_address *at)
{
    const int on = 1;
    const int held = socket(at->name.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (held < 0 || setsockopt(held, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(held, &at->name.any, at->length) != 0 || getsockname(held, &at->name.any, &at->length) != 0) {
        fail_with_reason("cannot have a port of the loopback address");
    }
    return held;
}
