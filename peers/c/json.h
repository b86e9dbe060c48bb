/*
 * A small, strict reader of JSON (RFC 8259): a text is checked once as a whole, then looked at in place.
 * Nothing is allocated, and nothing is read outside the text that was given.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of one value that has been checked, without the space around it. */
struct json {
    const char *at;
    const char *end;
};

/* Where a walk over the items of a list, or the members of an object, has got to. */
struct json_walk {
    const char *at;
    const char *end;
    bool named;
};

/* Checks that the text is one value; if not, `problem` says why. */
bool json_read(const char *text, size_t length, struct json *value, const char **problem);

bool json_is_object(struct json value);
bool json_is_list(struct json value);

/* Finds the first member of that name. */
bool json_member(struct json object, const char *name, struct json *value);

/* Walks over a list or an object; anything else has no items. `name` is set for objects only. */
struct json_walk json_walk(struct json container);
bool json_next(struct json_walk *walk, struct json *name, struct json *value);

/* Decodes a string and ends it with NUL; false if it is no string or does not fit. */
bool json_text(struct json value, char *buffer, size_t capacity, size_t *length);

/* Reads a whole number that is not negative; false if it is anything else or does not fit. */
bool json_number(struct json value, uint64_t *number);

bool json_boolean(struct json value, bool *boolean);

/* How many bytes the UTF-8 character at `at` has; 0 if there is none. */
size_t utf8_length(const char *at, const char *end);

#endif
