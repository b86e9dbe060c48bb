/*
 * The peer's subset of POSIX, on Windows: sockets by Winsock, inherited pipes, time and usage. The measured loops call
 * only recv() and send(), or ReadFile() and WriteFile().
 *
 * A descriptor is the number of a handle. Windows ignores its lowest two bits, so the lowest marks a socket, which
 * takes other calls than a pipe.
 */
#ifndef POSIX_H
#define POSIX_H

#define _GNU_SOURCE 1
/* A printf that supports C11. */
#define __USE_MINGW_ANSI_STDIO 1
#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif

#include <winsock2.h>
#include <ws2tcpip.h>

#include <afunix.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Sockets. */

enum { SOCK_CLOEXEC = 0, IN_LOOPBACKNET = 127, IP_BIND_ADDRESS_NO_PORT = -1 };
#define BUFFERS_ARE_KEPT_TIMES 1

/* Winsock has its own, for sockets only. */
struct posix_pollfd {
    int fd;
    short events;
    short revents;
};
#define pollfd posix_pollfd

int posix_socket(int family, int type, int protocol);
int posix_bind(int descriptor, const struct sockaddr *at, socklen_t length);
int posix_listen(int descriptor, int backlog);
int posix_accept(int descriptor);
int posix_connect(int descriptor, const struct sockaddr *to, socklen_t length);
int posix_getsockname(int descriptor, struct sockaddr *name, socklen_t *length);
int posix_setsockopt(int descriptor, int level, int option, const void *value, socklen_t length);
int posix_getsockopt(int descriptor, int level, int option, void *value, socklen_t *length);
int posix_poll(struct posix_pollfd *watched, unsigned count, int timeout_ms);
bool posix_has_unix_sockets(void);

#define socket(family, type, protocol) posix_socket(family, type, protocol)
#define bind(descriptor, at, length) posix_bind(descriptor, at, length)
#define listen(descriptor, backlog) posix_listen(descriptor, backlog)
#define accept4(descriptor, at, length, flags) posix_accept(descriptor)
#define connect(descriptor, to, length) posix_connect(descriptor, to, length)
#define getsockname(descriptor, name, length) posix_getsockname(descriptor, name, length)
#define setsockopt(descriptor, level, option, value, length)                                                 \
    posix_setsockopt(descriptor, level, option, value, length)
#define getsockopt(descriptor, level, option, value, length)                                                 \
    posix_getsockopt(descriptor, level, option, value, length)
#define poll(watched, count, timeout_ms) posix_poll(watched, count, timeout_ms)

/* Bytes. */

ssize_t posix_read_standard(void *bytes, size_t size);
ssize_t posix_write_standard(const void *bytes, size_t size);
ssize_t posix_fail(DWORD code);
int posix_close(int descriptor);
int posix_fcntl(int descriptor, int command, ...);

static inline bool posix_is_socket(int descriptor)
{
    return (descriptor & 1) != 0;
}

static inline SOCKET posix_socket_of(int descriptor)
{
    return (SOCKET)(descriptor & ~3);
}

static inline ssize_t posix_read(int descriptor, void *bytes, size_t size)
{
    if (descriptor == STDIN_FILENO) {
        return posix_read_standard(bytes, size);
    }
    if (posix_is_socket(descriptor)) {
        const int count = recv(posix_socket_of(descriptor), bytes, (int)size, 0);
        return count >= 0 ? count : posix_fail((DWORD)WSAGetLastError());
    }
    DWORD count;
    if (ReadFile((HANDLE)(intptr_t)descriptor, bytes, (DWORD)size, &count, NULL)) {
        return (ssize_t)count;
    }
    const DWORD code = GetLastError();
    return code == ERROR_BROKEN_PIPE ? 0 : posix_fail(code);
}

static inline ssize_t posix_write(int descriptor, const void *bytes, size_t size)
{
    if (descriptor == STDOUT_FILENO) {
        return posix_write_standard(bytes, size);
    }
    if (posix_is_socket(descriptor)) {
        const int count = send(posix_socket_of(descriptor), bytes, (int)size, 0);
        return count >= 0 ? count : posix_fail((DWORD)WSAGetLastError());
    }
    DWORD count;
    if (WriteFile((HANDLE)(intptr_t)descriptor, bytes, (DWORD)size, &count, NULL)) {
        return (ssize_t)count;
    }
    return posix_fail(GetLastError());
}

