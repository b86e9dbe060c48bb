#include "json.h"

#include <string.h>

/* The deepest nesting of lists and objects. It bounds the recursion of the checks. */
enum { DEEPEST = 32 };

struct reader {
    const char *at;
    const char *end;
    const char *problem;
};

static bool check_value(struct reader *reader, int depth);
static bool check_container(struct reader *reader, char closing, int depth);
static bool check_name(struct reader *reader);
static bool check_string(struct reader *reader);
static bool check_number(struct reader *reader);
static bool check_digits(struct reader *reader);
static bool check_word(struct reader *reader, const char *word);
static bool read_escape(const char **at, const char *end, uint32_t *code_point);
static bool read_hex(const char **at, const char *end, uint32_t *unit);
static size_t write_utf8(uint32_t code_point, char bytes[4]);
static void skip_space(struct reader *reader);
static bool take(struct reader *reader, char character);
static bool wrong(struct reader *reader, const char *problem);
static const char *value_end(const char *at, const char *end);
static const char *string_end(const char *at, const char *end);
static bool is_one_of(char character, const char *set);
static bool is_digit(char character);

bool json_read(const char *text, size_t length, struct json *value, const char **problem)
{
    struct reader reader = {.at = text, .end = text + length};
    skip_space(&reader);
    const char *begin = reader.at;
    if (!check_value(&reader, 0)) {
        *problem = reader.problem;
        return false;
    }
    *value = (struct json){begin, reader.at};
    skip_space(&reader);
    if (reader.at != reader.end) {
        *problem = "something follows the value";
        return false;
    }
    return true;
}

/* Checks: the reader stands at the first character to check, and behind the checked part afterwards. */

static bool check_value(struct reader *reader, int depth)
{
    if (reader->at == reader->end) {
        return wrong(reader, "it ends too early");
    }
    switch (*reader->at) {
    case '{':
        return check_container(reader, '}', depth + 1);
    case '[':
        return check_container(reader, ']', depth + 1);
    case '"':
        return check_string(reader);
    case 't':
        return check_word(reader, "true");
    case 'f':
        return check_word(reader, "false");
    case 'n':
        return check_word(reader, "null");
    default:
        return check_number(reader);
    }
}

static bool check_container(struct reader *reader, char closing, int depth)
{
    if (depth > DEEPEST) {
        return wrong(reader, "it is nested too deeply");
    }
    reader->at++;
    skip_space(reader);
    if (take(reader, closing)) {
        return true;
    }
    do {
        skip_space(reader);
        if (closing == '}' && !check_name(reader)) {
            return false;
        }
        if (!check_value(reader, depth)) {
            return false;
        }
        skip_space(reader);
    } while (take(reader, ','));
    return take(reader, closing) || wrong(reader, "a comma or a closing bracket is missing");
}

static bool check_name(struct reader *reader)
{
    if (reader->at == reader->end || *reader->at != '"') {
        return wrong(reader, "a member has no name");
    }
    if (!check_string(reader)) {
        return false;
    }
    skip_space(reader);
    if (!take(reader, ':')) {
        return wrong(reader, "a colon is missing");
    }
    skip_space(reader);
    return true;
}

static bool check_string(struct reader *reader)
{
    reader->at++;
    while (reader->at < reader->end && *reader->at != '"') {
        if (*reader->at == '\\') {
            uint32_t code_point;
            reader->at++;
            if (!read_escape(&reader->at, reader->end, &code_point)) {
                return wrong(reader, "a string has a wrong escape");
            }
            continue;
        }
        if ((unsigned char)*reader->at < 0x20) {
            return wrong(reader, "a string has a control character");
        }
        const size_t length = utf8_length(reader->at, reader->end);
        if (length == 0) {
            return wrong(reader, "a string is not UTF-8");
        }
        reader->at += length;
    }
    return take(reader, '"') || wrong(reader, "a string does not end");
}

