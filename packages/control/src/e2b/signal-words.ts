// Words of Go's `os.Signal` for signals on Linux. E2B's program says by them what has ended a process, and
// programs compare them.

const words: Readonly<Record<string, string>> = {
  SIGABRT: "aborted",
  SIGALRM: "alarm clock",
  SIGBUS: "bus error",
  SIGCHLD: "child exited",
  SIGCONT: "continued",
  SIGFPE: "floating point exception",
  SIGHUP: "hangup",
  SIGILL: "illegal instruction",
  SIGINT: "interrupt",
  SIGIO: "I/O possible",
  SIGKILL: "killed",
  SIGPIPE: "broken pipe",
  SIGPROF: "profiling timer expired",
  SIGPWR: "power failure",
  SIGQUIT: "quit",
  SIGSEGV: "segmentation fault",
  SIGSTKFLT: "stack fault",
  SIGSTOP: "stopped (signal)",
  SIGSYS: "bad system call",
  SIGTERM: "terminated",
  SIGTRAP: "trace/breakpoint trap",
  SIGTSTP: "stopped",
  SIGTTIN: "stopped (tty input)",
  SIGTTOU: "stopped (tty output)",
  SIGURG: "urgent I/O condition",
  SIGUSR1: "user defined signal 1",
  SIGUSR2: "user defined signal 2",
  SIGVTALRM: "virtual timer expired",
  SIGWINCH: "window changed",
  SIGXCPU: "CPU time limit exceeded",
  SIGXFSZ: "file size limit exceeded",
};

/** Names that the host has for the same number. */
const others: Readonly<Record<string, string>> = { SIGIOT: "SIGABRT", SIGPOLL: "SIGIO", SIGUNUSED: "SIGSYS" };

/** `signal`: as `ExecuteExit` has it, such as `SIGKILL`, or `signal 34` where the host knows no name, which
 *  Go does not either. */
export function signalWords(signal: string): string {
  return words[others[signal] ?? signal] ?? signal;
}
