// The guest agent: PID 1 in the VM. One thread, one loop; it never waits for anything that a command
// controls.
#include "boot.h"
#include "channel.h"
#include "copy-tree.h"
#include "executions.h"
#include "modules.h"
#include "streams.h"
#include "thrash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
  SWEEP_MS = 250,        // least time between two looks for cgroups that have become empty
  DISCONNECTED_MS = 100, // nap while no host is there; its coming ends the nap by SIGIO
  GOODBYE_MS = 1000,     // for the last answer to reach the host
};

static volatile sig_atomic_t child_died;
static bool greeted, sweep_wanted, is_connected = true;

static void on_signal(int signal) {
  if (signal == SIGCHLD) child_died = 1;
}

// Both signals are delivered only while the loop waits, so none is missed between a check and the wait.
static void start_signals(int port) {
  struct sigaction action = {.sa_handler = on_signal};
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  sigaddset(&blocked, SIGIO);
  sigaddset(&blocked, SIGPIPE); // blocked, not ignored: an ignored signal stays ignored in a command
  sigprocmask(SIG_SETMASK, &blocked, NULL);
  sigaction(SIGCHLD, &action, NULL);
  sigaction(SIGIO, &action, NULL);
  fcntl(port, F_SETOWN, getpid());
  fcntl(port, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC);
}

static int wait_for_events(struct pollfd *polls, unsigned count, int64_t wait_ms) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGPIPE);
  if (is_connected)
    sigaddset(&blocked, SIGIO);
  else if (wait_ms < 0 || wait_ms > DISCONNECTED_MS)
    wait_ms = DISCONNECTED_MS;
  struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
  return ppoll(polls, count, wait_ms < 0 ? NULL : &wait, &blocked);
}

static void take_frames(void) {
  struct frame frame;
  while (channel_take(&frame)) {
    if (channel_greet(&frame)) {
      channel_flush(); // the host need not wait for the old conversation's end
      streams_forget();
      greeted = true;
    } else if (greeted && frame.type == FRAME_PING && frame.length <= PING_MAX_BYTES) {
      channel_send(FRAME_PING, frame.stream, frame.payload, frame.length);
    } else if (greeted) {
      streams_take(&frame);
    }
  }
}

// Removes the cgroups whose last process has died. Answers how long to wait at most before it is called
// again.
static int64_t sweep(int64_t wait_ms) {
  static int64_t swept_ms;
  if (!sweep_wanted || !cgroup_sweep_is_due()) return wait_ms;
  int64_t now_ms = now_us() / 1000;
  if (now_ms - swept_ms < SWEEP_MS) return wait_ms < 0 || wait_ms > SWEEP_MS ? SWEEP_MS : wait_ms;
  swept_ms = now_ms;
  sweep_wanted = false;
  cgroup_sweep(streams_use_cgroup);
  return wait_ms;
}

// Of two waits, where -1 has no end.
static int64_t sooner(int64_t one, int64_t other) {
  return one < 0 || (other >= 0 && other < one) ? other : one;
}

static void end(void) {
  for (int ms = 0; ms < GOODBYE_MS && !channel_is_flushed(); ms++) {
    channel_flush();
    usleep(1000);
  }
  if (!machine_is_ours) exit(0);
  usleep(20000); // what is flushed has left the guest only when the device has taken it
  reset_machine();
}

static void serve(int port) {
  static struct pollfd polls[2 + POLLS_MAX + EXECUTION_POLLS_MAX];
  channel_open(port);
  start_signals(port);
  streams_start();
  executions_start();
  for (bool more_dead = false; !streams_have_shut_down();) {
    polls[0] = channel_poll();
    if (!is_connected) polls[0].fd = -1;
    polls[1] = thrash_poll();
    unsigned count = 2 + streams_poll(polls + 2);
    unsigned drains = drains_poll(polls + count);
    unsigned all = count + drains + executions_poll(polls + count + drains);
    int64_t wait_ms = more_dead ? 0 : sweep(sooner(streams_wait_ms(), executions_wait_ms()));
    if (wait_for_events(polls, all, wait_ms) < 0) {
      for (unsigned i = 0; i < all; i++) polls[i].revents = 0;
    }
    drains_move(polls + count);
    thrash_move(&polls[1]);
    if (!is_connected || (polls[0].revents & (POLLIN | POLLHUP | POLLERR))) {
      is_connected = channel_fill() != INPUT_DISCONNECTED;
      if (!is_connected && !machine_is_ours) exit(0);
    }
    take_frames();
    if (child_died || more_dead) {
      child_died = 0;
      more_dead = streams_reap();
      sweep_wanted = true;
    }
    streams_time_out();
    executions_time_out();
    executions_move(polls + count + drains);
    streams_move(polls + 2);
    channel_flush();
    cgroup_prepare();
  }
  end();
}

int main(int argc, char **argv) {
  if (is_modprobe(argv[0])) return modprobe(argc, argv);
  if (getpid() == 1) serve(boot());
  if (argc >= 3 && strcmp(argv[1], "--serve-fd") == 0) {
    if (argc == 5 && strcmp(argv[3], "--cgroup-root") == 0) cgroup_start(argv[4]);
    prctl(PR_SET_CHILD_SUBREAPER, 1); // orphans come to it, as they come to PID 1
    serve(atoi(argv[2]));
  }
  if (argc == 5 && strcmp(argv[1], "--copy-tree") == 0) return copy_tree(argv[2], argv[3], argv[4], NEW_OWNERS);
  fprintf(stderr, "usage: agent --serve-fd FD [--cgroup-root FOLDER], --copy-tree ROOT FROM TO, or as PID 1 of a VM\n");
  return 2;
}
