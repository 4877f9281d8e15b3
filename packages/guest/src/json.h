// Just the JSON that a host sends in OPEN: one flat object, and one object of strings in it. Strict, and
// without allocation: a string is decoded where it lies, because it never grows.
#ifndef SKERRY_JSON_H
#define SKERRY_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
  char *at, *end;
};

bool json_take(struct json *json, char wanted);       // one punctuation mark, after any white space
bool json_string(struct json *json, char **text);     // ends with NUL; refuses a string that contains one
bool json_integer(struct json *json, int64_t *value); // up to 2^53, no fraction, no exponent
bool json_boolean(struct json *json, bool *value);
bool json_ended(struct json *json);

// Quotes `from` as a JSON string. Bytes that are not UTF-8 become U+FFFD. Needs 6 bytes of room per byte,
// and 3.
size_t json_quote(char *to, const char *from);

#endif
