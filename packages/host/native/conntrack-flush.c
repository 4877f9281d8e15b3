// Makes the kernel forget every connection that some addresses have begun, so that the next slot with such an
// address inherits none and a guest that is gone holds no place in the machine's table of connections: an
// established one would stay for five days.
//
//   conntrack-flush <addresses, one on each line
//
// Only netlink can do it, and Node does not speak that. The kernel goes through its whole table, however many
// addresses there are. Any failure ends it with a line on stderr and status 1.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16, DEADLINE_S = 5 };

struct request {
  struct nlmsghdr head;
  struct nfgenmsg family;
  char attributes[1024];
};

struct addresses {
  in_addr_t *all;
  size_t count;
};

static _Noreturn void fail(const char *step) {
  fprintf(stderr, "conntrack-flush: %s: %s\n", step, strerror(errno));
  exit(1);
}

static int open_netlink(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
  struct timeval deadline = {.tv_sec = DEADLINE_S};
  if (fd < 0) fail("netlink");
  if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline)) fail("deadline");
  return fd;
}

static struct request request_of(int operation, int flags) {
  return (struct request){
      .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct nfgenmsg)),
               .nlmsg_type = (NFNL_SUBSYS_CTNETLINK << 8) | operation,
               .nlmsg_flags = NLM_F_REQUEST | flags},
      .family = {.nfgen_family = AF_INET, .version = NFNETLINK_V0},
  };
}

static void send_request(int fd, const struct request *request) {
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  if (sendto(fd, request, request->head.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0)
    fail("ask");
}

/** The attribute of this type among those in `bytes`, or NULL. */
static const struct nlattr *attribute(const void *bytes, size_t length, int type) {
  const char *at = bytes;
  while (length >= NLA_HDRLEN) {
    const struct nlattr *one = (const struct nlattr *)at;
    if (one->nla_len < NLA_HDRLEN || one->nla_len > length) return NULL;
    if ((one->nla_type & NLA_TYPE_MASK) == type) return one;
    size_t step = NLA_ALIGN(one->nla_len);
    if (step >= length) return NULL;
    at += step;
    length -= step;
  }
  return NULL;
}

static const struct nlattr *inside(const struct nlattr *nest, int type) {
  if (nest == NULL) return NULL;
  return attribute((const char *)nest + NLA_HDRLEN, nest->nla_len - NLA_HDRLEN, type);
}

static bool append(struct request *request, const struct nlattr *copied) {
  if (copied == NULL) return true;
  size_t end = NLMSG_ALIGN(request->head.nlmsg_len);
  if (end + NLA_ALIGN(copied->nla_len) > sizeof *request) return false;
  memcpy((char *)request + end, copied, copied->nla_len);
  request->head.nlmsg_len = end + NLA_ALIGN(copied->nla_len);
  return true;
}

static int by_value(const void *one, const void *other) {
  return memcmp(one, other, sizeof(in_addr_t));
}

static struct addresses read_addresses(void) {
  static char line[INET_ADDRSTRLEN + 1];
  struct addresses read = {0};
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    read.all = realloc(read.all, (read.count + 1) * sizeof *read.all);
    if (read.all == NULL) fail("no memory");
    if (inet_pton(AF_INET, line, &read.all[read.count++]) == 1) continue;
    errno = EINVAL;
    fail(line);
  }
  if (ferror(stdin)) fail("read");
  if (read.count > 0) qsort(read.all, read.count, sizeof *read.all, by_value);
  return read;
}

/** Deletes the connection of this message where one of them began it. One that has ended meanwhile is none
 *  the worse. */
static void consider(int fd, const struct nlmsghdr *message, const struct addresses *gone) {
  if (message->nlmsg_len < NLMSG_SPACE(sizeof(struct nfgenmsg))) return;
  const char *bytes = (const char *)NLMSG_DATA(message) + NLMSG_ALIGN(sizeof(struct nfgenmsg));
  size_t length = message->nlmsg_len - NLMSG_SPACE(sizeof(struct nfgenmsg));
  const struct nlattr *tuple = attribute(bytes, length, CTA_TUPLE_ORIG);
  const struct nlattr *source = inside(inside(tuple, CTA_TUPLE_IP), CTA_IP_V4_SRC);
  if (source == NULL || source->nla_len != NLA_HDRLEN + sizeof *gone->all) return;
  if (!bsearch((const char *)source + NLA_HDRLEN, gone->all, gone->count, sizeof *gone->all, by_value)) return;
  struct request request = request_of(IPCTNL_MSG_CT_DELETE, 0);
  if (append(&request, tuple) && append(&request, attribute(bytes, length, CTA_ZONE)) &&
      append(&request, attribute(bytes, length, CTA_ID)))
    send_request(fd, &request);
}

int main(void) {
  struct addresses gone = read_addresses();
  if (gone.count == 0) return 0;
  static char buffer[BUFFER_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
  int listing = open_netlink();
  int deleting = open_netlink();
  struct request all = request_of(IPCTNL_MSG_CT_GET, NLM_F_DUMP);
  send_request(listing, &all);
  for (;;) {
    ssize_t got = recv(listing, buffer, sizeof buffer, 0);
    if (got <= 0) fail("list");
    size_t left = (size_t)got;
    for (const struct nlmsghdr *one = (void *)buffer; NLMSG_OK(one, left); one = NLMSG_NEXT(one, left)) {
      if (one->nlmsg_type == NLMSG_DONE) return 0;
      if (one->nlmsg_type == NLMSG_ERROR) {
        errno = -((const struct nlmsgerr *)NLMSG_DATA(one))->error;
        fail("list");
      }
      consider(deleting, one, &gone);
    }
  }
}
