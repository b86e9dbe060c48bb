#define _GNU_SOURCE 1

#include "command.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "fields.h"

static void complete(struct command *command, const struct program *socat, const struct route *route);
static void add(char *address, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_path(char *address, const char *path);
static void add_buffers(char *address, const struct cell *cell, const char *when);

struct route route_read(const struct cell *cell, bool is_started, struct json message)
{
    const struct json address = field_object(message, "address");
    struct json unused;
    struct route route = {
        .cell = cell,
        .is_started = is_started,
        .sets_backlog = cell_option(field_object(message, "cell"), "backlog", &unused),
    };
    if (transport_connects(cell->transport)) {
        route.at = socket_address_read(cell, address);
    } else if (cell->transport == FIFO) {
        field_text(address, "to_server", route.fifo, sizeof route.fifo);
    }
    return route;
}

bool route_is_opened_by_programs(const struct route *route)
{
    return !route->is_started && route->cell->transport != PIPE;
}

bool route_has_beside(const struct route *route)
{
    return route_is_opened_by_programs(route) && transport_connects(route->cell->transport);
}

void command_sender(struct command *command, const struct program *socat, const struct route *route,
                    uint64_t bytes, int payload)
{
    const struct cell *cell = route->cell;
    *command = (struct command){.launch = {.input = payload}};
    if (payload != 0) {
        add(command->from, "STDIN");
    } else {
        add(command->from, "OPEN:/dev/zero,readbytes=%" PRIu64, bytes);
    }
    char *to = command->to;
    if (!route_is_opened_by_programs(route)) {
        /* The connection is for the next batch too, so this program's end must not shut it down. */
        add(to, transport_connects(cell->transport) ? "STDOUT,shut-none" : "STDOUT");
        command->launch.output = route->channel.write_fd;
    } else if (cell->transport == FIFO) {
        add(to, "OPEN:");
        add_path(to, route->fifo);
        add(to, ",wronly");
    } else if (cell->transport == UNIX) {
        add(to, "UNIX-CONNECT:");
        add_path(to, route->at.name.local.sun_path);
        add_buffers(to, cell, "");
    } else {
        char host[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &route->at.name.v4.sin_addr, host, sizeof host);
        add(to, "TCP4:%s:%d%s", host, ntohs(route->at.name.v4.sin_port), cell->tcp_nodelay ? ",nodelay" : "");
        add_buffers(to, cell, "");
    }
    complete(command, socat, route);
}

/*
 * A receiver ends at the end of what it reads. Pipes and FIFOs have none as long as these peers hold them open
 * for the next batch, and neither has a connection that is for the next batch too: there it counts.
 */
void command_receiver(struct command *command, const struct program *socat, const struct route *route,
                      uint64_t bytes, int payload)
{
    const struct cell *cell = route->cell;
    *command = (struct command){.launch = {.output = payload}};
    char *from = command->from;
    if (!route_is_opened_by_programs(route)) {
        add(from, "STDIN,readbytes=%" PRIu64 "%s", bytes,
            transport_connects(cell->transport) ? ",shut-none" : "");
        command->launch.input = route->channel.read_fd;
    } else if (cell->transport == FIFO) {
        add(from, "OPEN:");
        add_path(from, route->fifo);
        add(from, ",rdonly,readbytes=%" PRIu64, bytes);
    } else if (cell->transport == UNIX) {
        add(from, "UNIX-LISTEN:");
        add_path(from, route->at.name.local.sun_path);
        /* Unix sockets do not inherit their listener's buffers. */
        add_buffers(from, cell, "-late");
    } else {
        char host[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &route->at.name.v4.sin_addr, host, sizeof host);
        /* The connection inherits what is set on the listener. */
        add(from, "TCP4-LISTEN:%d,bind=%s,reuseaddr%s", ntohs(route->at.name.v4.sin_port), host,
            cell->tcp_nodelay ? ",nodelay" : "");
        add_buffers(from, cell, "");
    }
    if (route_has_beside(route) && route->sets_backlog) {
        add(from, ",backlog=%d", cell->backlog);
    }
    add(command->to, payload != 0 ? "STDOUT" : "OPEN:/dev/null");
    complete(command, socat, route);
}

static void complete(struct command *command, const struct program *socat, const struct route *route)
{
    snprintf(command->block, sizeof command->block, "%zu", route->cell->size);
    const char *const arguments[] = {"-u", "-b", command->block, command->from, command->to, NULL};
    memcpy(command->arguments, arguments, sizeof arguments);
    command->launch.program = socat;
    command->launch.arguments = command->arguments;
}

static void add(char *address, const char *format, ...)
{
    const size_t used = strlen(address);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(address + used, sizeof((struct command *)0)->to - used, format, arguments);
    va_end(arguments);
}

/* Characters that separate words in an address are taken for themselves behind a backslash (socat(1)). */
static void add_path(char *address, const char *path)
{
    for (; *path != '\0'; path++) {
        const bool is_plain = isalnum((unsigned char)*path) || strchr("/._-", *path) != NULL;
        add(address, is_plain || (unsigned char)*path >= 0x80 ? "%c" : "\\%c", *path);
    }
}

static void add_buffers(char *address, const struct cell *cell, const char *when)
{
    if (cell->so_sndbuf != 0) {
        add(address, ",so-sndbuf%s=%d", when, cell->so_sndbuf);
    }
    if (cell->so_rcvbuf != 0) {
        add(address, ",so-rcvbuf%s=%d", when, cell->so_rcvbuf);
    }
}
