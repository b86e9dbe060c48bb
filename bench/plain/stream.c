// A stream as in published programs: one process accepts and receives until the end; another connects, sends MESSAGES
// of SIZE bytes, shuts down its side and waits for the end. It sets only what its arguments ask for, and its buffers begin at
// random places within a page (place.h).
//
//     stream TRANSPORT SIZE MESSAGES RECV_BUFFER NODELAY CLIENT_CPU SERVER_CPU
//
// prints nanoseconds per message: `sent` until the last send returned, `wall` until the receiver had everything. A
// processor below 0 leaves the choice to the scheduler.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "place.h"

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void pin(int cpu)
{
    if (cpu < 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) die("sched_setaffinity");
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void receive_all(int fd, size_t buffer_size)
{
    char *buffer = placed(buffer_size, SERVER_RECV);
    ssize_t count;
    while ((count = recv(fd, buffer, buffer_size, 0)) > 0) {
    }
    if (count < 0) die("recv");
}

int main(int argc, char **argv)
{
    if (argc != 8) {
        fputs("usage: stream TRANSPORT SIZE MESSAGES RECV_BUFFER NODELAY CLIENT_CPU SERVER_CPU\n", stderr);
        return 2;
    }
    const int tcp = strcmp(argv[1], "tcp") == 0, nodelay = atoi(argv[5]);
    const size_t size = strtoull(argv[2], NULL, 10), buffer_size = strtoull(argv[4], NULL, 10);
    const uint64_t messages = strtoull(argv[3], NULL, 10);
    char *message = placed(size, CLIENT_SEND);

    struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    char dir[] = "/tmp/stream-XXXXXX";
    if (mkdtemp(dir) == NULL) die("mkdtemp");
    snprintf(local.sun_path, sizeof local.sun_path, "%s/s", dir);
    struct sockaddr *address = tcp ? (struct sockaddr *)&inet : (struct sockaddr *)&local;
    socklen_t length = tcp ? sizeof inet : sizeof local;
    int listener = socket(address->sa_family, SOCK_STREAM, 0);
    if (bind(listener, address, length) != 0 || listen(listener, 5) != 0) die("listen");
    getsockname(listener, address, &length);

    pid_t server = fork();
    if (server == 0) {
        pin(atoi(argv[7]));
        int connection = accept(listener, NULL, NULL);
        receive_all(connection, buffer_size);
        close(connection);
        return 0;
    }
    pin(atoi(argv[6]));
    int connection = socket(address->sa_family, SOCK_STREAM, 0);
    if (connect(connection, address, length) != 0) die("connect");
    if (tcp && nodelay) setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof nodelay);
    const uint64_t began = now();
    for (uint64_t count = 0; count < messages; count++) {
        for (size_t sent = 0; sent < size;) {
            ssize_t moved = send(connection, message + sent, size - sent, 0);
            if (moved <= 0) die("send");
            sent += (size_t)moved;
        }
    }
    const uint64_t sent = now();
    shutdown(connection, SHUT_WR);
    char end;
    if (recv(connection, &end, 1, 0) != 0) die("no end");
    const uint64_t delivered = now();
    int status = 1;
    waitpid(server, &status, 0);
    unlink(local.sun_path);
    rmdir(dir);
    printf("sent %f\nwall %f\n", (double)(sent - began) / (double)messages, (double)(delivered - began) / (double)messages);
    return status;
}
