#define _GNU_SOURCE 1

#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "fields.h"

/* How long to wait for a FIFO's reader before checking again. */
enum { ASK_AGAIN_MS = 1 };

static bool open_next(struct gathering *gathering);
static bool is_complete(const struct gathering *gathering);
static int pause_ms(const struct gathering *gathering);
static struct json next_address(struct reaching *reaching);
static struct channel take_over(const struct cell *cell, struct json address);
static int inherited(struct json address, const char *name);
static struct channel open_client_fifos(struct json address);
static struct channel open_client_socket(const struct cell *cell, struct json address, size_t worker,
                                         struct effective *effective);
static int open_to_read(const char *path);
static int open_to_write(const char *path, int flags);
static void wait_on_calls(int descriptor, const char *path);
static void set_pipe_size(int pipe_fd, const struct cell *cell, struct effective *effective);
static int most_pipe_size(void);

struct channel channel_of(int socket, const struct cell *cell)
{
    return (struct channel){.read_fd = socket, .write_fd = socket, .way = cell->sends ? SENDS : CALLS};
}

struct channel channel_in_way(struct channel channel, const struct cell *cell, bool is_server)
{
    channel.way = way_of(cell);
    channel.other = way_open(cell, is_server, channel.read_fd, channel.write_fd);
    return channel;
}

void channel_close(struct channel channel)
{
    close(channel.read_fd);
    if (channel.write_fd != channel.read_fd) {
        close(channel.write_fd);
    }
}

/* The server's side. */

struct gathering gathering_open(const struct cell *cell, struct json address, struct effective *effective)
{
    struct gathering gathering = gathering_listen(cell, -1);
    if (cell->transport == FIFO) {
        gathering.to_client = calloc(cell->concurrency, sizeof *gathering.to_client);
        if (gathering.to_client == NULL) {
            fail("out of memory");
        }
    }
    struct reaching addresses = reaching_start(cell, address);
    for (size_t worker = 0; worker < cell->concurrency; worker++) {
        const struct json one = next_address(&addresses);
        if (cell->transport != FIFO) {
            gathering.channels[worker] = take_over(cell, one);
            gathering.count++;
            continue;
        }
        char path[PATH_MAX];
        field_text(one, "to_server", path, sizeof path);
        gathering.channels[worker].read_fd = open_to_read(path);
        set_pipe_size(gathering.channels[worker].read_fd, cell, effective);
        field_text(one, "to_client", path, sizeof path);
        gathering.to_client[worker] = strdup(path);
        if (gathering.to_client[worker] == NULL) {
            fail("out of memory");
        }
    }
    return gathering;
}

struct gathering gathering_listen(const struct cell *cell, int listener)
{
    struct channel *channels = calloc(cell->concurrency, sizeof *channels);
    if (channels == NULL) {
        fail("out of memory");
    }
    return (struct gathering){.cell = cell, .channels = channels, .listener = listener};
}

bool gathering_until_line(struct gathering *gathering)
{
    while (!is_complete(gathering)) {
        if (!open_next(gathering) && control_wait_beside(gathering->listener, pause_ms(gathering))) {
            return false;
        }
    }
    return true;
}

void gathering_complete(struct gathering *gathering)
{
    while (!is_complete(gathering)) {
        if (!open_next(gathering)) {
            struct pollfd watched = {.fd = gathering->listener, .events = POLLIN};
            poll(&watched, 1, pause_ms(gathering));
        }
    }
}

/* Opens the next channel if it is ready; never waits. */
static bool open_next(struct gathering *gathering)
{
    struct channel *channel = &gathering->channels[gathering->count];
    if (gathering->listener >= 0) {
        struct pollfd watched = {.fd = gathering->listener, .events = POLLIN};
        if (poll(&watched, 1, 0) != 1) {
            return false;
        }
        *channel = channel_of(listener_accept(gathering->listener, gathering->cell), gathering->cell);
    } else {
        char *path = gathering->to_client[gathering->count];
        channel->write_fd = open_to_write(path, O_NONBLOCK);
        if (channel->write_fd < 0) {
            return false;
        }
        struct effective told_already = {0};
        wait_on_calls(channel->write_fd, path);
        set_pipe_size(channel->write_fd, gathering->cell, &told_already);
        free(path);
    }
    gathering->count++;
    return true;
}

static bool is_complete(const struct gathering *gathering)
{
    return gathering->count == gathering->cell->concurrency;
}

/* How long to wait before retrying if there is no descriptor to wait on; else below 0. */
static int pause_ms(const struct gathering *gathering)
{
    return gathering->listener >= 0 ? -1 : ASK_AGAIN_MS;
}

