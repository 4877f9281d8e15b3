// What a host asks of the agent in its guest: the JSON in an OPEN frame, and the JSON that ends the stream.
// The C side is `packages/guest/src/operations.c`. The guest is hostile: the host checks every answer's
// shape.

/** Runs `/bin/sh -c command` in a cgroup of its own. DATA out is stdout, STDERR is stderr, DATA in is
 *  stdin. */
export interface ExecuteOperation {
  readonly op: "execute";
  readonly command: string;
  /** Absolute path; without it `/root`. */
  readonly workdir?: string;
  /** Laid over the sandbox's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Then `cgroup.kill`: every descendant gets SIGKILL. */
  readonly timeout_ms: number;
  /** Without stdin the command reads from /dev/null. */
  readonly stdin: boolean;
  /** Bytes of stdout, and of stderr, that are sent; the rest is read and dropped. 0 for no limit. */
  readonly output_limit: number;
}

/**
 * Announces a request whose JSON is longer than one frame, and comes in DATA frames. An agent of an earlier
 * version refuses it, and ignores them.
 */
export interface LongOperation {
  readonly op: "long";
  readonly bytes: number;
}

/** CLOSE of an execute. Sent when the command itself has exited and what it had written is sent; background
 *  children live on (their output is read and dropped) unless the command timed out or was reset. */
export interface ExecuteResult {
  readonly exit_code: number;
  /** Number of the signal that ended it, 0 for none. */
  readonly signal: number;
  readonly timed_out: boolean;
  readonly oom_killed: boolean;
  readonly truncated: boolean;
  readonly duration_ms: number;
  readonly cpu_ms: number;
  readonly memory_peak_bytes: number;
}

/** Starts `/bin/sh -c command` as the machine's main process, once per boot, in a cgroup of its own. Its
 *  output goes to the console and it reads from /dev/null. Answers HEAD `{}` when it runs, or has; asked
 *  again it starts nothing and answers the same. A reset of the stream leaves it alone. */
