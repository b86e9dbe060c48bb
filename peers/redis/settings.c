#define _GNU_SOURCE 1

#include "settings.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

enum { LONGEST_HOST = 255 };

static const char *value_of(const char *name, const char *value);
static struct socket_address read_path(const char *path);
static struct socket_address read_host_and_port(const char *text);
static uint16_t read_port(const char *text, const char *port);

struct settings settings_read(int count, char **arguments)
{
    struct settings settings = {0};
    for (int index = 1; index < count; index++) {
        const char *name = arguments[index];
        const char *value = index + 1 < count ? arguments[index + 1] : NULL;
        if (strcmp(name, "--resolve") == 0) {
            settings.resolves = true;
        } else if (strcmp(name, "--unix") == 0) {
            settings.unix_at = read_path(value_of(name, value));
            settings.has_unix = true;
            index++;
        } else if (strcmp(name, "--tcp") == 0) {
            settings.tcp_at = read_host_and_port(value_of(name, value));
            settings.has_tcp = true;
            index++;
        } else {
            fail("there is no argument %s; give --unix PATH, --tcp HOST:PORT, --resolve or none", name);
        }
    }
    return settings;
}

static const char *value_of(const char *name, const char *value)
{
    if (value == NULL) {
        fail("%s needs a value; give --unix PATH or --tcp HOST:PORT", name);
    }
    return value;
}

static struct socket_address read_path(const char *path)
{
    struct socket_address read = {.name.local.sun_family = AF_UNIX};
    const size_t length = strlen(path);
    if (length == 0 || length >= sizeof read.name.local.sun_path) {
        fail("--unix %s is no path that a socket can have; give one of 1 to %zu bytes", path,
             sizeof read.name.local.sun_path - 1);
    }
    memcpy(read.name.local.sun_path, path, length + 1);
    read.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    return read;
}

/* Nothing is measured beyond this machine, so the host must be a loopback address. */
static struct socket_address read_host_and_port(const char *text)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL) {
        fail("--tcp %s names no port; give HOST:PORT, such as 127.0.0.1:6379", text);
    }
    const bool in_brackets = text[0] == '[' && colon > text + 1 && colon[-1] == ']';
    const char *begin = in_brackets ? text + 1 : text;
    const size_t length = (size_t)(colon - begin) - (in_brackets ? 1 : 0);
    char host[LONGEST_HOST + 1] = {0};
    memcpy(host, begin, length < LONGEST_HOST ? length : LONGEST_HOST);

    struct in_addr v4 = {.s_addr = htonl(INADDR_LOOPBACK)};
    struct in6_addr v6;
    const uint16_t port = htons(read_port(text, colon + 1));
    if (inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6)) {
        return (struct socket_address){
            .name.v6 = {.sin6_family = AF_INET6, .sin6_addr = v6, .sin6_port = port},
            .length = sizeof(struct sockaddr_in6),
        };
    }
    const bool is_loopback =
        strcmp(host, "localhost") == 0 ||
        (inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET);
    if (!is_loopback) {
        fail("%s is not a loopback address; give one of 127.0.0.0/8, ::1 or localhost", host);
    }
    return (struct socket_address){
        .name.v4 = {.sin_family = AF_INET, .sin_addr = v4, .sin_port = port},
        .length = sizeof(struct sockaddr_in),
    };
}

static uint16_t read_port(const char *text, const char *port)
{
    char *end;
    const unsigned long number = strtoul(port, &end, 10);
    if (port[0] < '0' || port[0] > '9' || *end != '\0' || number == 0 || number > UINT16_MAX) {
        fail("--tcp %s names no port from 1 to 65535; give HOST:PORT, such as 127.0.0.1:6379", text);
    }
    return (uint16_t)number;
}