#define read(descriptor, bytes, size) posix_read(descriptor, bytes, size)
#define write(descriptor, bytes, size) posix_write(descriptor, bytes, size)
/* Here both are the same. */
#define send(descriptor, bytes, size, flags) posix_write(descriptor, bytes, size)
#define recv(descriptor, bytes, size, flags) posix_read(descriptor, bytes, size)
#define close(descriptor) posix_close(descriptor)
#define fcntl posix_fcntl

enum { F_SETFD = 1, F_GETFL, F_SETFL, F_SETOWN, F_SETPIPE_SZ, FD_CLOEXEC = 1 };
enum { O_NONBLOCK = 0, O_CLOEXEC = 0, O_ASYNC = 0 };
#define S_ISSOCK(mode) 0

/* Sleeping until a moment of the monotonic clock. */

int posix_sleep_until(const struct timespec *at);
#undef clock_nanosleep
#define clock_nanosleep(clock, flags, at, left) posix_sleep_until(at)

/* Error texts: Windows' own, if its error was the latest. */

const char *posix_reason(int number);
#define strerror(number) posix_reason(number)
#define PRINTF_FORMAT gnu_printf

/* Usage (GetProcessTimes), in steps of the clock interrupt; Windows does not count switches. */

struct rusage {
    struct timeval ru_utime;
    struct timeval ru_stime;
    long ru_nvcsw;
    long ru_nivcsw;
};
enum { RUSAGE_SELF };
int getrusage(int who, struct rusage *usage);

/* Memory of this process alone: workers are threads. */

enum { PROT_READ = 1, PROT_WRITE = 2, MAP_SHARED = 1, MAP_ANONYMOUS = 2, MAP_NORESERVE = 0 };
#define MAP_FAILED NULL
void *mmap(void *place, size_t bytes, int access, int flags, int file, long offset);
/* MinGW-w64's threads reject process-shared objects. */
#define pthread_barrierattr_setpshared(attributes, shared) ((void)(attributes))

/*
 * What Windows lacks: signals and fork. Only the signal at the end of input is emulated; the engine's job ends this
 * process with the engine, whatever it waits for.
 */

struct sigaction {
    void (*sa_handler)(int);
    int sa_flags;
};
typedef int posix_signals;
#define sigset_t posix_signals
enum { SIGKILL = 9, SIGPIPE = 13, SIGCHLD = 17, SIGIO = 29, SA_RESTART = 0, SA_NOCLDSTOP = 0 };
enum { WNOHANG = 1, PR_SET_PDEATHSIG = 1 };
void posix_watch_input(void (*handler)(int));
pid_t posix_lacks(void);
#define signal(number, handler) posix_no_signal(number)
#undef pthread_sigmask
#define pthread_sigmask posix_sigmask
#define WIFEXITED(status) ((status) == 0)
#define WEXITSTATUS(status) (status)

static inline void posix_no_signal(int number)
{
    (void)number;
}

static inline void sigfillset(posix_signals *set)
{
    *set = 0;
}

static inline void posix_sigmask(int how, const posix_signals *set, posix_signals *before)
{
    (void)how;
    if (before != NULL) {
        *before = *set;
    }
}

/* The signal about worker processes never comes. */
static inline void sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    (void)before;
    if (number == SIGIO) {
        posix_watch_input(action->sa_handler);
    }
}

static inline int prctl(int what, int value)
{
    (void)what;
    (void)value;
    return 0;
}

static inline pid_t fork(void)
{
    return posix_lacks();
}

static inline void kill(pid_t process, int number)
{
    (void)process;
    (void)number;
}

static inline pid_t waitpid(pid_t process, int *status, int flags)
{
    (void)process;
    (void)status;
    (void)flags;
    return posix_lacks();
}

static inline pid_t getppid(void)
{
    return getpid();
}

static inline void pause(void)
{
    Sleep(INFINITE);
}

#endif
