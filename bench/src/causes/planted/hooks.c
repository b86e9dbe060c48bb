/*
 * Stands between a peer and the C library (LD_PRELOAD), and lets the cause that PLANT names act at every operation on
 * data. Descriptors up to 2 carry the control protocol and are left alone, as is all that is no socket and no pipe.
 */

#include "planted.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { KNOWN_DESCRIPTORS = 65536, LAST_OF_CONTROL = 2 };
enum kind { UNKNOWN, DATA, OTHER };

static const struct plant *plant;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Asked once for each descriptor: a call for every operation would be a cause of its own. */
static unsigned char kinds[KNOWN_DESCRIPTORS];
/* A plant's own calls are no operations. */
static _Thread_local bool is_inside;

static void prepare(void)
{
    const char *name = getenv("PLANT");
    plant = plant_find(name == NULL ? "none" : name);
    if (plant->prepare != NULL) {
        plant->prepare();
    }
}

static bool carries_data(int descriptor)
{
    if (is_inside || descriptor <= LAST_OF_CONTROL || descriptor >= KNOWN_DESCRIPTORS) {
        return false;
    }
    if (kinds[descriptor] == UNKNOWN) {
        struct stat status;
        const bool is_data =
            fstat(descriptor, &status) == 0 && (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode));
        kinds[descriptor] = is_data ? DATA : OTHER;
    }
    return kinds[descriptor] == DATA;
}

static void forget(int descriptor)
{
    if (descriptor >= 0 && descriptor < KNOWN_DESCRIPTORS) {
        kinds[descriptor] = UNKNOWN;
    }
}

static void enter(void)
{
    is_inside = true;
    pthread_once(&once, prepare);
}

/* How much to read, after what is planted before it. */
static size_t begin_read(int descriptor, size_t count)
{
    if (!carries_data(descriptor)) {
        return count;
    }
    enter();
    if (plant->before_read != NULL) {
        plant->before_read(descriptor);
    }
    is_inside = false;
    return plant->most_read != 0 && plant->most_read < count ? plant->most_read : count;
}

static void begin_write(int descriptor)
{
    if (!carries_data(descriptor)) {
        return;
    }
    enter();
    if (plant->before_write != NULL) {
        plant->before_write();
    }
    is_inside = false;
}

static ssize_t write_planted(int descriptor, const void *bytes, size_t count, int flags)
{
    if (!carries_data(descriptor)) {
        return write_directly(descriptor, bytes, count, flags);
    }
    begin_write(descriptor);
    if (plant->most_written != 0 && plant->most_written < count) {
        count = plant->most_written;
    }
    return plant->write_elsewhere != NULL ? plant->write_elsewhere(descriptor, bytes, count, flags)
                                          : write_directly(descriptor, bytes, count, flags);
}

ssize_t write_directly(int descriptor, const void *bytes, size_t count, int flags)
{
    return flags == NOT_A_SEND ? syscall(SYS_write, descriptor, bytes, count)
                               : syscall(SYS_sendto, descriptor, bytes, count, flags, NULL, 0);
}

/* The C library's functions. */

ssize_t read(int descriptor, void *bytes, size_t count)
{
    count = begin_read(descriptor, count);
    return syscall(SYS_read, descriptor, bytes, count);
}

ssize_t recv(int descriptor, void *bytes, size_t count, int flags)
{
    return recvfrom(descriptor, bytes, count, flags, NULL, NULL);
}

ssize_t recvfrom(int descriptor, void *restrict bytes, size_t count, int flags, struct sockaddr *restrict from,
                 socklen_t *restrict length)
{
    count = begin_read(descriptor, count);
    return syscall(SYS_recvfrom, descriptor, bytes, count, flags, from, length);
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags)
{
    begin_read(descriptor, 0);
    return syscall(SYS_recvmsg, descriptor, message, flags);
}

ssize_t readv(int descriptor, const struct iovec *parts, int count)
{
    begin_read(descriptor, 0);
    return syscall(SYS_readv, descriptor, parts, count);
}

ssize_t write(int descriptor, const void *bytes, size_t count)
{
    return write_planted(descriptor, bytes, count, NOT_A_SEND);
}

ssize_t send(int descriptor, const void *bytes, size_t count, int flags)
{
    return write_planted(descriptor, bytes, count, flags);
}

ssize_t sendto(int descriptor, const void *bytes, size_t count, int flags, const struct sockaddr *to,
               socklen_t length)
{
    if (to == NULL) {
        return write_planted(descriptor, bytes, count, flags);
    }
    begin_write(descriptor);
    return syscall(SYS_sendto, descriptor, bytes, count, flags, to, length);
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
    begin_write(descriptor);
    return syscall(SYS_sendmsg, descriptor, message, flags);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    begin_write(descriptor);
    return syscall(SYS_writev, descriptor, parts, count);
}

int socket(int family, int type, int protocol)
{
    const int made = (int)syscall(SYS_socket, family, type, protocol);
    if (made >= 0 && made < KNOWN_DESCRIPTORS) {
        kinds[made] = DATA;
    }
    return made;
}

int accept4(int listener, struct sockaddr *restrict from, socklen_t *restrict length, int flags)
{
    const int made = (int)syscall(SYS_accept4, listener, from, length, flags);
    if (made >= 0 && made < KNOWN_DESCRIPTORS) {
        kinds[made] = DATA;
    }
    return made;
}

int connect(int descriptor, const struct sockaddr *to, socklen_t length)
{
    if (!carries_data(descriptor)) {
        return (int)syscall(SYS_connect, descriptor, to, length);
    }
    enter();
    int result;
    if (plant->after_connect == NULL) {
        result = (int)syscall(SYS_connect, descriptor, to, length);
    } else {
        const int flags = fcntl(descriptor, F_GETFL);
        fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
        result = (int)syscall(SYS_connect, descriptor, to, length);
        const int reason = errno;
        if (result == 0 || reason == EINPROGRESS) {
            plant->after_connect(descriptor);
            result = 0;
        }
        fcntl(descriptor, F_SETFL, flags);
        errno = reason;
    }
    is_inside = false;
    return result;
}

int close(int descriptor)
{
    forget(descriptor);
    return (int)syscall(SYS_close, descriptor);
}
