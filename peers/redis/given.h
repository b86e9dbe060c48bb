/* A redis server that was there before, and is there for others too. */
#ifndef GIVEN_H
#define GIVEN_H

#include <sys/types.h>

#include "key.h"
#include "resp.h"
#include "socket.h"

/* Connects to it and makes sure that it is redis and may be used; if not, the peer ends with an error. */
struct resp given_open(const struct socket_address *at);

/* Its process, where that is known here for sure; else 0. */
pid_t given_process(struct resp *desk);

/*
 * Starts a keeper: a process that removes the key from the server once this one has ended, in whatever way.
 * It is in no group that is killed with this process's.
 */
void given_keep_clean(const struct resp *desk, const struct socket_address *at, const struct key *key);

/* Lets the keeper do it now, and waits for it. */
void given_clean(void);

#endif
