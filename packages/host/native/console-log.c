// Keeps the end of a console: what comes from standard input goes into a ring in standard output, a file. The
// file never grows beyond the ring, however much the guest writes and however long no host process reads it.
//
//   console-log UID
//
// It ends when its input does, that is with the QEMU that writes. The file begins with a header (see
// console-log.ts, which reads it); what an earlier run has written stays, and positions count on. The content
// is not interpreted. A second ring behind the first says when it came: pairs of a position and the time at
// which the bytes from there on were read, at most ten in a second.
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { RING_BYTES = 8 << 20, RING_AT = 4096, CHUNK_BYTES = 64 << 10, FAILED = 126 };
enum { TIMES_AT = RING_AT + RING_BYTES, TIMES = 64 << 10, TIME_EVERY_MS = 100 };

static struct {
  char magic[8];
  uint64_t ring_bytes;
  uint64_t total; // bytes ever written; the last RING_BYTES of them are in the ring
  uint64_t writing;
  uint64_t begun; // the total when this run began
  uint64_t times; // pairs ever written; absent in files of the version before
} header;

struct moment {
  uint64_t position;
  uint64_t ms; // since 1970
};

static const char magic[8] = "SKRYLOG1";
static char chunk[CHUNK_BYTES];

// Also nothing else of this user, a broken QEMU least of all, may look into this process.
static void drop_privileges(const char *text) {
  uid_t uid = (uid_t)strtoul(text, NULL, 10);
  if (uid == 0 || setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)) exit(FAILED);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)) exit(FAILED);
}

static uint64_t now_ms(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now)) return 0;
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// The time of what is saved next.
static void save_time(void) {
  static uint64_t last_ms;
  struct moment moment = {header.total, now_ms()};
  uint64_t passed = moment.ms > last_ms ? moment.ms - last_ms : last_ms - moment.ms;
  if (last_ms != 0 && passed < TIME_EVERY_MS) return;
  off_t at = (off_t)(TIMES_AT + header.times % TIMES * sizeof moment);
  if (pwrite(1, &moment, sizeof moment, at) != sizeof moment) return;
  header.times += 1;
  last_ms = moment.ms;
}

static void save_header(void) {
  if (pwrite(1, &header, sizeof header, 0) < 0) return; // the next one is complete again
}

// What a full disk does not take is lost: the guest must not stand still for it.
static void save(const char *bytes, size_t count) {
  while (count > 0) {
    size_t at = header.total % RING_BYTES, room = RING_BYTES - at;
    ssize_t written = pwrite(1, bytes, count < room ? count : room, (off_t)(RING_AT + at));
    if (written <= 0) return;
    bytes += written;
    count -= (size_t)written;
    header.total += (uint64_t)written;
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return FAILED;
  drop_privileges(argv[1]);
  ssize_t got = pread(1, &header, sizeof header, 0);
  if (got != sizeof header || memcmp(header.magic, magic, sizeof magic) || header.ring_bytes != RING_BYTES) {
    memset(&header, 0, sizeof header);
    memcpy(header.magic, magic, sizeof magic);
    header.ring_bytes = RING_BYTES;
  }
  header.writing = 1;
  header.begun = header.total;
  save_header();
  while ((got = read(0, chunk, sizeof chunk)) != 0) {
    if (got < 0 && errno != EINTR) break;
    if (got <= 0) continue;
    save_time();
    save(chunk, (size_t)got);
    save_header();
  }
  header.writing = 0;
  save_header();
}
