#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "back.h"
#include "command.h"
#include "control.h"
#include "fields.h"
#include "hold.h"
#include "program/process.h"
#include "roles.h"

static struct {
    const struct program *socat;
    struct route route;
    struct command command;
    struct child child;
    struct usage before; /* of a program that has been started already */
    uint64_t before_cpu_ns;
} sender;

static bool is_held(const struct batch *batch);
static void feed(uint64_t ops, int pipe_fd);

void sender_prepare(const struct program *socat, const struct cell *cell, bool is_started,
                    struct json message)
{
    struct effective effective = {0};
    sender.socat = socat;
    sender.route = route_read(cell, is_started, message);
    sender.route.channel = back_reach(&sender.route, field_object(message, "address"), &effective);
    ready_begin();
    printf("{}");
    ready_end(&effective);
}

void sender_begin(const struct batch *batch)
{
    if (route_has_beside(&sender.route) && !back_hear(&sender.route)) {
        fail("the server ended before the batch began");
    }
    if (is_held(batch)) {
        command_sender(&sender.command, sender.socat, &sender.route, batch->ops * sender.route.cell->size, 0);
        sender.child = hold_start(&sender.command.launch);
        sender.before = (struct usage){0};
        process_read_switches(sender.child.process, &sender.before);
        sender.before_cpu_ns = process_cpu_ns(sender.child.process);
    }
}

static bool is_held(const struct batch *batch)
{
    return sender.route.is_started && batch->kind != VERIFY;
}

/*
 * As published, the time runs from before the sender is started until the receiver has ended, which has then
 * got everything.
 */
struct together sender_run(const struct batch *batch)
{
    int ends[2] = {0, 0};
    struct usage usage;
    if (batch->kind == VERIFY && pipe2(ends, O_CLOEXEC) != 0) {
        fail_with_reason("cannot make a pipe");
    }
    if (!is_held(batch)) {
        const uint64_t bytes = batch->ops * sender.route.cell->size;
        command_sender(&sender.command, sender.socat, &sender.route, bytes, ends[0]);
    }
    const uint64_t began_ns = now_ns();
    if (is_held(batch)) {
        hold_release(&sender.child);
    } else {
        sender.child = child_start(&sender.command.launch);
    }
    if (batch->kind == VERIFY) {
        close(ends[0]);
        feed(batch->ops, ends[1]);
    }
    usage = child_wait(&sender.child);
    const uint64_t sent_at_ns = now_ns();
    if (!back_hear(&sender.route)) {
        fail_moving(batch->ops - 1, batch->ops);
    }
    const uint64_t ended_ns = now_ns();
    return (struct together){
        .wall_ns = ended_ns - began_ns,
        .sent_ns = sent_at_ns - began_ns,
        .usage = is_held(batch) ? usage_after(usage, &sender.before, sender.before_cpu_ns) : usage,
    };
}

/* Gives the program the payload that is checked, and its end. */
static void feed(uint64_t ops, int pipe_fd)
{
    const size_t size = sender.route.cell->size;
    static unsigned char *message;
    if (message == NULL) {
        message = fresh_buffer(size);
    }
    for (uint64_t operation = 0; operation < ops; operation++) {
        payload_fill(message, size, operation, false);
        if (!send_all(pipe_fd, message, size)) {
            /* The program has ended; how, is told best by itself. */
            child_wait(&sender.child);
            fail("socat ended after %" PRIu64 " of %" PRIu64 " messages", operation, ops);
        }
    }
    close(pipe_fd);
}

struct usage usage_after(struct usage whole, const struct usage *before, uint64_t before_cpu_ns)
{
    const uint64_t whole_ns = whole.user_ns + whole.sys_ns;
    usage_scale(&whole, whole_ns > before_cpu_ns ? whole_ns - before_cpu_ns : 0);
    whole.voluntary_switches -= before->voluntary_switches;
    whole.involuntary_switches -= before->involuntary_switches;
    return whole;
}
