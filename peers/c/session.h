/*
 * The session of the control protocol: hello, prepare, batches, stop. It is the same for every peer; what is
 * done at each step is the peer's own, and stands in a table.
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
};

/* Who a peer is, what it has, and what it does at each step. */
struct peer {
    const char *name;
    const char *version;
    const char *runtime;
    bool (*has_transport)(enum transport transport);
    bool (*has_pattern)(enum pattern pattern);

    /* Sets up for a role in a cell that outlives the peer, and says `ready`. */
    void (*prepare)(bool is_server, const struct cell *cell, struct json message);

    /* Goes on setting up until a control line is there, where `ready` can be said before all is; or NULL. */
    void (*gather)(void);

    /* What has to be done before a server is armed, and before a client's clock starts; or NULL. */
    void (*begin)(const struct batch *batch);

    struct together (*run)(const struct batch *batch);

    /* Latencies of the last batch, as the items of a list; or NULL. */
    void (*print_latencies)(void);

    /* Further members of `done`, each with a comma before it; or NULL. */
    void (*print_more)(void);

    /* At `stop` or the end of input; or NULL. */
    void (*leave)(void);
};

/* Says hello and obeys until it is told to stop, or its input ends. After control_open(). */
void session_run(const struct peer *peer);

/* Says `ready`: these, with the address printed in between. */
void ready_begin(void);
void ready_end(const struct effective *effective);

#endif
