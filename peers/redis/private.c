#define _GNU_SOURCE 1

#include "private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "counts.h"
#include "program/port.h"
#include "work.h"

enum {
    PATIENCE_MS = 8000,
    ASK_AGAIN_MS = 1,
};

static struct child start(const struct program *program, const struct private_settings *settings,
                          const struct socket_address *at);
static bool enter_private_directory(void);
static bool answers(const struct child *server, const struct socket_address *at);

struct child private_start(const struct program *program, const struct private_settings *settings,
                           struct socket_address *at)
{
    const bool is_local = at->name.any.sa_family == AF_UNIX;
    const char *path = at->name.local.sun_path;
    if (is_local && access(path, F_OK) == 0) {
        /* redis-server would remove it, whatever it is. */
        fail("%s exists already; give the socket a path of its own", path);
    }
    if (is_local && path[0] != '/') {
        fail("%s is relative, and redis-server runs in a directory of its own; give an absolute path", path);
    }
    const int held = is_local ? -1 : port_hold(at);
    if (is_local) {
        program_owns_file(path);
    }
    struct child server = start(program, settings, at);
    const uint64_t deadline_ns = now_ns() + UINT64_C(1000000) * PATIENCE_MS;
    while (!answers(&server, at)) {
        if (child_has_ended(&server)) {
            child_wait(&server);
            fail("redis-server ended before it listened");
        }
        if (now_ns() > deadline_ns) {
            fail("redis-server did not answer PING within %d seconds; is the machine too busy?",
                 PATIENCE_MS / 1000);
        }
        poll(NULL, 0, ASK_AGAIN_MS);
    }
    if (held >= 0) {
        close(held);
    }
    return server;
}

/*
 * Protected mode refuses clients from other addresses than 127.0.0.1, also from the rest of 127.0.0.0/8 (redis
 * 7.0; later versions take them). The server listens on loopback alone either way, so leaving it out lets
 * nobody in who could not come from 127.0.0.1 just as well.
 */
static struct child start(const struct program *program, const struct private_settings *settings,
                          const struct socket_address *at)
{
    const char *arguments[32];
    size_t count = 0;
    char port[8] = "0";
    char host[INET_ADDRSTRLEN];
    char queue[16];
    const char *const always[] = {"--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", "."};
    for (size_t index = 0; index < sizeof always / sizeof *always; index++) {
        arguments[count++] = always[index];
    }
    arguments[count++] = "--protected-mode";
    arguments[count++] = settings->takes_all_of_127 ? "no" : "yes";
    if (at->name.any.sa_family == AF_UNIX) {
        arguments[count++] = "--unixsocket";
        arguments[count++] = at->name.local.sun_path;
        arguments[count++] = "--unixsocketperm";
        arguments[count++] = "700";
    } else {
        snprintf(port, sizeof port, "%d", ntohs(at->name.v4.sin_port));
        arguments[count++] = "--bind";
        arguments[count++] = inet_ntop(AF_INET, &at->name.v4.sin_addr, host, sizeof host);
    }
    arguments[count++] = "--port";
    arguments[count++] = port;
    if (settings->backlog != 0) {
        snprintf(queue, sizeof queue, "%d", settings->backlog);
        arguments[count++] = "--tcp-backlog";
        arguments[count++] = queue;
    }
    arguments[count] = NULL;
    return child_start(&(struct launch){
        .program = program,
        .arguments = arguments,
        .complains_on_output = true,
        .before_exec = enter_private_directory,
    });
}

/*
 * redis-server writes nothing as it is started here, but it wants a directory to work in. This one is removed
 * while it is in it: so nothing stays behind however it ends, and nothing could be written there either.
 */
static bool enter_private_directory(void)
{
    const char *base = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/ipcost-redis-XXXXXX", base == NULL || base[0] == '\0' ? "/tmp" : base);
    return mkdtemp(path) != NULL && chdir(path) == 0 && rmdir(path) == 0;
}

/* Whether it is this very process that answers. */
static bool answers(const struct child *server, const struct socket_address *at)
{
    struct resp resp = resp_connect(at);
    if (resp.descriptor < 0) {
        if (errno != ENOENT && errno != ECONNREFUSED) {
            fail_with_reason("cannot connect to redis-server at %s", resp.server);
        }
        return false;
    }
    resp_wait_at_most(&resp, PATIENCE_MS / 1000);
    RESP_ASK(&resp, '+', "PING");
    if (counts_process(&resp) != server->process) {
        fail("another server than the one started here answers at %s", resp.server);
    }
    resp_close(&resp);
    return true;
}

void private_end(struct child *server)
{
    child_kill(server);
    program_remove_files();
}
