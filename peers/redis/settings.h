/* What the command line asks for. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>

#include "socket.h"

struct settings {
    /* Servers that are there already, by transport; with either, no server is started. */
    bool has_unix;
    bool has_tcp;
    struct socket_address unix_at;
    struct socket_address tcp_at;

    /* Whether a client asks for the address of localhost before it connects over TCP, every time. */
    bool resolves;
};

/* Reads the arguments; what makes no sense ends the peer with an error. */
struct settings settings_read(int count, char **arguments);

static inline bool settings_give_a_server(const struct settings *settings)
{
    return settings->has_unix || settings->has_tcp;
}

#endif
