#include "posix.h"

#include <io.h>
#include <stdio.h>

/* Between two looks at standard input and a listener, since one call cannot wait for both. */
enum { LOOK_AGAIN_MS = 1 };
/* Between two checks for the end of input, while waiting for something else. */
enum { WATCH_MS = 200 };

/* Windows' last error, and the errno that it became. */
static __thread DWORD last_code;
static __thread int last_number;

__attribute__((constructor)) static void begin(void)
{
    WSADATA about;
    if (WSAStartup(MAKEWORD(2, 2), &about) != 0) {
        _exit(1);
    }
    _setmode(STDIN_FILENO, _O_BINARY);
    _setmode(STDOUT_FILENO, _O_BINARY);
}

/* Errors. */

ssize_t posix_fail(DWORD code)
{
    last_code = code;
    switch (code) {
    case WSAEADDRNOTAVAIL:
        errno = EADDRNOTAVAIL;
        break;
    case WSAEISCONN:
        errno = EISCONN;
        break;
    case WSAECONNRESET:
        /* For accept, it means that the client has left. */
        errno = ECONNABORTED;
        break;
    default:
        errno = EIO;
    }
    last_number = errno;
    return -1;
}

static int checked(int result)
{
    return result == 0 ? 0 : (int)posix_fail((DWORD)WSAGetLastError());
}

const char *posix_reason(int number)
{
    static __thread char reason[160];
    if (number == ENOSYS) {
        return "Windows cannot copy a process; leave out workers=processes";
    }
    if (number != last_number) {
        return (strerror)(number);
    }
    const DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
    char words[128] = "";
    FormatMessageA(flags, NULL, last_code, 0, words, sizeof words, NULL);
    /* The system's messages end in a full stop and a newline. */
    words[strcspn(words, ".\r\n")] = '\0';
    snprintf(reason, sizeof reason, "%s%sWindows error %lu", words, *words == '\0' ? "" : "; ",
             (unsigned long)last_code);
    return reason;
}

pid_t posix_lacks(void)
{
    errno = ENOSYS;
    return -1;
}

/* Sockets. */

static int tagged(SOCKET made)
{
    return made == INVALID_SOCKET ? (int)posix_fail((DWORD)WSAGetLastError()) : (int)made | 1;
}

int posix_socket(int family, int type, int protocol)
{
    return tagged((socket)(family, type, protocol));
}

int posix_bind(int descriptor, const struct sockaddr *at, socklen_t length)
{
    return checked((bind)(posix_socket_of(descriptor), at, length));
}

int posix_listen(int descriptor, int backlog)
{
    /* Up to 200 Windows takes the number as it is; beyond, it must be negated (SOMAXCONN_HINT). */
    return checked((listen)(posix_socket_of(descriptor), backlog > 200 ? -backlog : backlog));
}

int posix_accept(int descriptor)
{
    for (;;) {
        const SOCKET made = (accept)(posix_socket_of(descriptor), NULL, NULL);
        /* Wine's answer if several workers wait and another one was faster. */
        if (made != INVALID_SOCKET || WSAGetLastError() != WSAEWOULDBLOCK) {
            return tagged(made);
        }
    }
}

int posix_connect(int descriptor, const struct sockaddr *to, socklen_t length)
{
    return checked((connect)(posix_socket_of(descriptor), to, length));
}

int posix_getsockname(int descriptor, struct sockaddr *name, socklen_t *length)
{
    return checked((getsockname)(posix_socket_of(descriptor), name, length));
}

int posix_setsockopt(int descriptor, int level, int option, const void *value, socklen_t length)
{
    if (level == IPPROTO_IP && option == IP_BIND_ADDRESS_NO_PORT) {
        /* Windows chooses the port when the address is bound. */
        return 0;
    }
    if (level == SOL_SOCKET && option == SO_REUSEADDR) {
        /* Windows does anyway what POSIX means by that; here the option would let others take the port. */
        option = SO_EXCLUSIVEADDRUSE;
    }
    return checked((setsockopt)(posix_socket_of(descriptor), level, option, value, length));
}

int posix_getsockopt(int descriptor, int level, int option, void *value, socklen_t *length)
{
    return checked((getsockopt)(posix_socket_of(descriptor), level, option, value, length));
}

bool posix_has_unix_sockets(void)
{
    const int descriptor = posix_socket(AF_UNIX, SOCK_STREAM, 0);
    if (descriptor == -1) {
        return false;
    }
    posix_close(descriptor);
    return true;
}

/* Waiting. */

/* Whether standard input is readable, or has ended; only pipes can be polled, anything else counts as ready. */
static short input_events(void)
{
    DWORD count = 0;
    if (PeekNamedPipe(GetStdHandle(STD_INPUT_HANDLE), NULL, 0, NULL, &count, NULL)) {
        return count > 0 ? POLLIN : 0;
    }
    return POLLIN | POLLHUP;
}

