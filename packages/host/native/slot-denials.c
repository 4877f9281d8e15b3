// Tells how many packets the egress rules of some network slots have refused: one process for all of them, where `nft` would need one for each.
//
//   slot-denials <files of network namespaces, one on each line
//
// Prints a line for each, in their order: the packets of the counter `denied` of the table `inet skerry_base`, or `-` where there is no such namespace
// or counter. Only netlink tells them, from within the namespace, and Node can do neither. A failure that is not one slot's ends it with a line on
// stderr and status 1.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { LINE_BYTES = 4096, BUFFER_BYTES = 8192, DEADLINE_S = 2 };

struct request {
  struct nlmsghdr head;
  struct nfgenmsg family;
  char attributes[128];
};

static void append(struct request *request, int type, const void *value, size_t length) {
  struct nlattr *one = (struct nlattr *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));
  *one = (struct nlattr){.nla_len = (unsigned short)(NLA_HDRLEN + length), .nla_type = (unsigned short)type};
  memcpy((char *)one + NLA_HDRLEN, value, length);
  request->head.nlmsg_len = NLMSG_ALIGN(request->head.nlmsg_len) + NLA_ALIGN(one->nla_len);
}

static struct request request_of_counter(void) {
  struct request request = {
      .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct nfgenmsg)),
               .nlmsg_type = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETOBJ,
               .nlmsg_flags = NLM_F_REQUEST},
      .family = {.nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0},
  };
  uint32_t counter = htonl(NFT_OBJECT_COUNTER);
  append(&request, NFTA_OBJ_TABLE, "skerry_base", sizeof "skerry_base");
  append(&request, NFTA_OBJ_NAME, "denied", sizeof "denied");
  append(&request, NFTA_OBJ_TYPE, &counter, sizeof counter);
  return request;
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

static bool packets_of(const struct nlmsghdr *message, uint64_t *packets) {
  if (message->nlmsg_type != ((NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_NEWOBJ)) return false;
  if (message->nlmsg_len < NLMSG_SPACE(sizeof(struct nfgenmsg))) return false;
  const char *bytes = (const char *)NLMSG_DATA(message) + NLMSG_ALIGN(sizeof(struct nfgenmsg));
  const struct nlattr *data = attribute(bytes, message->nlmsg_len - NLMSG_SPACE(sizeof(struct nfgenmsg)), NFTA_OBJ_DATA);
  if (data == NULL) return false;
  const struct nlattr *count =
      attribute((const char *)data + NLA_HDRLEN, data->nla_len - NLA_HDRLEN, NFTA_COUNTER_PACKETS);
  if (count == NULL || count->nla_len != NLA_HDRLEN + sizeof *packets) return false;
  memcpy(packets, (const char *)count + NLA_HDRLEN, sizeof *packets);
  *packets = be64toh(*packets);
  return true;
}

static bool ask(int fd, uint64_t *packets) {
  static char buffer[BUFFER_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  struct timeval deadline = {.tv_sec = DEADLINE_S};
  struct request request = request_of_counter();
  if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline)) return false;
  if (sendto(fd, &request, request.head.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0) return false;
  ssize_t got = recv(fd, buffer, sizeof buffer, 0);
  const struct nlmsghdr *answer = (void *)buffer;
  return got > 0 && NLMSG_OK(answer, (size_t)got) && packets_of(answer, packets);
}

static bool count(const char *netns_file, uint64_t *packets) {
  int netns = open(netns_file, O_RDONLY | O_CLOEXEC);
  if (netns < 0) return false;
  bool entered = setns(netns, CLONE_NEWNET) == 0;
  close(netns);
  if (!entered) return false;
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
  if (fd < 0) return false;
  bool told = ask(fd, packets);
  close(fd);
  return told;
}

int main(void) {
  static char line[LINE_BYTES];
  while (fgets(line, sizeof line, stdin)) {
    uint64_t packets = 0;
    line[strcspn(line, "\n")] = 0;
    if (count(line, &packets)) printf("%" PRIu64 "\n", packets);
    else printf("-\n");
  }
  if (!ferror(stdin) && fflush(stdout) == 0) return 0;
  fprintf(stderr, "slot-denials: %s\n", strerror(errno));
  return 1;
}
