#define _GNU_SOURCE 1

#include "resp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "control.h"
#include "work.h"

enum {
    CHUNK_BYTES = 16384,
    LONGEST_REPLY = 1 << 24, /* with all that is in it; what is asked for takes some kilobytes */
    LONGEST_HEAD = 32, /* what stands before a word, or before them all, and behind it */
    DEEPEST = 8, /* how deeply lists may be nested */
};

static bool read_reply(struct resp *resp, size_t *at, struct reply *reply, int depth);
static bool find_line(struct resp *resp, size_t at, size_t *length);
static bool receive_up_to(struct resp *resp, size_t count);
static bool out_of_protocol(void);

struct resp resp_connect(const struct socket_address *at)
{
    struct resp resp = {.descriptor = socket(at->name.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    socket_address_show(at, resp.server);
    if (resp.descriptor < 0) {
        fail_with_reason("cannot make a socket");
    }
    int result;
    do {
        result = connect(resp.descriptor, &at->name.any, at->length);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
        const int reason = errno;
        close(resp.descriptor);
        resp.descriptor = -1;
        errno = reason;
    }
    return resp;
}

struct resp resp_open(const struct socket_address *at)
{
    struct resp resp = resp_connect(at);
    if (resp.descriptor < 0) {
        fail_with_reason("cannot connect to the redis server at %s", resp.server);
    }
    return resp;
}

void resp_close(struct resp *resp)
{
    close(resp->descriptor);
    free(resp->bytes);
}

void resp_wait_at_most(const struct resp *resp, int seconds)
{
    const struct timeval time = {.tv_sec = seconds};
    setsockopt(resp->descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    setsockopt(resp->descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

/* All of it at once: in pieces, it would cost the server as many calls, and TCP might hold them back. */
bool resp_send(const struct resp *resp, const char *const *words)
{
    int count = 0;
    size_t capacity = LONGEST_HEAD;
    for (; words[count] != NULL; count++) {
        capacity += LONGEST_HEAD + strlen(words[count]);
    }
    char *text = malloc(capacity);
    if (text == NULL) {
        fail("out of memory");
    }
    char *end = text + snprintf(text, capacity, "*%d\r\n", count);
    for (int index = 0; index < count; index++) {
        const size_t left = capacity - (size_t)(end - text);
        end += snprintf(end, left, "$%zu\r\n%s\r\n", strlen(words[index]), words[index]);
    }
    const bool sent = send_all(resp->descriptor, (const unsigned char *)text, (size_t)(end - text));
    free(text);
    return sent;
}

bool resp_receive(struct resp *resp, struct reply *reply)
{
    /* What was behind the last reply comes to the front, once nobody looks at that any more. */
    if (resp->begin > 0) {
        memmove(resp->bytes, resp->bytes + resp->begin, resp->end - resp->begin);
        resp->end -= resp->begin;
        resp->begin = 0;
    }
    return read_reply(resp, &resp->begin, reply, 0);
}

/* Reads the reply that begins at `at`, which stands behind it afterwards. */
static bool read_reply(struct resp *resp, size_t *at, struct reply *reply, int depth)
{
    size_t length;
    if (!find_line(resp, *at, &length)) {
        return false;
    }
    char *line = resp->bytes + *at;
    line[length] = '\0';
    char *end;
    *reply = (struct reply){.type = line[0], .text = line + 1, .number = strtoll(line + 1, &end, 10)};
    const bool is_number = end > line + 1 && *end == '\0';
    *at += length + 2;
    if (line[0] == '+' || line[0] == '-') {
        return true;
    }
    if (!is_number || strchr(":$*", line[0]) == NULL || depth > DEEPEST) {
        return out_of_protocol();
    }
    if (reply->type == ':') {
        return true;
    }
    reply->text = NULL;
    if (reply->type == '$' && reply->number >= 0 && reply->number < LONGEST_REPLY) {
        const size_t size = (size_t)reply->number;
        if (!receive_up_to(resp, *at + size + 2)) {
            return false;
        }
        reply->text = resp->bytes + *at;
        resp->bytes[*at + size] = '\0';
        *at += size + 2;
        return true;
    }
    for (long long item = 0; reply->type == '*' && item < reply->number; item++) {
        struct reply dropped;
        if (!read_reply(resp, at, &dropped, depth + 1)) {
            return false;
        }
    }
    return true;
}

/* Receives until a whole line is there; its length is without CR and LF. */
static bool find_line(struct resp *resp, size_t at, size_t *length)
{
    for (size_t looked_at = at;;) {
        const char *newline =
            looked_at < resp->end ? memchr(resp->bytes + looked_at, '\n', resp->end - looked_at) : NULL;
        if (newline != NULL) {
            /* A line has a type, and CR before its end. */
            const char *line = resp->bytes + at;
            if (newline - line < 2 || newline[-1] != '\r') {
                return out_of_protocol();
            }
            *length = (size_t)(newline - line) - 1;
            return true;
        }
        looked_at = resp->end;
        if (resp->end - at > CHUNK_BYTES) {
            return out_of_protocol();
        }
        if (!receive_up_to(resp, resp->end + 1)) {
            return false;
        }
    }
}

/* Receives until there are so many bytes, and perhaps more; but not endlessly many. */
static bool receive_up_to(struct resp *resp, size_t count)
{
    if (count > LONGEST_REPLY + LONGEST_HEAD) {
        return out_of_protocol();
    }
    while (resp->end < count) {
        const size_t wanted = count - resp->end > CHUNK_BYTES ? count - resp->end : CHUNK_BYTES;
        if (resp->capacity < resp->end + wanted) {
            resp->capacity = resp->end + wanted;
            resp->bytes = realloc(resp->bytes, resp->capacity);
            if (resp->bytes == NULL) {
                fail("out of memory");
            }
        }
        const ssize_t received = receive_some(
            resp->descriptor, (unsigned char *)resp->bytes + resp->end, resp->capacity - resp->end);
        if (received <= 0) {
            return false;
        }
        resp->end += (size_t)received;
    }
    return true;
}

static bool out_of_protocol(void)
{
    errno = EPROTO;
    return false;
}

struct reply resp_ask(struct resp *resp, char type, const char *const *words)
{
    struct reply reply;
    if (!resp_send(resp, words) || !resp_receive(resp, &reply)) {
        resp_fail(resp, words[0]);
    }
    if (reply.type == '-') {
        fail("the redis server at %s refused %s: %s", resp->server, words[0], reply.text);
    }
    if (reply.type != type) {
        fail("the redis server at %s answered %s with '%c' instead of '%c'; is it redis?", resp->server,
             words[0], reply.type, type);
    }
    return reply;
}

void resp_fail(const struct resp *resp, const char *command)
{
    switch (errno) {
    case 0:
    case EPIPE:
    case ECONNRESET:
        fail("the redis server at %s closed the connection at %s", resp->server, command);
    case EAGAIN:
        fail("the redis server at %s did not answer %s in time", resp->server, command);
    case EPROTO:
        fail("the server at %s answered %s with what is no reply of redis; is it redis?", resp->server,
             command);
    default:
        fail_with_reason("asking the redis server at %s for %s", resp->server, command);
    }
}
