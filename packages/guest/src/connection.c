// A TCP connection to what listens in the guest. The agent makes it itself, without a child: nothing here can
// block, and a fork for each connection would cost more than a short request. Both directions have a descriptor
// of their own for the one socket, so each ends alone.
#include "channel.h"
#include "streams.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_WITHIN_MS = 10000 }; // a server whose queue is full does not answer

static int begin(const struct sockaddr *address, socklen_t length) {
  int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (connect(fd, address, length) == 0 || errno == EINPROGRESS) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

static int begin_ipv4(uint16_t port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  return begin((struct sockaddr *)&address, sizeof address);
}

static int begin_ipv6(uint16_t port) {
  struct sockaddr_in6 address = {
      .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  return begin((struct sockaddr *)&address, sizeof address);
}

static const char *code_of(int error) {
  switch (error) {
  case ECONNREFUSED:
  case EADDRNOTAVAIL: // the guest has no such address
  case EAFNOSUPPORT:
    return "connection_refused";
  case ETIMEDOUT:
    return "connection_timed_out";
  case ENOMEM:
  case ENOBUFS:
  case EMFILE:
  case ENFILE:
    return "out_of_memory";
  default:
    return "connection_failed";
  }
}

static void fail(struct stream *stream, int error) {
  stream_refuse(stream, code_of(error), "cannot connect to the port");
}

// Loopback answers a connect at once, so most connections are there before anything is waited for.
static int outcome_of(int fd) {
  struct pollfd state = {.fd = fd, .events = POLLOUT};
  int error = 0;
  socklen_t length = sizeof error;
  if (poll(&state, 1, 0) != 1) return EINPROGRESS;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

static void establish(struct stream *stream) {
  int fd = stream->input.fd, on = 1;
  int output = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (output < 0) return fail(stream, errno);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!channel_send_json(FRAME_HEAD, stream->id, "{}")) {
    close(output); // the queue is full: the next turn tries again
    return;
  }
  stream->outputs[0].fd = output;
  stream->connecting = NOT_CONNECTING;
  stream->deadline_ms = 0;
}

// Answers when the connection is there, has failed, or has to be waited for.
static void advance(struct stream *stream) {
  for (;;) {
    int error = stream->input.fd < 0 ? errno : outcome_of(stream->input.fd);
    if (error == EINPROGRESS) return;
    if (error == 0) return establish(stream);
    if (stream->input.fd >= 0) close(stream->input.fd);
    stream->input.fd = -1;
    if (stream->connecting == CONNECTING_IPV6) return fail(stream, error);
    // Many servers listen where the name localhost leads to first, and that may be either.
    stream->connecting = CONNECTING_IPV6;
    stream->input.fd = begin_ipv6(stream->port);
    // Of two refusals the one of the usual address is told.
    if (stream->input.fd < 0) return fail(stream, error);
  }
}

void connection_open(struct stream *stream, uint16_t port) {
  stream->port = port;
  stream->connecting = CONNECTING_IPV4;
  stream->deadline_ms = now_us() / 1000 + CONNECT_WITHIN_MS;
  stream->input.fd = begin_ipv4(port);
  advance(stream);
}

void connection_advance(struct stream *stream, const struct pollfd *polls) {
  int poll = stream->input.poll;
  stream->input.poll = -1;
  if (poll >= 0 && polls[poll].revents) advance(stream);
}

// True when both directions have ended and the host has been told.
bool connection_end(struct stream *stream) {
  if (stream->outputs[0].fd >= 0) return false;
  if (stream->broken) {
    return channel_send_json(FRAME_RESET, stream->id,
                             "{\"code\":\"connection_reset\",\"message\":\"the connection was reset\"}");
  }
  if (stream->input.fd < 0) return channel_send_json(FRAME_CLOSE, stream->id, "{}");
  // The host may go on sending: an empty frame tells it that nothing more comes from here.
  if (!stream->end_sent) stream->end_sent = channel_send(FRAME_DATA, stream->id, NULL, 0);
  return false;
}

// What was canceled must not look like a connection that has ended well.
void connection_reset(struct stream *stream) {
  struct linger none = {.l_onoff = 1, .l_linger = 0};
  int fd = stream->input.fd >= 0 ? stream->input.fd : stream->outputs[0].fd;
  if (fd < 0) return;
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  if (stream->input.fd >= 0) close(stream->input.fd); // not by input_close, which ends it well
  stream->input.fd = -1;
}
