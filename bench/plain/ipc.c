// Ping-pong as in a published set of C programs: SIZE bytes there and back between two processes, ROUNDS times, the
// clock read around each round. Pipes and FIFOs carry the message one way, through stdio, and a signal to the whole
// process group tells either side that it is there and that it was read. Over shared memory both poll a byte. Except
// over pipes, a third process of the group has started the two and waits for them.
//
//     ipc unix|tcp|pipe|fifo|mq|shm SIZE ROUNDS
//
// prints `wall`, the nanoseconds of a round. The answering side runs on the processor SERVER_CPU, if that is set.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "place.h"

enum { WARMING = 500, SOCKET_BUFFER = 64000, ASKER = SIGUSR1, ANSWERER = SIGUSR2 };

static size_t size;
static char *buffer;

static void die(const char *what)
{
    perror(what);
    kill(0, SIGKILL);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void ignore(int number)
{
    (void)number;
}

static sigset_t signals(int waits_for)
{
    const struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    sigaction(ASKER, &action, NULL);
    sigaction(ANSWERER, &action, NULL);
    sigset_t set;
    sigemptyset(&set);
    if (waits_for != 0) sigaddset(&set, waits_for);
    sigprocmask(SIG_SETMASK, &set, NULL);
    return set;
}

static void wait_for(const sigset_t *set)
{
    int caught;
    sigwait(set, &caught);
}

static void receive(int fd)
{
    if (recv(fd, buffer, size, MSG_WAITALL) < (ssize_t)size) exit(0);
}

static void put(int fd)
{
    memset(buffer, '*', size);
    if (send(fd, buffer, size, MSG_NOSIGNAL) != (ssize_t)size) die("send");
}

/* What carries messages; made before the processes part. */
static struct {
    int fd[2];
    char path[64];
    FILE *stream;
    int queue;
    char *memory;
    sigset_t set;
    const char *kind;
} way;

struct message {
    long type;
    char bytes[];
} *message;

static int is(const char *kind)
{
    return strcmp(way.kind, kind) == 0;
}

static void set_buffers(int fd)
{
    const int bytes = SOCKET_BUFFER;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

static struct sockaddr_un local = {.sun_family = AF_UNIX};
static struct sockaddr_in inet = {.sin_family = AF_INET};
static int listener;

static struct sockaddr *address(socklen_t *length)
{
    *length = is("tcp") ? sizeof inet : sizeof local;
    return is("tcp") ? (struct sockaddr *)&inet : (struct sockaddr *)&local;
}

static void make(void)
{
    snprintf(way.path, sizeof way.path, "/tmp/plain-ipc-%d", getpid());
    if (is("unix") || is("tcp")) {
        socklen_t length;
        inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        strcpy(local.sun_path, way.path);
        struct sockaddr *place = address(&length);
        listener = socket(place->sa_family, SOCK_STREAM, 0);
        if (bind(listener, place, length) != 0 || listen(listener, 1) != 0) die("listen");
        getsockname(listener, place, &length);
    } else if (is("pipe")) {
        if (pipe(way.fd) != 0) die("pipe");
    } else if (is("fifo")) {
        if (mkfifo(way.path, 0600) != 0) die("mkfifo");
    } else if (is("mq")) {
        way.queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
        message = malloc(sizeof *message + size);
        if (way.queue < 0) die("msgget");
    } else {
        const int segment = shmget(IPC_PRIVATE, 1 + size, IPC_CREAT | 0600);
        way.memory = shmat(segment, NULL, 0);
        if (way.memory == (char *)-1) die("shmat");
        shmctl(segment, IPC_RMID, NULL);
    }
}

static void open_side(int asks)
{
    if (is("unix") || is("tcp")) {
        socklen_t length;
        struct sockaddr *place = address(&length);
        if (asks) {
            set_buffers(listener);
            way.fd[0] = accept(listener, NULL, NULL);
        } else {
            way.fd[0] = socket(place->sa_family, SOCK_STREAM, 0);
            set_buffers(way.fd[0]);
            if (connect(way.fd[0], place, length) != 0) die("connect");
        }
    } else if (is("pipe")) {
        close(way.fd[!asks]);
        way.stream = fdopen(way.fd[asks], asks ? "w" : "r");
    } else if (is("fifo")) {
        way.stream = fopen(way.path, asks ? "w" : "r");
    }
    if (is("pipe") || is("fifo")) way.set = signals(asks ? ASKER : ANSWERER);
}

static void look_for(char turn)
{
    atomic_char *guard = (atomic_char *)way.memory;
    while (atomic_load(guard) != turn) {
    }
}

static void ask(void)
{
    if (is("unix") || is("tcp")) {
        put(way.fd[0]);
        receive(way.fd[0]);
    } else if (is("mq")) {
        message->type = 2;
        memset(message->bytes, '2', size);
        if (msgsnd(way.queue, message, size, IPC_NOWAIT) != 0) die("msgsnd");
        if (msgrcv(way.queue, message, size, 1, 0) < (ssize_t)size) die("msgrcv");
    } else if (is("shm")) {
        memset(way.memory + 1, '*', size);
        atomic_store((atomic_char *)way.memory, 'c');
        look_for('s');
        memcpy(buffer, way.memory + 1, size);
    } else {
        if (fwrite(buffer, size, 1, way.stream) != 1) die("fwrite");
        fflush(way.stream);
        kill(0, ANSWERER);
        wait_for(&way.set);
    }
}

static void answer(void)
{
    if (is("unix") || is("tcp")) {
        receive(way.fd[0]);
        put(way.fd[0]);
    } else if (is("mq")) {
        if (msgrcv(way.queue, message, size, 2, 0) < (ssize_t)size) exit(0);
        message->type = 1;
        memset(message->bytes, '1', size);
        if (msgsnd(way.queue, message, size, 0) != 0) exit(0);
    } else if (is("shm")) {
        look_for('c');
        memcpy(buffer, way.memory + 1, size);
        memset(way.memory + 1, '*', size);
        atomic_store((atomic_char *)way.memory, 's');
    } else {
        wait_for(&way.set);
        if (fread(buffer, size, 1, way.stream) != 1) exit(0);
        kill(0, ASKER);
    }
}

static void pin(const char *cpu)
{
    if (cpu == NULL || *cpu == 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) die("sched_setaffinity");
}

static int play_asker(unsigned long rounds)
{
    open_side(1);
    /* The answerer's signals are set up by now. */
    if (is("pipe") || is("fifo")) wait_for(&way.set);
    for (int round = 0; round < WARMING; round++) ask();
    double longest = 0, sum = 0;
    const double began = now();
    for (unsigned long round = 0; round < rounds; round++) {
        const double start = now();
        ask();
        const double took = now() - start;
        longest = took > longest ? took : longest;
        sum += took;
    }
    const double wall = now() - began;
    if (longest > wall || sum > wall) die("the clock");
    printf("wall %f\n", wall / (double)rounds);
    return 0;
}

static int play_answerer(unsigned long rounds)
{
    pin(getenv("SERVER_CPU"));
    open_side(0);
    if (is("pipe") || is("fifo")) kill(0, ASKER);
    for (unsigned long round = 0; round < rounds + WARMING; round++) answer();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fputs("usage: ipc unix|tcp|pipe|fifo|mq|shm SIZE ROUNDS\n", stderr);
        return 2;
    }
    way.kind = argv[1];
    size = strtoull(argv[2], NULL, 10);
    const unsigned long rounds = strtoul(argv[3], NULL, 10);
    // The asker inherits it, so both sides have one place; what is received lies where what is sent did, as in the original.
    buffer = placed(size, CLIENT_SEND);
    setpgid(0, 0);
    make();
    if (is("shm")) *way.memory = 's';
    /* Signals that come before a side is ready wait for it. */
    signals(ASKER);
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, ASKER);
    sigaddset(&both, ANSWERER);
    sigprocmask(SIG_BLOCK, &both, NULL);
    const pid_t first = fork();
    if (first == 0) return play_answerer(rounds);
    int failed = 0, status = 0;
    if (is("pipe")) {
        failed = play_asker(rounds);
    } else {
        const pid_t second = fork();
        if (second == 0) return play_asker(rounds);
        signals(0);
        waitpid(second, &status, 0);
        failed = status != 0;
    }
    waitpid(first, &status, 0);
    failed |= status != 0;
    if (is("mq")) msgctl(way.queue, IPC_RMID, NULL);
    unlink(way.path);
    return failed;
}
