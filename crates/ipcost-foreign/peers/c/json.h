/*
 * A small, strict JSON reader (RFC 8259): it checks a whole text once, then reads it in place. It allocates nothing,
 * and reads nothing outside the given text.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of one checked value, without surrounding space. */
struct json {
    const char *at;
    const char *end;
};

/* The position of a walk over the items of a list or the members of an object. */
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

/* Decodes a string and ends it with NUL; false if it is not a string or does not fit. */
bool json_text(struct json value, char *buffer, size_t capacity, size_t *length);

/* Reads a whole number that is not negative; false for anything else or if it does not fit. */
bool json_number(struct json value, uint64_t *number);

bool json_boolean(struct json value, bool *boolean);

/* The length of the UTF-8 character at `at`, bytes; 0 if it is invalid. */
size_t utf8_length(const char *at, const char *end);

#endif
