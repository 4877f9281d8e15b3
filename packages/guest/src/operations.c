#include "operations.h"
#include "attributes.h"
#include "json.h"

#include <string.h>

enum kind { STRING, INTEGER, BOOLEAN, ENV, ATTRIBUTES, PROGRAM, FILES };

static const int64_t TIMEOUT_MAX_MS = 24 * 3600 * 1000, PORT_MAX = 65535;
static const int64_t DEPTH_MAX = 64; // each level of a list holds a descriptor

static const struct field {
  const char *name;
  enum kind kind;
  size_t offset;
} fields[] = {
    {"op", STRING, offsetof(struct request, op)},
    {"command", STRING, offsetof(struct request, command)},
    {"workdir", STRING, offsetof(struct request, workdir)},
    {"env", ENV, offsetof(struct request, env)},
    {"attributes", ATTRIBUTES, offsetof(struct request, attributes)},
    {"timeout_ms", INTEGER, offsetof(struct request, timeout_ms)},
    {"stdin", BOOLEAN, offsetof(struct request, wants_stdin)},
    {"output_limit", INTEGER, offsetof(struct request, output_limit)},
    {"path", STRING, offsetof(struct request, path)},
    {"mode", INTEGER, offsetof(struct request, mode)},
    {"limit", INTEGER, offsetof(struct request, limit)},
    {"depth", INTEGER, offsetof(struct request, depth)},
    {"to", STRING, offsetof(struct request, to)},
    {"follow", BOOLEAN, offsetof(struct request, follow)},
    {"recursive", BOOLEAN, offsetof(struct request, recursive)},
    {"hostname", STRING, offsetof(struct request, hostname)},
    {"machine_id", STRING, offsetof(struct request, machine_id)},
    {"clock_us", INTEGER, offsetof(struct request, clock_us)},
    {"adjust_us", INTEGER, offsetof(struct request, adjust_us)},
    {"entropy", STRING, offsetof(struct request, entropy)},
    {"signal", INTEGER, offsetof(struct request, signal)},
    {"execution", STRING, offsetof(struct request, execution)},
    {"reattach_ms", INTEGER, offsetof(struct request, reattach_ms)},
    {"after", INTEGER, offsetof(struct request, after)},
    {"hold", BOOLEAN, offsetof(struct request, hold)},
    {"tty", BOOLEAN, offsetof(struct request, tty)},
    {"cols", INTEGER, offsetof(struct request, cols)},
    {"rows", INTEGER, offsetof(struct request, rows)},
    {"end", BOOLEAN, offsetof(struct request, end)},
    {"port", INTEGER, offsetof(struct request, port)},
    {"bytes", INTEGER, offsetof(struct request, bytes)},
    {"user", STRING, offsetof(struct request, user)},
    {"program", PROGRAM, offsetof(struct request, program)},
    {"run_files", FILES, offsetof(struct request, run_files)},
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

// The fields that an operation must have, by the first letters of their names in the table above.
static const struct shape {
  const char *name;
  const char *fields[10];
} shapes[] = {
    [EXECUTE] = {"execute", {"command", "env", "timeout_ms", "stdin", "output_limit"}},
    [MAIN] = {"main", {"command", "env"}},
    [WRITE] = {"write", {"path", "mode"}},
    [READ] = {"read", {"path"}},
    [LIST] = {"list", {"path", "limit"}},
    [STAT] = {"stat", {"path", "follow"}},
    [MKDIR] = {"mkdir", {"path", "mode"}},
    [MOVE] = {"move", {"path", "to"}},
    [REMOVE] = {"remove", {"path", "recursive"}},
    [CHMOD] = {"chmod", {"path", "mode"}},
    [PACK] = {"pack", {"path"}},
    [UNPACK] = {"unpack", {"path"}},
    [WATCH] = {"watch", {"path", "recursive"}},
    [START] = {"start", {"execution", "command", "env", "timeout_ms", "stdin", "tty", "cols", "rows", "reattach_ms"}},
    [FOLLOW] = {"follow", {"execution", "after", "hold"}},
    [INPUT] = {"input", {"execution", "end"}},
    [SIGNAL] = {"signal", {"execution", "signal"}},
    [RESIZE] = {"resize", {"execution", "cols", "rows"}},
    [EXECUTION] = {"execution", {"execution"}},
    [FORGET] = {"forget", {"execution"}},
    [EXECUTIONS] = {"executions", {0}},
    [CONNECT] = {"connect", {"port"}},
    [PORTS] = {"ports", {"limit"}},
    [LONG] = {"long", {"bytes"}},
    [CONFIGURE] = {"configure", {"hostname", "machine_id", "clock_us", "entropy", "env"}},
    [WAKE] = {"wake", {"clock_us", "entropy"}},
    [CLOCK] = {"clock", {"adjust_us"}},
    [IDLE] = {"idle", {0}},
    [TERMINATE] = {"terminate", {"signal"}},
    [SHUTDOWN] = {"shutdown", {0}},
};

static unsigned field_index(const char *name) {
  unsigned i = 0;
  while (i < FIELDS && strcmp(fields[i].name, name) != 0) i++;
  return i;
}

// `"K":"V"` leaves room enough to join key and value where they lie.
static bool parse_pairs(struct json *json, char **pairs, unsigned max) {
  if (!json_take(json, '{')) return false;
  if (json_take(json, '}')) return true;
  for (unsigned count = 0; count < max; count++) {
    char *key, *value;
    if (!json_string(json, &key) || !json_take(json, ':') || !json_string(json, &value)) return false;
    size_t key_bytes = strlen(key);
    if (key_bytes == 0 || strchr(key, '=')) return false;
    key[key_bytes] = '=';
    memmove(key + key_bytes + 1, value, strlen(value) + 1);
    pairs[count] = key;
    if (json_take(json, '}')) return true;
    if (!json_take(json, ',')) return false;
  }
  return false;
}

static bool parse_texts(struct json *json, char **texts, unsigned max) {
  if (!json_take(json, '[')) return false;
  for (unsigned count = 0; count < max; count++) {
    if (!json_string(json, &texts[count])) return false;
    if (json_take(json, ']')) return true;
    if (!json_take(json, ',')) return false;
  }
  return false;
}

static bool parse_value(struct request *request, struct json *json, const struct field *field) {
  void *to = (char *)request + field->offset;
  switch (field->kind) {
  case STRING:
    return json_string(json, to);
  case INTEGER:
    return json_integer(json, to);
  case BOOLEAN:
    return json_boolean(json, to);
  case ENV:
    return parse_pairs(json, to, ENV_MAX_ENTRIES);
  case ATTRIBUTES:
    return parse_pairs(json, to, ATTRIBUTES_MAX);
  case PROGRAM:
    return parse_texts(json, to, PROGRAM_MAX);
  case FILES:
    return parse_pairs(json, to, RUN_FILES_MAX);
  }
  return false;
}

static bool parse_object(struct request *request, struct json *json, uint64_t *seen) {
  if (!json_take(json, '{')) return false;
  do {
    char *name;
    if (!json_string(json, &name) || !json_take(json, ':')) return false;
    unsigned index = field_index(name);
    if (index == FIELDS || (*seen & 1ull << index)) return false;
    if (!parse_value(request, json, &fields[index])) return false;
    *seen |= 1ull << index;
  } while (json_take(json, ','));
  return json_take(json, '}') && json_ended(json);
}

static bool is_hex(const char *text, size_t digits) {
  return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

// Of what goes stale while a guest stands still.
static const char *find_stale(const struct request *request) {
  if (!is_hex(request->entropy, 128)) return "entropy is not 128 hexadecimal digits";
  return request->clock_us < 1 ? "clock_us is out of range" : NULL;
}

// "NAME=text": the name leads to a file of /run, or of one folder there.
static bool is_run_file(const char *pair) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  size_t length = strcspn(pair, "=");
  if (length > RUN_FILE_NAME_MAX_BYTES || strlen(pair + length + 1) > RUN_FILE_MAX_BYTES) return false;
  for (int part = 0; part < 2; part++) {
    size_t allowed = strspn(pair, letters);
    if (strspn(pair, ".") == allowed) return false; // nothing, or a way up
    pair += allowed;
    if (*pair != '/') return *pair == '=';
    pair++;
  }
  return false;
}

static const char *find_execution_problem(const struct request *request) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  size_t length = strlen(request->execution);
  if (length == 0 || length >= EXECUTION_ID_BYTES || strspn(request->execution, letters) != length)
    return "execution is not an id";
  bool has_size = request->operation == START || request->operation == RESIZE;
  if (has_size && (request->cols < 1 || request->cols > UINT16_MAX || request->rows < 1 || request->rows > UINT16_MAX))
    return "cols or rows is out of range";
  if (request->operation == SIGNAL && (request->signal < 1 || request->signal > 64)) return "signal is out of range";
  if (request->operation != START) return NULL;
  if (request->timeout_ms < 0 || request->timeout_ms > TIMEOUT_MAX_MS) return "timeout_ms is out of range";
  for (char *const *file = request->run_files; *file; file++) {
    if (!is_run_file(*file)) return "run_files has a name or a text that is not allowed";
  }
  if (request->reattach_ms < -1 || request->reattach_ms > TIMEOUT_MAX_MS) return "reattach_ms is out of range";
  return request->workdir && request->workdir[0] != '/' ? "workdir is not absolute" : NULL;
}

