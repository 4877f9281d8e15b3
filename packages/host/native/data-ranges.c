// Prints where a file holds data, one `OFFSET LENGTH` per line, and leaves out its holes: a disk image of 4
// GiB may hold 200 MiB. It is a program because Node cannot ask for holes, and reading them would fill the
// machine's memory with zeros.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) {
    fprintf(stderr, "usage: data-ranges FILE, which must exist\n");
    return 1;
  }
  for (off_t data = 0, hole = 0;; ) {
    data = lseek(fd, hole, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return 0;
    hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
    if (hole < 0) {
      perror("data-ranges");
      return 1;
    }
    printf("%jd %jd\n", (intmax_t)data, (intmax_t)(hole - data));
  }
}