static bool check_number(struct reader *reader)
{
    take(reader, '-');
    if (!take(reader, '0') && !check_digits(reader)) {
        return wrong(reader, "a value is missing");
    }
    if (take(reader, '.') && !check_digits(reader)) {
        return wrong(reader, "a number has no digits behind its point");
    }
    if (take(reader, 'e') || take(reader, 'E')) {
        if (!take(reader, '+')) {
            take(reader, '-');
        }
        if (!check_digits(reader)) {
            return wrong(reader, "a number has no digits in its exponent");
        }
    }
    return true;
}

static bool check_digits(struct reader *reader)
{
    const char *begin = reader->at;
    while (reader->at < reader->end && is_digit(*reader->at)) {
        reader->at++;
    }
    return reader->at > begin;
}

static bool check_word(struct reader *reader, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) {
        return wrong(reader, "a value is missing");
    }
    reader->at += length;
    return true;
}

/* Reads what follows a backslash. */
static bool read_escape(const char **at, const char *end, uint32_t *code_point)
{
    static const char NAMES[] = "\"\\/bfnrt";
    static const char MEANINGS[] = "\"\\/\b\f\n\r\t";
    if (*at == end) {
        return false;
    }
    const char letter = *(*at)++;
    if (letter != 'u') {
        const char *name = memchr(NAMES, letter, sizeof NAMES - 1);
        if (name == NULL) {
            return false;
        }
        *code_point = (uint32_t)MEANINGS[name - NAMES];
        return true;
    }
    uint32_t high;
    if (!read_hex(at, end, &high) || (high >= 0xdc00 && high <= 0xdfff)) {
        return false;
    }
    *code_point = high;
    if (high < 0xd800 || high > 0xdbff) {
        return true;
    }
    /* The first half of a pair: the second must follow. */
    uint32_t low;
    if (end - *at < 2 || memcmp(*at, "\\u", 2) != 0) {
        return false;
    }
    *at += 2;
    if (!read_hex(at, end, &low) || low < 0xdc00 || low > 0xdfff) {
        return false;
    }
    *code_point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static bool read_hex(const char **at, const char *end, uint32_t *unit)
{
    static const char DIGITS[] = "0123456789abcdefABCDEF";
    if (end - *at < 4) {
        return false;
    }
    *unit = 0;
    for (int place = 0; place < 4; place++) {
        const char *digit = memchr(DIGITS, *(*at)++, sizeof DIGITS - 1);
        if (digit == NULL) {
            return false;
        }
        const uint32_t value = (uint32_t)(digit - DIGITS);
        *unit = *unit * 16 + (value < 16 ? value : value - 6);
    }
    return true;
}

size_t utf8_length(const char *at, const char *end)
{
    const unsigned char *bytes = (const unsigned char *)at;
    const size_t room = (size_t)(end - at);
    if (room == 0) {
        return 0;
    }
    const unsigned char first = bytes[0];
    if (first < 0x80) {
        return 1;
    }
    const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first < 0xc2 || first > 0xf4 || room < length) {
        return 0;
    }
    for (size_t index = 1; index < length; index++) {
        if ((bytes[index] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* Neither overlong, nor half of a pair, nor beyond the last character. */
    const bool valid = !(first == 0xe0 && bytes[1] < 0xa0) && !(first == 0xed && bytes[1] > 0x9f) &&
                       !(first == 0xf0 && bytes[1] < 0x90) && !(first == 0xf4 && bytes[1] > 0x8f);
    return valid ? length : 0;
}

static size_t write_utf8(uint32_t code_point, char bytes[4])
{
    if (code_point < 0x80) {
        bytes[0] = (char)code_point;
        return 1;
    }
    const size_t length = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t index = length - 1; index > 0; index--) {
        bytes[index] = (char)(0x80 | (code_point & 0x3f));
        code_point >>= 6;
    }
    bytes[0] = (char)((0xf00u >> length) | code_point);
    return length;
}

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && is_one_of(*reader->at, " \t\r\n")) {
        reader->at++;
    }
}

