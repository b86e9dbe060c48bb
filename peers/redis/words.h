/*
 * What the two peers of a cell say to each other beside redis, over a socket of their own: the server, that it
 * has counted and the client may begin; the client, that it has finished. So redis-server is asked nothing within
 * a batch, and each notices if the other is gone.
 */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>

#include "json.h"

/* The server's side: listens, and prints where as a member of its address. */
void words_listen(void);
void words_print_address(void);

/* Takes the client's connection while no control line is there; and once it is sure to be on its way. */
void words_gather(void);
void words_complete(void);

/* The client's side. */
void words_reach(struct json address);

/* Both sides; false where the other one is gone. */
bool words_say(void);
bool words_hear(void);

#endif
