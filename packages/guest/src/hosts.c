#include "hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_ADDRESS "127.0.1.1"

struct word {
  const char *at;
  size_t length;
};

static bool is_blank(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\r';
}

// The next word before the line's end or its comment; its length is 0 where there is none.
static struct word next_word(const char **at, const char *end) {
  while (*at < end && is_blank(**at)) (*at)++;
  struct word word = {*at, 0};
  while (*at < end && !is_blank(**at) && **at != '#') (*at)++;
  word.length = (size_t)(*at - word.at);
  return word;
}

static bool is(struct word word, const char *text) {
  return word.length == strlen(text) && memcmp(word.at, text, word.length) == 0;
}

struct seen {
  bool localhost, name, changed;
};

// Writes one line, without its end. Between words it stays byte for byte as it was.
static void copy_line(FILE *to, const char *line, const char *end, const char *const former[2], const char *name, struct seen *seen) {
  const char *at = line, *copied = line;
  struct word address = next_word(&at, end);
  for (struct word word; (word = next_word(&at, end)).length > 0;) {
    seen->localhost |= is(address, "127.0.0.1") && is(word, "localhost");
    if (!is(address, OWN_ADDRESS)) continue;
    bool is_former = is(word, former[0]) || is(word, former[1]);
    seen->name |= is_former || is(word, name);
    if (!is_former || is(word, name)) continue;
    fwrite(copied, 1, (size_t)(word.at - copied), to);
    fputs(name, to);
    copied = at;
    seen->changed = true;
  }
  fwrite(copied, 1, (size_t)(end - copied), to);
}

// Writes all lines, and says whether the last one has an end.
static bool copy_lines(FILE *to, struct text hosts, const char *const former[2], const char *name, struct seen *seen) {
  const char *line = hosts.bytes, *all = hosts.bytes + hosts.length, *end;
  for (; line < all; line = end + 1) {
    end = memchr(line, '\n', (size_t)(all - line));
    copy_line(to, line, end ? end : all, former, name, seen);
    if (!end) return false;
    fputc('\n', to);
  }
  return true;
}

struct text hosts_renamed(struct text hosts, const char *const former[2], const char *name, bool complete) {
  struct text lines = {0}, made = {0};
  struct seen seen = {0};
  FILE *to = open_memstream(&lines.bytes, &lines.length);
  if (!to) return made;
  bool ended = hosts.length == 0 || copy_lines(to, hosts, former, name, &seen);
  if (complete && !seen.name) fprintf(to, "%s" OWN_ADDRESS "\t%s\n", ended ? "" : "\n", name);
  bool failed = fclose(to) != 0;
  bool is_changed = seen.changed || (complete && !(seen.name && seen.localhost));
  to = failed || !is_changed ? NULL : open_memstream(&made.bytes, &made.length);
  if (to) {
    if (complete && !seen.localhost) fputs("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n", to);
    fwrite(lines.bytes, 1, lines.length, to);
    if (fclose(to) != 0) {
      free(made.bytes);
      made = (struct text){0};
    }
  }
  free(lines.bytes);
  return made;
}