int posix_poll(struct posix_pollfd *watched, unsigned count, int timeout_ms)
{
    const ULONGLONG began = GetTickCount64();
    for (;;) {
        int ready = 0;
        for (unsigned index = 0; index < count; index++) {
            struct posix_pollfd *one = &watched[index];
            const int descriptor = one->fd;
            one->revents = 0;
            if (descriptor == STDIN_FILENO) {
                one->revents = (short)(input_events() & (one->events | POLLHUP));
            } else if (descriptor > 0) {
                WSAPOLLFD asked = {.fd = posix_socket_of(descriptor), .events = POLLRDNORM};
                one->revents = WSAPoll(&asked, 1, 0) > 0 ? POLLIN : 0;
            }
            ready += one->revents != 0;
        }
        if (ready > 0 || (timeout_ms >= 0 && GetTickCount64() - began >= (ULONGLONG)timeout_ms)) {
            return ready;
        }
        Sleep(LOOK_AGAIN_MS);
    }
}

/* Windows 10 has timers that do not wait for the clock interrupt since version 1803. */
static HANDLE precise_timer(void)
{
    const DWORD high_resolution = 2; /* CREATE_WAITABLE_TIMER_HIGH_RESOLUTION */
    const HANDLE precise = CreateWaitableTimerExW(NULL, NULL, high_resolution, TIMER_ALL_ACCESS);
    return precise != NULL ? precise : CreateWaitableTimerExW(NULL, NULL, 0, TIMER_ALL_ACCESS);
}

int posix_sleep_until(const struct timespec *at)
{
    static __thread HANDLE timer;
    if (timer == NULL) {
        timer = precise_timer();
    }
    for (;;) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        const int64_t left_ns = ((int64_t)at->tv_sec - now.tv_sec) * 1000000000 + at->tv_nsec - now.tv_nsec;
        if (left_ns <= 0) {
            return 0;
        }
        /* In units of 100 ns; a negative time is from now on. */
        const LARGE_INTEGER left = {.QuadPart = -(left_ns + 99) / 100};
        if (timer != NULL && SetWaitableTimer(timer, &left, 0, NULL, NULL, FALSE)) {
            WaitForSingleObject(timer, INFINITE);
        } else {
            Sleep((DWORD)(left_ns / 1000000) + 1);
        }
    }
}

static void (*on_end)(int);

static DWORD WINAPI watch(void *nothing)
{
    (void)nothing;
    for (;;) {
        Sleep(WATCH_MS);
        if ((input_events() & POLLHUP) != 0) {
            on_end(SIGIO);
        }
    }
    return 0;
}

/* A thread that mostly sleeps: here, unlike on Linux, a second one makes no call slower. */
void posix_watch_input(void (*handler)(int))
{
    on_end = handler;
    const HANDLE thread = CreateThread(NULL, 0, watch, NULL, 0, NULL);
    if (thread != NULL) {
        CloseHandle(thread);
    }
}

/* Bytes. */

ssize_t posix_read_standard(void *bytes, size_t size)
{
    return (read)(STDIN_FILENO, bytes, (unsigned)size);
}

ssize_t posix_write_standard(const void *bytes, size_t size)
{
    return (write)(STDOUT_FILENO, bytes, (unsigned)size);
}

int posix_close(int descriptor)
{
    if (posix_is_socket(descriptor)) {
        return checked(closesocket(posix_socket_of(descriptor)));
    }
    return CloseHandle((HANDLE)(intptr_t)descriptor) ? 0 : (int)posix_fail(GetLastError());
}

/* Callers only ask that descriptors are not inherited; the call also shows whether one is open. */
int posix_fcntl(int descriptor, int command, ...)
{
    if (command != F_SETFD) {
        return 0;
    }
    const HANDLE handle = (HANDLE)(intptr_t)descriptor;
    return SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0) ? 0 : (int)posix_fail(GetLastError());
}

/* Memory. */

void *mmap(void *place, size_t bytes, int access, int flags, int file, long offset)
{
    (void)access;
    (void)flags;
    (void)file;
    (void)offset;
    void *memory = VirtualAlloc(place, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (memory == NULL) {
        posix_fail(GetLastError());
    }
    return memory;
}

/* Usage. */

static struct timeval time_of(FILETIME time)
{
    /* In units of 100 ns. */
    const uint64_t units = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
    return (struct timeval){.tv_sec = (long)(units / 10000000), .tv_usec = (long)(units / 10 % 1000000)};
}

int getrusage(int who, struct rusage *usage)
{
    (void)who;
    FILETIME began, ended, system, user;
    *usage = (struct rusage){0};
    if (!GetProcessTimes(GetCurrentProcess(), &began, &ended, &system, &user)) {
        return -1;
    }
    usage->ru_utime = time_of(user);
    usage->ru_stime = time_of(system);
    return 0;
}
