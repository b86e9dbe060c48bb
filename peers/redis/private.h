/* A redis-server of this peer's own, which nobody else reaches. */
#ifndef PRIVATE_H
#define PRIVATE_H

#include <stdbool.h>

#include "program/program.h"
#include "resp.h"
#include "socket.h"

struct private_settings {
    int backlog;           /* how many connections may wait; 0 for redis-server's own number */
    bool takes_all_of_127; /* whether connections come from other addresses than 127.0.0.1 too */
};

/*
 * Starts one that listens at a loopback address, and nowhere else; `at` is then the address it really has.
 * Returns once it answers.
 */
struct child private_start(const struct program *program, const struct private_settings *settings,
                           struct socket_address *at);

/* Ends it, and removes its socket. */
void private_end(struct child *server);

#endif