static bool take(struct reader *reader, char character)
{
    if (reader->at == reader->end || *reader->at != character) {
        return false;
    }
    reader->at++;
    return true;
}

static bool wrong(struct reader *reader, const char *problem)
{
    reader->problem = problem;
    return false;
}

/* Access to checked text. */

bool json_is_object(struct json value)
{
    return *value.at == '{';
}

bool json_is_list(struct json value)
{
    return *value.at == '[';
}

bool json_member(struct json object, const char *name, struct json *value)
{
    if (!json_is_object(object)) {
        return false;
    }
    struct json_walk walk = json_walk(object);
    struct json known;
    while (json_next(&walk, &known, value)) {
        char text[64];
        size_t length;
        if (json_text(known, text, sizeof text, &length) && length == strlen(name) &&
            memcmp(text, name, length) == 0) {
            return true;
        }
    }
    return false;
}

struct json_walk json_walk(struct json container)
{
    if (!json_is_object(container) && !json_is_list(container)) {
        return (struct json_walk){container.end, container.end, false};
    }
    return (struct json_walk){container.at + 1, container.end - 1, json_is_object(container)};
}

bool json_next(struct json_walk *walk, struct json *name, struct json *value)
{
    for (int part = walk->named ? 0 : 1; part < 2; part++) {
        while (walk->at < walk->end && is_one_of(*walk->at, " \t\r\n,:")) {
            walk->at++;
        }
        if (walk->at == walk->end) {
            return false;
        }
        struct json *found = part == 0 ? name : value;
        found->at = walk->at;
        found->end = value_end(walk->at, walk->end);
        walk->at = found->end;
    }
    return true;
}

static const char *value_end(const char *at, const char *end)
{
    if (*at == '"') {
        return string_end(at, end);
    }
    if (!is_one_of(*at, "{[")) {
        while (at < end && !is_one_of(*at, " \t\r\n,:]}")) {
            at++;
        }
        return at;
    }
    size_t open = 0;
    do {
        if (*at == '"') {
            at = string_end(at, end);
            continue;
        }
        open += is_one_of(*at, "{[");
        open -= is_one_of(*at, "}]");
        at++;
    } while (open > 0 && at < end);
    return at;
}

static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\' && at + 1 < end) {
            at++;
        }
    }
    return at < end ? at + 1 : end;
}

bool json_text(struct json value, char *buffer, size_t capacity, size_t *length)
{
    if (*value.at != '"') {
        return false;
    }
    size_t used = 0;
    const char *at = value.at + 1;
    const char *end = value.end - 1;
    while (at < end) {
        char bytes[4];
        size_t count = 1;
        if (*at == '\\') {
            uint32_t code_point;
            at++;
            if (!read_escape(&at, end, &code_point)) {
                return false;
            }
            count = write_utf8(code_point, bytes);
        } else {
            bytes[0] = *at++;
        }
        /* Leaves room for the NUL. */
        if (capacity - used <= count) {
            return false;
        }
        memcpy(buffer + used, bytes, count);
        used += count;
    }
    buffer[used] = '\0';
    *length = used;
    return true;
}

bool json_number(struct json value, uint64_t *number)
{
    *number = 0;
    for (const char *at = value.at; at < value.end; at++) {
        if (!is_digit(*at)) {
            return false;
        }
        const uint64_t digit = (uint64_t)(*at - '0');
        if (*number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *number = *number * 10 + digit;
    }
    return true;
}

bool json_boolean(struct json value, bool *boolean)
{
    *boolean = *value.at == 't';
    return is_one_of(*value.at, "tf");
}

static bool is_one_of(char character, const char *set)
{
    return memchr(set, character, strlen(set)) != NULL;
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}
