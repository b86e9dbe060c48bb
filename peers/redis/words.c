#define _GNU_SOURCE 1

#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "channel.h"
#include "control.h"
#include "fields.h"
#include "socket.h"
#include "work.h"

#define MEMBER "beside"

enum { NAME_BYTES = 48 };

/* A name without a file: a server that was given may have its socket where this peer may make none. */
static const struct cell BESIDE = {.transport = UNIX_ABSTRACT, .concurrency = 1, .backlog = 1};

static struct {
    char name[NAME_BYTES];
    struct gathering gathering;
    bool is_gathering;
    struct channel channel;
} words;

static struct socket_address address_of(const char *name);
static void take_channel(void);

void words_listen(void)
{
    uint64_t random;
    struct effective unused = {0};
    if (getrandom(&random, sizeof random, 0) != sizeof random) {
        fail_with_reason("cannot draw a random number");
    }
    snprintf(words.name, sizeof words.name, "ipcost-redis-%016" PRIx64, random);
    struct socket_address at = address_of(words.name);
    words.gathering = gathering_listen(&BESIDE, listener_open(&BESIDE, &at, &unused));
    words.is_gathering = true;
}

void words_print_address(void)
{
    printf(",\"" MEMBER "\":\"%s\"", words.name);
}

static struct socket_address address_of(const char *name)
{
    struct socket_address at = {.name.local.sun_family = AF_UNIX};
    const size_t length = strlen(name);
    memcpy(at.name.local.sun_path + 1, name, length);
    at.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return at;
}

void words_gather(void)
{
    if (words.is_gathering && gathering_until_line(&words.gathering)) {
        take_channel();
    }
}

void words_complete(void)
{
    if (words.is_gathering) {
        gathering_complete(&words.gathering);
        take_channel();
    }
}

/* Anybody on this machine can connect to such a name. */
static void take_channel(void)
{
    words.channel = words.gathering.channels[0];
    words.is_gathering = false;
    struct ucred other;
    socklen_t length = sizeof other;
    if (getsockopt(words.channel.read_fd, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0 ||
        other.uid != geteuid()) {
        fail("another user has connected in the client's place");
    }
    close(words.gathering.listener);
}

void words_reach(struct json address)
{
    char name[NAME_BYTES];
    field_text(address, MEMBER, name, sizeof name);
    const struct socket_address at = address_of(name);
    struct caller caller = caller_create(&BESIDE, &at, 0);
    const int connection = caller_connect(&caller);
    words.channel = (struct channel){.read_fd = connection, .write_fd = connection};
}

bool words_say(void)
{
    static const unsigned char WORD[] = {'w'};
    return send_all(words.channel.write_fd, WORD, sizeof WORD);
}

bool words_hear(void)
{
    unsigned char word;
    return receive_all(words.channel.read_fd, &word, 1);
}
