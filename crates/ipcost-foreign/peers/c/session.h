/*
 * The session of the control protocol: hello, prepare, batches, stop. It is the same for every peer; the peer's own
 * actions at each step are in a table.
 */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "cell.h"
#include "json.h"
#include "socket.h"
#include "work.h"

struct batch {
    enum kind kind;
    uint64_t ops;
    uint64_t seed; /* of a pace */
};

/* Who a peer is, what it supports, and what it does at each step. */
struct peer {
    const char *name;
    const char *version;
    const char *runtime;
    bool (*has_transport)(enum transport transport);
    bool (*has_pattern)(enum pattern pattern);

    /* Sets up a role in a cell, which outlives the peer, and sends `ready`. */
    void (*prepare)(bool is_server, const struct cell *cell, struct json message);

    /* Continues setup until a control line arrives, if `ready` can be sent before all is set up; or NULL. */
    void (*gather)(void);

    /* What must happen before a server is armed, and before a client's clock starts; or NULL. */
    void (*begin)(const struct batch *batch);

    struct together (*run)(const struct batch *batch);

    /* Latencies of the last batch, as the items of a list; or NULL. */
    void (*print_latencies)(const struct batch *batch);

    /* Further members of `done`, each with a comma before it; or NULL. */
    void (*print_more)(const struct batch *batch);

    /* At `stop` or the end of input; or NULL. */
    void (*leave)(void);
};

/* Says hello and obeys until told to stop, or its input ends. Call after control_open(). */
void session_run(const struct peer *peer);

/* Sends `ready`: these, with the address printed in between. */
void ready_begin(void);
void ready_end(const struct effective *effective);

#endif
