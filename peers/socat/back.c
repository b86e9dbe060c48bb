#define _GNU_SOURCE 1

#include "back.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "course.h"
#include "fields.h"
#include "program/port.h"
#include "program/program.h"
#include "text.h"

#define BESIDE ".done" /* behind the path of the programs' own socket */

/* Members of the server's address that tell the client where the connection beside is. */
#define DONE_PORT "done_port"
#define DONE_PATH "done_path"

static struct socket_address place_beside(struct route *route);
static struct socket_address path_beside(const struct socket_address *at);

struct gathering back_serve(struct route *route, struct json address)
{
    const struct cell *cell = route->cell;
    struct effective effective = {0};
    struct gathering gathering;
    if (!transport_connects(cell->transport)) {
        gathering = gathering_open(cell, address, &effective);
        ready_begin();
        printf("%.*s", (int)(address.end - address.at), address.at);
        ready_end(&effective);
        return gathering;
    }
    const bool is_beside = route_has_beside(route);
    struct socket_address beside = is_beside ? place_beside(route) : route->at;
    struct socket_address *at = is_beside ? &beside : &route->at;
    gathering = gathering_listen(cell, listener_open(cell, at, &effective));
    if (cell->transport == UNIX) {
        /* Only now is it sure to be this process's. */
        program_owns_file(at->name.local.sun_path);
    }
    ready_begin();
    putchar('{');
    socket_address_print(&route->at);
    if (is_beside && cell->transport == TCP) {
        printf(",\"" DONE_PORT "\":%d", ntohs(beside.name.v4.sin_port));
    } else if (is_beside) {
        printf(",\"" DONE_PATH "\":");
        text_print(beside.name.local.sun_path);
    }
    putchar('}');
    ready_end(&effective);
    return gathering;
}

/* Makes sure that the program's own place is free, and stays so: its port is held for it from now on. */
static struct socket_address place_beside(struct route *route)
{
    if (route->cell->transport == TCP) {
        struct socket_address beside = route->at;
        port_hold(&route->at);
        beside.name.v4.sin_port = 0;
        return beside;
    }
    const char *path = route->at.name.local.sun_path;
    if (access(path, F_OK) == 0) {
        fail("%s exists already; give the socket a path of its own", path);
    }
    program_owns_file(path);
    return path_beside(&route->at);
}

struct channel back_reach(struct route *route, struct json address, struct effective *effective)
{
    const struct cell *cell = route->cell;
    const bool connects = transport_connects(cell->transport);
    const char *member = cell->transport == TCP ? DONE_PORT : DONE_PATH;
    struct json unused;
    const bool is_beside = json_member(address, member, &unused);
    if (connects && is_beside != route_has_beside(route)) {
        fail("the server is no socat peer of the same kind; give both the same command, with --started or "
             "without");
    }
    if (!is_beside) {
        struct reaching reaching = reaching_start(cell, address);
        return reaching_next(&reaching, effective);
    }
    struct socket_address beside = route->at;
    if (cell->transport == TCP) {
        beside.name.v4.sin_port = htons((uint16_t)field_number(address, member, 1, UINT16_MAX));
    } else {
        beside = path_beside(&route->at);
    }
    struct caller caller = caller_create(cell, &beside, 0);
    const int connection = caller_connect(&caller);
    *effective = caller.effective;
    return (struct channel){.read_fd = connection, .write_fd = connection};
}

bool back_say(const struct route *route)
{
    static const unsigned char WORD[] = {'b'};
    return send_all(route->channel.write_fd, WORD, sizeof WORD);
}

bool back_hear(const struct route *route)
{
    unsigned char word;
    return receive_all(route->channel.read_fd, &word, 1);
}

static struct socket_address path_beside(const struct socket_address *at)
{
    struct socket_address beside = *at;
    char *path = beside.name.local.sun_path;
    const size_t length = strlen(path);
    if (length + sizeof BESIDE > sizeof beside.name.local.sun_path) {
        fail("%s leaves no room for a second socket beside it; set TMPDIR to a shorter path", path);
    }
    memcpy(path + length, BESIDE, sizeof BESIDE);
    beside.length += (socklen_t)(sizeof BESIDE - 1);
    return beside;
}
