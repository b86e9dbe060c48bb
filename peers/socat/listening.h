/* Whether somebody listens at an address, found out without connecting. */
#ifndef LISTENING_H
#define LISTENING_H

#include <stdbool.h>

#include "socket.h"

bool listening_at(const struct socket_address *at);

#endif