export interface MainOperation {
  readonly op: "main";
  readonly command: string;
  /** Laid over the machine's own environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** CLOSE of a main, when the process has ended; what it has started lives on. */
export interface MainResult {
  readonly exit_code: number;
  /** Number of the signal that ended it, 0 for none. */
  readonly signal: number;
  /** The kernel has killed a process of its cgroup for want of memory. */
  readonly oom_killed: boolean;
}

/** Sends a signal to the main process and its process group, and SIGKILL to all that it has started. CLOSE
 *  `{}`, also where it has ended. */
export interface TerminateOperation {
  readonly op: "terminate";
  /** The signal's number. */
  readonly signal: number;
}

/** Starts `/bin/sh -c command` as an execution: it outlives this stream and the conversation, and its last output is kept. Started once per
 *  id: asked again it starts nothing. CLOSE: a GuestExecution, once the command is executed. */
export interface StartOperation {
  readonly op: "start";
  /** Its id, at most 63 of `a-z0-9_`. */
  readonly execution: string;
  readonly command: string;
  /** The program that is run in place of the shell, and its arguments, at most 512 together; `command` is then only told of. One that cannot be run
   *  ends like that of a shell, with 126 or 127. An agent of an earlier version refuses it. */
  readonly program?: readonly string[];
  /** As of a configure, of this command alone: it begins in that user's home, or in the `workdir`, which the user must have the right to enter.
   *  Only beside a `program`: an agent of an earlier version would not heed it. */
  readonly user?: string;
  /** Small files of `/run` that are there when it begins, by name: at most 8, each directly there or in one folder, of at most 1,024 bytes. An agent
   *  of an earlier version refuses them. */
  readonly run_files?: Readonly<Record<string, string>>;
  /** Absolute path; without it `/root`. */
  readonly workdir?: string;
  readonly env: Readonly<Record<string, string>>;
  /** 0 for none. */
  readonly timeout_ms: number;
  /** Its standard input stays open for `input`; otherwise it reads from /dev/null. A terminal is always read from. */
  readonly stdin: boolean;
  /** It gets a terminal of `cols` × `rows`, and all its output is stdout. */
  readonly tty: boolean;
  readonly cols: number;
  readonly rows: number;
  /** How long it lives without a reader. -1: as long as it likes. */
  readonly reattach_ms: number;
}

/** Follows the output of an execution from a position on. Answers HEAD a GuestExecution, whose `at` is where it begins, then DATA
 *  (`execution-records.ts`), then CLOSE a GuestExecution when it has ended and all was sent. The host's CLOSE leaves and may come back; its
 *  RESET says that the reader has gone. */
export interface FollowOperation {
  readonly op: "follow";
  readonly execution: string;
  /** The position to go on from, or less than 0: so many bytes before what was written last. */
  readonly after: number;
  /** The command waits where this reader has not been sent what it writes. */
  readonly hold: boolean;
}

/** DATA in goes to the execution's standard input; the host's CLOSE ends the operation. CLOSE `{}` when all was taken. */
export interface InputOperation {
  readonly op: "input";
  readonly execution: string;
  /** Then the input ends: what it reads has an end, or its terminal gets a Ctrl-D. */
  readonly end: boolean;
}

/** Sends a signal to the process group of an execution, and SIGKILL to all that it has started. CLOSE: a GuestExecution, also where it has
 *  ended. */
export interface SignalOperation {
  readonly op: "signal";
  readonly execution: string;
  /** The signal's number. */
  readonly signal: number;
}

/** Sets the size of an execution's terminal. CLOSE: a GuestExecution, also where it has none. */
export interface ResizeOperation {
  readonly op: "resize";
  readonly execution: string;
  readonly cols: number;
  readonly rows: number;
}

/** CLOSE: a GuestExecution. */
export interface ExecutionOperation {
  readonly op: "execution";
  readonly execution: string;
}

/** Keeps nothing of an execution that has ended. CLOSE `{}`; RESET `busy` where it runs, or is being read. */
export interface ForgetOperation {
  readonly op: "forget";
  readonly execution: string;
}

/** DATA is one GuestExecution per line, in the order in which they were started; CLOSE `{}`. */
export interface ExecutionsOperation {
  readonly op: "executions";
}

/** An execution, as its agent tells of it. Of one that runs, the fields of an ExecuteResult say nothing but `duration_ms`. */
export interface GuestExecution extends Omit<ExecuteResult, "truncated"> {
  readonly execution: string;
  /** Of its command; 0 once that has ended. An earlier agent does not tell it. */
  readonly pid?: number;
  /** Its first 1,024 bytes. */
  readonly command: string;
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly timeout_ms: number;
  readonly reattach_ms: number;
  readonly ended: boolean;
  /** Of a reader: the position that it begins at. */
  readonly at: number;
  /** The positions of the first byte that is kept, and after the last one. */
  readonly from: number;
  readonly position: number;
}

/** DATA in is the file; the host's CLOSE ends it. Parents are made; the target appears whole (rename) or not
 *  at all. A link at the path is followed. A file that is there keeps its owner, and one with other names
 *  keeps them: it is written in place when all has come. CLOSE: `{size}`. */
export interface WriteOperation {
  readonly op: "write";
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
  /** Extended attributes `user.NAME` of the file, by their names without the prefix. Absent: none, which agents of every version understand. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** Answers HEAD `{size, mode, modified_ms}`, then DATA until the end of the file, then CLOSE `{}`. Regular
 *  files only. */
export interface ReadOperation {
  readonly op: "read";
  readonly path: string;
}

/** DATA is one JSON object per line, `{name, size, type, mode, modified_ms, owner, group}`, of a link also `target`, and where it has any `attributes`; type
 *  `file|directory|symlink|other`, sorted by no order; at most `limit` lines, and 4 MiB; CLOSE `{truncated}`. */
export interface ListOperation {
  readonly op: "list";
  readonly path: string;
  readonly limit: number;
  /** How many levels below, at most 64; then names are paths from the folder. Absent: 1, which agents of every version understand. */
  readonly depth?: number;
}

/** DATA is one line as of a list, whose name says nothing; CLOSE `{}`. */
export interface StatOperation {
  readonly op: "stat";
  readonly path: string;
  /** Of a link, what it leads to. */
  readonly follow: boolean;
}

/** Makes a folder, and the missing ones above it; one that is there stays as it is. Answers like a stat. */
export interface MkdirOperation {
  readonly op: "mkdir";
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
}

/** Renames, in the place of a file or an empty folder that is there; the missing folders above `to` are made. Answers like a stat. */
export interface MoveOperation {
  readonly op: "move";
  readonly path: string;
  readonly to: string;
}

/** CLOSE `{}`. A folder that is not empty needs `recursive`. */
export interface RemoveOperation {
  readonly op: "remove";
  readonly path: string;
  readonly recursive: boolean;
}

/** Sets the permissions of a file or a folder; of a link, of what it leads to. Answers like a stat. */
export interface ChmodOperation {
  readonly op: "chmod";
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
}

/** DATA is a tar archive of what is in the folder, by the guest's own tar; CLOSE `{}`. */
export interface PackOperation {
  readonly op: "pack";
  readonly path: string;
}

/** DATA in is a tar archive that is unpacked into the folder, which is made where it is missing; the host's CLOSE ends it. CLOSE `{}`. */
export interface UnpackOperation {
  readonly op: "unpack";
  readonly path: string;
}

/** DATA is one JSON object per line, `{event, name, type}`: first `start`, then `create|write|remove|rename|chmod|overflow`; type
 *  `file|directory`. CLOSE `{reason}` when the folder itself is gone. */
export interface WatchOperation {
  readonly op: "watch";
  readonly path: string;
  /** Also the folders below it, at most 8,192. */
  readonly recursive: boolean;
}

/** A TCP connection to this port of the guest's loopback, IPv4 or else IPv6. Answered by the agent itself: HEAD `{}` when it is there, then
 *  DATA both ways. The host's CLOSE ends what it sends; an empty DATA, which no other operation sends, is the end of what the guest sends.
 *  CLOSE `{}` when both have ended. The host's RESET resets the connection. */
export interface ConnectOperation {
  readonly op: "connect";
  /** 1 to 65535. */
  readonly port: number;
}

/** What listens in the guest. DATA is one JSON object per line: `{port, address, process}`, with an empty `process` where it is not known;
 *  at most `limit` lines, and 1,024; CLOSE `{truncated}`. */
export interface PortsOperation {
  readonly op: "ports";
  readonly limit: number;
}

/** Gives a fresh clone its identity, before any command runs in it. Answered by the agent itself. CLOSE
 *  `{}`. */
export interface ConfigureOperation {
  readonly op: "configure";
  readonly hostname: string;
  /** 32 hexadecimal digits for /etc/machine-id. */
  readonly machine_id: string;
  /** Wall clock, microseconds since 1970. */
  readonly clock_us: number;
  /** 128 hexadecimal digits; mixed into the kernel's generator, which is then reseeded. */
  readonly entropy: string;
  /** Environment of every later command. */
  readonly env: Readonly<Record<string, string>>;
  /** Who every later command runs as: NAME, UID, NAME:GROUP or UID:GID, of at most 65 characters; empty for root. Absent: as before. */
  readonly user?: string;
  /** Absolute path at which every later command begins that names none; without it the user's home. Absent: as before. */
  readonly workdir?: string;
}

/** After the guest has stood still: steps the clock and mixes entropy in. CLOSE `{}`. */
export interface WakeOperation {
  readonly op: "wake";
  /** Wall clock, microseconds since 1970. */
  readonly clock_us: number;
  /** 128 hexadecimal digits. */
  readonly entropy: string;
}

/** Moves the wall clock by `adjust_us` microseconds: below half a second by slewing it, and in one step otherwise. CLOSE `{clock_us}`, what
 *  it says then. A difference and no time, because the request may lie for long before a guest that is busy reads it. */
export interface ClockOperation {
  readonly op: "clock";
  readonly adjust_us: number;
}

/** Asks whether any process but the agent is left. Where none is, the host may pause the guest. CLOSE
 *  `{idle}`. */
export interface IdleOperation {
  readonly op: "idle";
}

/** Kills everything, syncs, lets the console drain, remounts read-only, answers CLOSE `{}`, and resets the
 *  machine (QEMU runs with -no-reboot). */
export interface ShutdownOperation {
  readonly op: "shutdown";
}

export type GuestOperation =
  | LongOperation
  | ExecuteOperation
  | MainOperation
  | TerminateOperation
  | WriteOperation
  | ReadOperation
  | ListOperation
  | StatOperation
  | MkdirOperation
  | MoveOperation
  | RemoveOperation
  | ChmodOperation
  | PackOperation
  | UnpackOperation
  | WatchOperation
  | StartOperation
  | FollowOperation
  | InputOperation
  | SignalOperation
  | ResizeOperation
  | ExecutionOperation
  | ForgetOperation
  | ExecutionsOperation
  | ConnectOperation
  | PortsOperation
  | ConfigureOperation
  | WakeOperation
  | ClockOperation
  | IdleOperation
  | ShutdownOperation;

/** `code` of a RESET from the guest. */
export const guestErrorCodes = [
  "bad_request",
  "not_found",
  "is_a_directory",
  "not_a_directory",
  "not_a_file",
  "workdir_not_found",
  "user_not_found",
  "shell_missing",
  "permission_denied",
  "no_space",
  "path_too_long",
  "link_loop",
  "not_empty",
  "busy",
  "into_itself",
  "mv_missing",
  "mv_failed",
  "tar_missing",
  "tar_failed",
  "too_many_watches",
  "out_of_memory",
  "too_many_streams",
  "too_many_executions",
  "execution_not_found",
  "input_closed",
  "position_ahead",
  "canceled",
  "io_error",
  "connection_refused",
  "connection_timed_out",
  "connection_reset",
  "connection_failed",
] as const;

export type GuestErrorCode = (typeof guestErrorCodes)[number];
