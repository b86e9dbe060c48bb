// INCR as published programs send it: each request opens a connection, sends, reads the reply and closes. Each client
// is a process.
//
//     incr unix PATH CLIENTS REQUESTS
//     incr tcp PORT CLIENTS REQUESTS
//     incr resolve PORT CLIENTS REQUESTS        as tcp, with gethostbyname for every request
//
// prints nanoseconds per request of each client: `wall`, and of the clients' processor time `client_cpu` and
// `client_sys`.
#include <arpa/inet.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char COMMAND[] = "*2\r\n$4\r\nINCR\r\n$3\r\nfoo\r\n";

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static double ns(struct timeval time)
{
    return (double)time.tv_sec * 1e9 + (double)time.tv_usec * 1e3;
}

static int reach(const char *kind, const char *where)
{
    int fd;
    if (strcmp(kind, "unix") == 0) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        strncpy(address.sun_path, where, sizeof address.sun_path - 1);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) die("connect");
        return fd;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(where))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (strcmp(kind, "resolve") == 0) {
        struct hostent *host = gethostbyname("localhost");
        if (host == NULL) die("gethostbyname");
        memcpy(&address.sin_addr, host->h_addr_list[0], sizeof address.sin_addr);
    }
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) die("connect");
    return fd;
}

static void requests(const char *kind, const char *where, uint64_t count)
{
    char reply[64];
    while (count-- > 0) {
        int fd = reach(kind, where);
        if (write(fd, COMMAND, sizeof COMMAND - 1) != sizeof COMMAND - 1) die("write");
        if (read(fd, reply, sizeof reply) <= 0 || reply[0] != ':') die("read");
        close(fd);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fputs("usage: incr unix|tcp|resolve WHERE CLIENTS REQUESTS\n", stderr);
        return 2;
    }
    const int clients = atoi(argv[3]);
    const uint64_t count = strtoull(argv[4], NULL, 10);
    const uint64_t began = now();
    for (int client = 0; client < clients; client++) {
        if (fork() == 0) {
            requests(argv[1], argv[2], count);
            return 0;
        }
    }
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status;
    const double took = (double)(now() - began), all = (double)count * clients;
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    const double sys = ns(used.ru_stime) / all;
    printf("wall %f\nclient_cpu %f\nclient_sys %f\n", took / (double)count, ns(used.ru_utime) / all + sys, sys);
    return failed != 0;
}
