#include "fields.h"

#include <inttypes.h>
#include <string.h>

#include "control.h"

struct json field(struct json object, const char *name)
{
    struct json value;
    if (!json_member(object, name, &value)) {
        fail("protocol: \"%s\" is missing", name);
    }
    return value;
}

struct json field_object(struct json object, const char *name)
{
    const struct json value = field(object, name);
    if (!json_is_object(value)) {
        fail("protocol: \"%s\" must be an object", name);
    }
    return value;
}

void field_text(struct json object, const char *name, char *buffer, size_t capacity)
{
    value_text(field(object, name), name, buffer, capacity);
}

uint64_t field_number(struct json object, const char *name, uint64_t least, uint64_t most)
{
    return value_number(field(object, name), name, least, most);
}

void value_text(struct json value, const char *name, char *buffer, size_t capacity)
{
    size_t length;
    if (!json_text(value, buffer, capacity, &length) || memchr(buffer, '\0', length) != NULL) {
        fail("protocol: \"%s\" must be text of less than %zu bytes", name, capacity);
    }
}

uint64_t value_number(struct json value, const char *name, uint64_t least, uint64_t most)
{
    uint64_t number;
    if (!json_number(value, &number) || number < least || number > most) {
        fail("protocol: \"%s\" must be a whole number from %" PRIu64 " to %" PRIu64, name, least, most);
    }
    return number;
}

bool value_boolean(struct json value, const char *name)
{
    bool boolean;
    if (!json_boolean(value, &boolean)) {
        fail("protocol: \"%s\" must be true or false", name);
    }
    return boolean;
}

bool value_is_second(struct json value, const char *name, const char *first, const char *second)
{
    char text[64];
    value_text(value, name, text, sizeof text);
    const bool is_second = strcmp(text, second) == 0;
    if (!is_second && strcmp(text, first) != 0) {
        fail("protocol: \"%s\" must be \"%s\" or \"%s\", not \"%s\"", name, first, second, text);
    }
    return is_second;
}
