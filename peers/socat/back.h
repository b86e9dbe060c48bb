/*
 * The way back: how the server's side tells the client's that a receiver has ended, in one byte. For pipes and
 * FIFOs it is the direction to the client; for sockets that the programs connect by themselves, a connection
 * beside theirs; else their own connection, which they use in one direction only.
 *
 * Beside theirs, it also tells by a byte that a receiver listens. Over all others nothing has to wait for that:
 * what is sent early stays where it is until it is received.
 */
#ifndef BACK_H
#define BACK_H

#include "channel.h"
#include "command.h"
#include "json.h"

/* Opens what the server has to open, and says `ready`. What is still to come is gathered. */
struct gathering back_serve(struct route *route, struct json address);

/* Opens the client's end, and what is moved over if the programs do not open it. */
struct channel back_reach(struct route *route, struct json address, struct effective *effective);

/* The server's side says a word. False where the client is gone. */
bool back_say(const struct route *route);

/* The client's side waits for one. False where the server is gone. */
bool back_hear(const struct route *route);

#endif
