/* Redis's protocol (RESP2) for what is said outside the measured loop: commands and their replies. */
#ifndef RESP_H
#define RESP_H

#include <stdbool.h>
#include <stddef.h>

#include "socket.h"

struct resp {
    int descriptor;
    char *bytes; /* what has been received: replies up to `begin` are done with */
    size_t capacity;
    size_t begin;
    size_t end;
    char server[SHOWN_BYTES];
};

struct reply {
    char type; /* '+' a word, '-' an error, ':' a number, '$' a text, '*' a list whose items are dropped */
    long long number;
    const char *text; /* ends with NUL; valid until the next reply; NULL where there is none */
};

/* Connects; the descriptor is below 0 where that fails (errno). */
struct resp resp_connect(const struct socket_address *at);

/* The same; a failure ends the peer. */
struct resp resp_open(const struct socket_address *at);

void resp_close(struct resp *resp);

/* How long a reply is waited for, from now on. */
void resp_wait_at_most(const struct resp *resp, int seconds);

/* Sends a command; its words end with NULL. False where that fails (errno). */
bool resp_send(const struct resp *resp, const char *const *words);

/* Waits for a reply. False where none comes (errno, or 0 at the end), or what comes is none (EPROTO). */
bool resp_receive(struct resp *resp, struct reply *reply);

/* Sends a command and waits for its reply; anything but that type of reply ends the peer. */
struct reply resp_ask(struct resp *resp, char type, const char *const *words);
#define RESP_ASK(resp, type, ...) resp_ask(resp, type, (const char *const[]){__VA_ARGS__, NULL})

/* Ends the peer: no reply has come. */
_Noreturn void resp_fail(const struct resp *resp, const char *command) __attribute__((cold));

#endif
