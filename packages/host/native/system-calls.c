// A list of what QEMU uses to start, to run, to save and to move a guest: tried by running machines, moves, restarts, kills and wakes of
// the end-to-end tests with a filter that only wrote down what was not on it (QEMU 7.2), and by booting and saving guests, emulated and on
// KVM (7.2 and 10.0). All that QEMU asked for in vain was io_uring_setup and set_mempolicy, and it does without. QEMU's own filter (-sandbox)
// comes on top, once QEMU has opened its files; it refuses to start programs, which this one cannot, because QEMU itself is started under it.
//
// What is not on the list is refused, and nothing is killed: libraries try newer calls first and do without them. A call that is newer
// than this list does not exist, which they expect.
#define _GNU_SOURCE
#include "system-calls.h"
#include "fail.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

// From this one on they are newer than Linux 5.16.
enum { FIRST_UNKNOWN = 449 };

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
#define REFUSED SECCOMP_RET_ERRNO | EPERM
// The next instruction is passed over unless the loaded value is this one.
#define IF(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1)
#define UNLESS(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0)
#define IF_AT_LEAST(value) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, 0, 1)
#define ALLOW(name) IF(SYS_##name), ANSWER(SECCOMP_RET_ALLOW)

#define FIRST_ARGUMENT FIELD(args[0])
#define NAMESPACES CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET

static struct sock_filter filter[] = {
    FIELD(arch),
    UNLESS(AUDIT_ARCH_X86_64), ANSWER(REFUSED),
    FIELD(nr),
    IF_AT_LEAST(FIRST_UNKNOWN), ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
    IF(SYS_clone3), ANSWER(SECCOMP_RET_ERRNO | ENOSYS), // the C library uses clone then, whose flags can be seen

    // memory
    ALLOW(brk), ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise), ALLOW(mincore), ALLOW(msync),
    ALLOW(membarrier), ALLOW(memfd_create), ALLOW(get_mempolicy), ALLOW(mbind),
    // files
    ALLOW(read), ALLOW(write), ALLOW(readv), ALLOW(writev), ALLOW(pread64), ALLOW(pwrite64), ALLOW(preadv), ALLOW(pwritev), ALLOW(preadv2),
    ALLOW(pwritev2), ALLOW(lseek), ALLOW(open), ALLOW(openat), ALLOW(close), ALLOW(stat), ALLOW(fstat), ALLOW(lstat), ALLOW(newfstatat),
    ALLOW(statx), ALLOW(statfs), ALLOW(fstatfs), ALLOW(access), ALLOW(faccessat), ALLOW(faccessat2), ALLOW(readlink), ALLOW(readlinkat),
    ALLOW(getdents64), ALLOW(getcwd), ALLOW(fcntl), ALLOW(flock), ALLOW(ioctl), ALLOW(dup), ALLOW(dup2), ALLOW(dup3), ALLOW(fsync),
    ALLOW(fdatasync), ALLOW(sync_file_range), ALLOW(ftruncate), ALLOW(fallocate), ALLOW(fadvise64), ALLOW(copy_file_range), ALLOW(unlink),
    ALLOW(unlinkat), ALLOW(umask),
    // events
    ALLOW(poll), ALLOW(ppoll), ALLOW(select), ALLOW(pselect6), ALLOW(epoll_create), ALLOW(epoll_create1), ALLOW(epoll_ctl), ALLOW(epoll_wait),
    ALLOW(epoll_pwait), ALLOW(epoll_pwait2), ALLOW(eventfd2), ALLOW(signalfd4), ALLOW(timerfd_create), ALLOW(timerfd_settime),
    ALLOW(timerfd_gettime), ALLOW(pipe), ALLOW(pipe2),
    // threads and signals
    ALLOW(futex), ALLOW(set_robust_list), ALLOW(get_robust_list), ALLOW(set_tid_address), ALLOW(rseq), ALLOW(arch_prctl), ALLOW(prctl),
    ALLOW(gettid), ALLOW(sched_yield), ALLOW(sched_getaffinity), ALLOW(sched_getparam), ALLOW(sched_getscheduler),
    ALLOW(sched_get_priority_max), ALLOW(sched_get_priority_min), ALLOW(getcpu), ALLOW(rt_sigaction), ALLOW(rt_sigprocmask),
    ALLOW(rt_sigreturn), ALLOW(rt_sigpending), ALLOW(rt_sigsuspend), ALLOW(rt_sigtimedwait), ALLOW(sigaltstack), ALLOW(tgkill), ALLOW(tkill),
    ALLOW(restart_syscall), ALLOW(exit), ALLOW(exit_group),
    // time
    ALLOW(clock_gettime), ALLOW(clock_getres), ALLOW(gettimeofday), ALLOW(time), ALLOW(nanosleep), ALLOW(clock_nanosleep),
    ALLOW(timer_create), ALLOW(timer_settime), ALLOW(timer_gettime), ALLOW(timer_getoverrun),
    ALLOW(timer_delete),
    // what it is, and what it may use
    ALLOW(getpid), ALLOW(getppid), ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid), ALLOW(getresuid), ALLOW(getresgid),
    ALLOW(uname), ALLOW(sysinfo), ALLOW(times), ALLOW(getrusage), ALLOW(getrlimit), ALLOW(prlimit64), ALLOW(getrandom),
    // sockets; those that are made are at the end
    ALLOW(connect), ALLOW(bind), ALLOW(listen), ALLOW(accept), ALLOW(accept4), ALLOW(sendto), ALLOW(recvfrom), ALLOW(sendmsg), ALLOW(recvmsg),
    ALLOW(shutdown), ALLOW(getsockname), ALLOW(getpeername), ALLOW(setsockopt), ALLOW(getsockopt),
    // its own start, and QEMU's own filter
    ALLOW(execve), ALLOW(seccomp),

    // new threads, but no new process and no new namespace
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 5), FIRST_ARGUMENT, BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1), ANSWER(SECCOMP_RET_ALLOW), ANSWER(REFUSED),
    // new sockets of the file system only: there are families, such as AF_VSOCK, that no network namespace holds
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 0, 3), FIRST_ARGUMENT,
    IF(AF_UNIX), ANSWER(SECCOMP_RET_ALLOW),
    ANSWER(REFUSED),
};

void restrict_system_calls(void) {
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) fail("restrict", "system calls");
}
