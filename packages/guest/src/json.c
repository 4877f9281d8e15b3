#include "json.h"

#include <stdio.h>
#include <string.h>

static const int64_t INTEGER_MAX = (int64_t)1 << 53;

static void skip_space(struct json *json) {
  while (json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at) json->at++;
}

bool json_take(struct json *json, char wanted) {
  skip_space(json);
  if (json->at == json->end || *json->at != wanted) return false;
  json->at++;
  return true;
}

bool json_ended(struct json *json) {
  skip_space(json);
  return json->at == json->end;
}

static bool literal(struct json *json, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(json->end - json->at) < length || memcmp(json->at, word, length) != 0) return false;
  json->at += length;
  return true;
}

bool json_boolean(struct json *json, bool *value) {
  skip_space(json);
  *value = literal(json, "true");
  return *value || literal(json, "false");
}

bool json_integer(struct json *json, int64_t *value) {
  skip_space(json);
  bool negative = json->at < json->end && *json->at == '-';
  if (negative) json->at++;
  char *first = json->at;
  int64_t sum = 0;
  while (json->at < json->end && *json->at >= '0' && *json->at <= '9') {
    sum = sum * 10 + (*json->at++ - '0');
    if (sum > INTEGER_MAX) return false;
  }
  if (json->at == first || (*first == '0' && json->at > first + 1)) return false;
  if (json->at < json->end && strchr(".eE", *json->at) && *json->at) return false;
  *value = negative ? -sum : sum;
  return true;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool hex4(struct json *json, uint32_t *unit) {
  if (json->end - json->at < 4) return false;
  *unit = 0;
  for (int i = 0; i < 4; i++) {
    int digit = hex_digit(*json->at++);
    if (digit < 0) return false;
    *unit = *unit << 4 | (uint32_t)digit;
  }
  return true;
}

static char *put_utf8(char *to, uint32_t point) {
  int more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  static const uint8_t lead[] = {0, 0xC0, 0xE0, 0xF0};
  *to++ = (char)(lead[more] | point >> (6 * more));
  while (more-- > 0) *to++ = (char)(0x80 | (point >> (6 * more) & 0x3F));
  return to;
}

// After `\u`: one character, or a surrogate pair. A lone surrogate is refused, as is NUL.
static bool unicode_escape(struct json *json, char **to) {
  uint32_t point, low;
  if (!hex4(json, &point)) return false;
  if (point >= 0xD800 && point < 0xDC00) {
    if (!literal(json, "\\u") || !hex4(json, &low) || low < 0xDC00 || low > 0xDFFF) return false;
    point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
  } else if (point == 0 || (point >= 0xDC00 && point <= 0xDFFF)) {
    return false;
  }
  *to = put_utf8(*to, point);
  return true;
}

bool json_string(struct json *json, char **text) {
  if (!json_take(json, '"')) return false;
  static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  char *to = *text = json->at;
  while (json->at < json->end) {
    char c = *json->at++;
    if (c == '"') {
      *to = '\0';
      return true;
    }
    if ((unsigned char)c < 0x20) return false;
    if (c != '\\') {
      *to++ = c;
      continue;
    }
    if (json->at == json->end) return false;
    c = *json->at++;
    const char *escape = c ? strchr(escapes, c) : NULL;
    if (escape)
      *to++ = meanings[escape - escapes];
    else if (c != 'u' || !unicode_escape(json, &to))
      return false;
  }
  return false;
}

// Length of the UTF-8 character at `from`, 0 if there is none. Stops at the final NUL by itself.
static int utf8_length(const unsigned char *from) {
  unsigned char low = 0x80, high = 0xBF;
  int length = from[0] < 0x80 ? 1 : from[0] < 0xC2 ? 0 : from[0] < 0xE0 ? 2 : from[0] < 0xF0 ? 3 : 4;
  if (length < 2) return length;
  if (from[0] > 0xF4) return 0;
  if (from[0] == 0xE0) low = 0xA0;  // overlong
  if (from[0] == 0xF0) low = 0x90;  // overlong
  if (from[0] == 0xED) high = 0x9F; // surrogates
  if (from[0] == 0xF4) high = 0x8F; // beyond U+10FFFF
  if (from[1] < low || from[1] > high) return 0;
  for (int i = 2; i < length; i++) {
    if ((from[i] & 0xC0) != 0x80) return 0;
  }
  return length;
}

size_t json_quote(char *to, const char *from) {
  char *start = to;
  *to++ = '"';
  while (*from) {
    int length = utf8_length((const unsigned char *)from);
    if (length == 0) {
      to = put_utf8(to, 0xFFFD);
      from++;
    } else if ((unsigned char)*from < 0x20) {
      to += sprintf(to, "\\u%04x", (unsigned)*from++);
    } else {
      if (*from == '"' || *from == '\\') *to++ = '\\';
      while (length-- > 0) *to++ = *from++;
    }
  }
  *to++ = '"';
  *to = '\0';
  return (size_t)(to - start);
}