static const char *find_attributes_problem(const struct request *request) {
  size_t bytes = 0;
  for (char *const *pair = request->attributes; *pair; pair++) {
    if (strcspn(*pair, "=") > ATTRIBUTE_NAME_MAX_BYTES) return "the name of an attribute is too long";
    bytes += strlen("user.") + strlen(*pair) - 1; // without its =
  }
  return bytes > ATTRIBUTES_BYTES ? "the attributes are too large together" : NULL;
}

static const char *find_problem(const struct request *request) {
  if (request->user && strlen(request->user) >= USER_BYTES) return "user is too long";
  switch (request->operation) {
  case EXECUTE:
    if (request->timeout_ms < 1 || request->timeout_ms > TIMEOUT_MAX_MS) return "timeout_ms is out of range";
    if (request->output_limit < 0) return "output_limit is negative";
    return request->workdir && request->workdir[0] != '/' ? "workdir is not absolute" : NULL;
  case CONFIGURE:
    if (!is_hex(request->machine_id, 32)) return "machine_id is not 32 hexadecimal digits";
    if (find_stale(request)) return find_stale(request);
    if (request->workdir && request->workdir[0] != '/') return "workdir is not absolute";
    if (request->hostname[0] == '\0' || strlen(request->hostname) > 63)
      return "hostname is too long or empty";
    return strpbrk(request->hostname, " \t\r\n/") ? "hostname has a character that does not belong there"
                                                  : NULL;
  case WAKE:
    return find_stale(request);
  case TERMINATE:
    return request->signal < 1 || request->signal > 64 ? "signal is out of range" : NULL;
  case CONNECT:
    return request->port < 1 || request->port > PORT_MAX ? "port is out of range" : NULL;
  case LONG:
    return request->bytes < 1 || request->bytes > REQUEST_MAX_BYTES ? "bytes is out of range" : NULL;
  case PORTS:
    return request->limit < 1 ? "limit is out of range" : NULL;
  case START:
  case FOLLOW:
  case INPUT:
  case SIGNAL:
  case RESIZE:
  case EXECUTION:
  case FORGET:
    return find_execution_problem(request);
  case EXECUTIONS:
  case MAIN:
  case CLOCK:
  case IDLE:
  case SHUTDOWN:
    return NULL;
  case WRITE:
    if (find_attributes_problem(request)) return find_attributes_problem(request);
    // fall through
  case MKDIR:
  case CHMOD:
    if (request->mode < 0 || request->mode > 07777) return "mode is out of range";
    break;
  case LIST:
    if (request->limit < 1) return "limit is out of range";
    if (request->depth < 0 || request->depth > DEPTH_MAX) return "depth is out of range";
    break;
  case MOVE:
    if (request->to[0] != '/') return "to is not absolute";
    break;
  case READ:
  case STAT:
  case REMOVE:
  case PACK:
  case UNPACK:
  case WATCH:
    break;
  }
  return request->path[0] != '/' ? "path is not absolute" : NULL;
}

bool request_parse(struct request *request, char *text, size_t length, const char **problem) {
  struct json json = {text, text + length};
  uint64_t seen = 0;
  memset(request, 0, sizeof *request);
  *problem = "the request is not an object with the known fields";
  if (!parse_object(request, &json, &seen) || !request->op) return false;
  unsigned operation = EXECUTE;
  while (operation <= SHUTDOWN && strcmp(shapes[operation].name, request->op) != 0) operation++;
  *problem = "there is no such operation";
  if (operation > SHUTDOWN) return false;
  request->operation = operation;
  *problem = "a field of the request is missing";
  for (const char *const *name = shapes[operation].fields; *name; name++) {
    if (!(seen & 1ull << field_index(*name))) return false;
  }
  *problem = find_problem(request);
  return *problem == NULL;
}
