/* A port for a program that wants to be told one. */
#ifndef PORT_H
#define PORT_H

#include "socket.h"

/*
 * Finds a free TCP port at an address, which then has it, and holds it for a program that is to listen there,
 * until the descriptor is closed.
 */
int port_hold(struct socket_address *at);

#endif
