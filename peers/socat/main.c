/*
 * ipcost-peer-socat: drives two real socat processes, one that sends and one that receives. It speaks the
 * control protocol of ipcost, version 1, on standard input and output.
 */

#define _GNU_SOURCE 1

#include <stdio.h>
#include <string.h>

#include "control.h"
#include "course.h"
#include "fields.h"
#include "program/program.h"
#include "roles.h"

static struct {
    bool is_started;
    bool is_server;
    struct program socat;
    char runtime[64];
} play;

static bool has_transport(enum transport transport);
static bool has_pattern(enum pattern pattern);
static void prepare(bool is_server, const struct cell *cell, struct json message);
static void check_cell(const struct cell *cell, struct json sent);
static void gather(void);
static void begin(const struct batch *batch);
static struct together run(const struct batch *batch);

int main(int count, char **arguments)
{
    control_open();
    for (int index = 1; index < count; index++) {
        if (strcmp(arguments[index], "--started") != 0) {
            fail("there is no argument %s; give --started or none", arguments[index]);
        }
        play.is_started = true;
    }
    char version[32];
    play.socat = program_find("socat", "socat");
    program_version(&play.socat, "-V", "socat version ", version, sizeof version);
    snprintf(play.runtime, sizeof play.runtime, "socat %s", version);
    const struct peer peer = {
        .name = play.is_started ? "socat-started" : "socat",
        .version = "0.1.0",
        .runtime = play.runtime,
        .has_transport = has_transport,
        .has_pattern = has_pattern,
        .prepare = prepare,
        .gather = gather,
        .begin = begin,
        .run = run,
        .leave = program_remove_files,
    };
    course_run(&peer);
    return 0;
}

static bool has_transport(enum transport transport)
{
    return transport == PIPE || transport == FIFO || transport == UNIX || transport == TCP;
}

static bool has_pattern(enum pattern pattern)
{
    return pattern == STREAM;
}

static void prepare(bool is_server, const struct cell *cell, struct json message)
{
    check_cell(cell, field_object(message, "cell"));
    play.is_server = is_server;
    if (is_server) {
        receiver_prepare(&play.socat, cell, play.is_started, message);
    } else {
        sender_prepare(&play.socat, cell, play.is_started, message);
    }
}

/* An option that acts on another transport is let pass, as the engine sends none. */
static void check_cell(const struct cell *cell, struct json sent)
{
    static const char *const OPTIONS[] = {"recv_buffer", "workers",   "tcp_nodelay", "so_sndbuf",
                                          "so_rcvbuf",   "pipe_size", "backlog",     NULL};
    struct json recv_buffer;
    if (!has_transport(cell->transport)) {
        fail("socat has no transport %s here; give --transports pipe,fifo,unix,tcp",
             TRANSPORT_NAMES[cell->transport]);
    }
    if (!has_pattern(cell->pattern)) {
        fail("socat has no pattern %s; give --patterns stream", PATTERN_NAMES[cell->pattern]);
    }
    if (cell->concurrency != 1) {
        fail("socat sends over one channel; give --concurrency 1");
    }
    if (cell->reply != 0) {
        fail("protocol: \"reply\" must be 0 in pattern stream");
    }
    cell_allow_options(sent, OPTIONS, "socat");
    if (cell_option(sent, "recv_buffer", &recv_buffer) && cell->recv_buffer != cell->size) {
        fail("socat receives with the block size that it sends with; give recv_buffer=%zu, or leave it out",
             cell->size);
    }
}

static void gather(void)
{
    if (play.is_server) {
        receiver_gather();
    }
}

static void begin(const struct batch *batch)
{
    if (play.is_server) {
        receiver_begin(batch);
    } else {
        sender_begin(batch);
    }
}

static struct together run(const struct batch *batch)
{
    return play.is_server ? receiver_run(batch) : sender_run(batch);
}
