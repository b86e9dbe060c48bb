/* The two roles of the redis peer. */
#ifndef ROLES_H
#define ROLES_H

#include <stdbool.h>

#include "cell.h"
#include "course.h"
#include "json.h"
#include "program/program.h"
#include "settings.h"
#include "work.h"

/* The server: a redis-server, a private one or the one that was given, with its key. */
void server_prepare(const struct settings *settings, const struct program *program, const struct cell *cell,
                    struct json message);
void server_gather(void);
void server_begin(const struct batch *batch);
struct together server_run(const struct batch *batch);
void server_print_more(void);
void server_leave(void);

/* The client: workers that send INCR. */
void client_prepare(const struct settings *settings, const struct cell *cell, struct json message);
void client_begin(const struct batch *batch);
struct together client_run(const struct batch *batch);
void client_print_latencies(void);
void client_leave(void);

#endif