/* The client's side. */

struct reaching reaching_start(const struct cell *cell, struct json address)
{
    struct reaching reaching = {.cell = cell, .first = address};
    struct json more;
    if (json_member(address, "more", &more)) {
        if (!json_is_list(more)) {
            fail("protocol: \"more\" must be a list of addresses");
        }
        reaching.more = json_walk(more);
    }
    return reaching;
}

struct channel reaching_next(struct reaching *reaching, struct effective *effective)
{
    const struct cell *cell = reaching->cell;
    if (transport_connects(cell->transport)) {
        return open_client_socket(cell, reaching->first, reaching->count++, effective);
    }
    const struct json address = next_address(reaching);
    return cell->transport == FIFO ? open_client_fifos(address) : take_over(cell, address);
}

static struct json next_address(struct reaching *reaching)
{
    struct json unnamed;
    struct json address = reaching->first;
    if (reaching->count > 0 && !json_next(&reaching->more, &unnamed, &address)) {
        fail("protocol: the address names no channel for worker %zu", reaching->count + 1);
    }
    reaching->count++;
    return address;
}

static struct channel open_client_socket(const struct cell *cell, struct json address, size_t worker,
                                         struct effective *effective)
{
    const struct socket_address to = socket_address_read(cell, address);
    struct caller caller = caller_create(cell, &to, worker);
    caller.effective = *effective;
    const int connection = caller_connect(&caller);
    *effective = caller.effective;
    return channel_of(connection, cell);
}

/* Inherited descriptors. */

static struct channel take_over(const struct cell *cell, struct json address)
{
    if (cell->transport == SOCKETPAIR) {
        return channel_of(inherited(address, "fd"), cell);
    }
    return (struct channel){.read_fd = inherited(address, "read_fd"), .write_fd = inherited(address, "write_fd")};
}

static int inherited(struct json address, const char *name)
{
    const int descriptor = (int)field_number(address, name, STDERR_FILENO + 1, INT_MAX);
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
        fail_with_reason("descriptor %d was to be inherited", descriptor);
    }
    return descriptor;
}

/*
 * Opening a FIFO waits for the other side. Read ends are opened without waiting, so that neither side waits in vain
 * (fifo(7)); later reads wait as usual.
 */

static struct channel open_client_fifos(struct json address)
{
    char path[PATH_MAX];
    struct channel channel;
    field_text(address, "to_client", path, sizeof path);
    channel.read_fd = open_to_read(path);
    field_text(address, "to_server", path, sizeof path);
    control_leave_at_end(true);
    channel.write_fd = open_to_write(path, 0);
    control_leave_at_end(false);
    if (channel.write_fd < 0) {
        fail_with_reason("cannot open %s for writing", path);
    }
    return channel;
}

static int open_to_read(const char *path)
{
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        fail_with_reason("cannot open %s for reading", path);
    }
    wait_on_calls(descriptor, path);
    return descriptor;
}

/* Below 0 if there is no reader and the flags say not to wait for one. */
static int open_to_write(const char *path, int flags)
{
    int descriptor;
    do {
        descriptor = open(path, O_WRONLY | O_CLOEXEC | flags);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0 && errno != ENXIO) {
        fail_with_reason("cannot open %s for writing", path);
    }
    return descriptor;
}

static void wait_on_calls(int descriptor, const char *path)
{
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) != 0) {
        fail_with_reason("cannot set up %s", path);
    }
}

/*
 * Sets a pipe's capacity if the cell asks for one (F_SETPIPE_SZ, fcntl(2)). The kernel rounds it up, and beyond
 * /proc/sys/fs/pipe-max-size it refuses unprivileged users; the pipe then gets that size.
 */
static void set_pipe_size(int pipe_fd, const struct cell *cell, struct effective *effective)
{
    if (cell->pipe_size == 0) {
        return;
    }
    int became = fcntl(pipe_fd, F_SETPIPE_SZ, cell->pipe_size);
    if (became < 0 && errno == EPERM) {
        became = fcntl(pipe_fd, F_SETPIPE_SZ, most_pipe_size());
    }
    if (became < 0) {
        fail_with_reason("cannot set a pipe's capacity to %d bytes", cell->pipe_size);
    }
    effective_note(&effective->pipe_size, (uint64_t)became);
}

static int most_pipe_size(void)
{
    int most = 1 << 20;
    FILE *file = fopen("/proc/sys/fs/pipe-max-size", "re");
    if (file != NULL) {
        if (fscanf(file, "%d", &most) != 1) {
            most = 1 << 20;
        }
        fclose(file);
    }
    return most;
}
