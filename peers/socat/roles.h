/* The two roles of the socat peer. */
#ifndef ROLES_H
#define ROLES_H

#include <stdbool.h>

#include "cell.h"
#include "course.h"
#include "json.h"
#include "program/program.h"
#include "work.h"

/* The server: a socat that receives. */
void receiver_prepare(const struct program *socat, const struct cell *cell, bool is_started,
                      struct json message);
void receiver_gather(void);
void receiver_begin(const struct batch *batch);
struct together receiver_run(const struct batch *batch);

/* The client: a socat that sends. */
void sender_prepare(const struct program *socat, const struct cell *cell, bool is_started,
                    struct json message);
void sender_begin(const struct batch *batch);
struct together sender_run(const struct batch *batch);

/* What a program has used since it was seen as `before`, where it had been started before its time began. */
struct usage usage_after(struct usage whole, const struct usage *before, uint64_t before_cpu_ns);

#endif
