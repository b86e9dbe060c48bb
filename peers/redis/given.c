#define _GNU_SOURCE 1

#include "given.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "counts.h"
#include "work.h"

enum {
    PATIENCE_S = 3,
    KEEPER_PATIENCE_S = 1,
};

/* The keeper ends once nobody holds the other end of this pipe. */
static struct {
    pid_t process;
    int pipe_fd;
} keeper;

static _Noreturn void fail_connecting(const struct resp *desk) __attribute__((cold));
static _Noreturn void keep(const struct socket_address *at, const struct key *key, int pipe_fd);

struct resp given_open(const struct socket_address *at)
{
    struct resp desk = resp_connect(at);
    struct reply reply;
    if (desk.descriptor < 0) {
        fail_connecting(&desk);
    }
    resp_wait_at_most(&desk, PATIENCE_S);
    if (!resp_send(&desk, (const char *const[]){"PING", NULL}) || !resp_receive(&desk, &reply)) {
        if (errno == EAGAIN) {
            fail("the server at %s did not answer PING within %d seconds; is it redis?", desk.server,
                 PATIENCE_S);
        }
        fail("the server at %s does not answer PING as redis does; give the address of a redis-server",
             desk.server);
    }
    if (reply.type == '-') {
        const bool wants_password = strncmp(reply.text, "NOAUTH", strlen("NOAUTH")) == 0;
        fail("the redis server at %s refused PING: %s%s", desk.server, reply.text,
             wants_password ? " Give one that wants no password." : "");
    }
    if (reply.type != '+' || strcmp(reply.text, "PONG") != 0) {
        fail("the server at %s does not answer PING as redis does; give the address of a redis-server",
             desk.server);
    }
    return desk;
}

static _Noreturn void fail_connecting(const struct resp *desk)
{
    if (errno == ECONNREFUSED || errno == ENOENT) {
        fail("no server listens at %s (%s); start redis-server there, or give no address, and a private one "
             "is started",
             desk->server, errno == ENOENT ? "there is no such socket" : "connection refused");
    }
    fail_with_reason("cannot connect to the redis server at %s", desk->server);
}

pid_t given_process(struct resp *desk)
{
    struct ucred listener;
    socklen_t length = sizeof listener;
    if (getsockopt(desk->descriptor, SOL_SOCKET, SO_PEERCRED, &listener, &length) == 0 && listener.pid > 0) {
        return listener.pid;
    }
    /* In a container, its process may have another number there than here: the name tells. */
    char path[64];
    char name[32] = {0};
    const pid_t process = counts_process(desk);
    snprintf(path, sizeof path, "/proc/%d/comm", process);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fgets(name, sizeof name, file) == NULL) {
            name[0] = '\0';
        }
        fclose(file);
    }
    return strncmp(name, "redis-server", strlen("redis-server")) == 0 ? process : 0;
}

void given_keep_clean(const struct resp *desk, const struct socket_address *at, const struct key *key)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail_with_reason("cannot make a pipe");
    }
    keeper.process = fork();
    if (keeper.process < 0) {
        fail_with_reason("cannot start a process that removes the key in the end");
    }
    if (keeper.process == 0) {
        /* Nothing of this process's is to stay open for as long as the keeper is there. */
        close(desk->descriptor);
        close(ends[1]);
        keep(at, key, ends[0]);
    }
    close(ends[0]);
    keeper.pipe_fd = ends[1];
}

/* It must not fail() here: the protocol is the other process's. */
static _Noreturn void keep(const struct socket_address *at, const struct key *key, int pipe_fd)
{
    control_before_end(NULL);
    prctl(PR_SET_PDEATHSIG, 0);
    setsid();
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        dup2(nowhere, descriptor);
    }
    unsigned char none;
    receive_some(pipe_fd, &none, 1);
    struct resp desk = resp_connect(at);
    struct reply reply;
    if (desk.descriptor >= 0) {
        resp_wait_at_most(&desk, KEEPER_PATIENCE_S);
        if (resp_send(&desk, (const char *const[]){"DEL", key->padded, NULL})) {
            resp_receive(&desk, &reply);
        }
    }
    _exit(0);
}

void given_clean(void)
{
    close(keeper.pipe_fd);
    while (waitpid(keeper.process, NULL, 0) < 0 && errno == EINTR) {
    }
}
