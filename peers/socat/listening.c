#define _GNU_SOURCE 1

#include "listening.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "control.h"

enum {
    ACCEPTS = 0x10000, /* the flag of a Unix socket that listens */
    LISTENS = 0x0a,    /* the state of a TCP socket that listens */
};

/*
 * A connection would be the one that socat waits for. The kernel's tables of sockets tell as well: Unix sockets
 * in /proc/net/unix, "address: references protocol flags type state inode path", and TCP's in /proc/net/tcp,
 * "number: local remote state …" (proc(5)).
 */
bool listening_at(const struct socket_address *at)
{
    const bool is_local = at->name.any.sa_family == AF_UNIX;
    const char *table = is_local ? "/proc/net/unix" : "/proc/net/tcp";
    char line[512];
    bool listens = false;
    FILE *file = fopen(table, "re");
    if (file == NULL) {
        fail_with_reason("cannot read %s", table);
    }
    while (!listens && fgets(line, sizeof line, file) != NULL) {
        unsigned long flags;
        unsigned address;
        unsigned port;
        unsigned state;
        int path = 0;
        line[strcspn(line, "\n")] = '\0';
        if (is_local) {
            listens = sscanf(line, "%*s %*s %*s %lx %*s %*s %*s %n", &flags, &path) == 1 && path > 0 &&
                      (flags & ACCEPTS) != 0 && strcmp(line + path, at->name.local.sun_path) == 0;
        } else {
            listens = sscanf(line, "%*s %x:%x %*s %x", &address, &port, &state) == 3 && state == LISTENS &&
                      address == at->name.v4.sin_addr.s_addr && port == ntohs(at->name.v4.sin_port);
        }
    }
    fclose(file);
    return listens;
}
