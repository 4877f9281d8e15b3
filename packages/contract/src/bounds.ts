// Every bound of the public API in one place. Figures without a source come from the interface document.

/** Lifetime of a sandbox when the request names none, in milliseconds. */
export const SANDBOX_TIMEOUT_DEFAULT_MS = 5 * 60_000;

/** Longest lifetime of a sandbox and longest keepalive, in milliseconds (24 h). */
export const SANDBOX_TIMEOUT_MAX_MS = 24 * 3_600_000;

/** Shortest time without use after which a sandbox may be paused, in milliseconds: its host asks the guest after a few seconds. */
export const IDLE_MIN_MS = 10_000;

/** How long a command may run when the request names no timeout, in milliseconds. */
export const EXECUTE_TIMEOUT_DEFAULT_MS = 30_000;

/** Longest command, in milliseconds (5 min). */
export const EXECUTE_TIMEOUT_MAX_MS = 5 * 60_000;

/** How long an execution may live without a reader at most, in milliseconds, where it is not detached. */
export const REATTACH_MAX_MS = 60_000;

/** Longest timeout of an execution that is not bounded by its request, in milliseconds (24 h). */
export const EXECUTION_TIMEOUT_MAX_MS = 24 * 3_600_000;

/** What is kept of an execution's output, in bytes; `guest/src/ring.h` has the same. */
export const EXECUTION_WINDOW_BYTES = 1024 * 1024;

/** Largest standard input that a detached command is started with, in bytes: a pipe takes it at once. */
export const DETACHED_STDIN_MAX_BYTES = 64 * 1024;

/** Between SIGTERM and SIGKILL to a machine's main process, in milliseconds: default (that of other container engines) and maximum. */
export const STOP_TIMEOUT_DEFAULT_MS = 10_000;
/** Longest time without a use after which a machine can be told to stop, in milliseconds. */
export const AUTOSTOP_MAX_MS = 24 * 60 * 60_000;
export const STOP_TIMEOUT_MAX_MS = 5 * 60_000;

/** Restarts of a machine that does not keep running: default and maximum. */
export const RESTART_RETRIES_DEFAULT = 10;
export const RESTART_RETRIES_MAX = 1_000_000;

/** Lines of a console log that one answer has: default and maximum. */
export const CONSOLE_LINES_DEFAULT = 100;
export const CONSOLE_LINES_MAX = 10_000;
/** Longest text that lines of a console log can be searched for, in characters. */
export const CONSOLE_GREP_MAX_CHARS = 256;

/** Largest uploaded file, in bytes. 100 MB, not MiB: the document says MiB where it means MiB. */
export const UPLOAD_MAX_BYTES = 100_000_000;

/** Largest file that E2B's clients upload, in bytes. Nothing holds it; it bounds how long a call lasts. */
export const E2B_UPLOAD_MAX_BYTES = 10_000_000_000;

/** Attributes of one file: how many, their names and values together, each name with its prefix, and a name without it. `guest/src/attributes.h` has the same. */
export const ATTRIBUTES_MAX = 256;
export const ATTRIBUTES_MAX_BYTES = 4_096;
export const ATTRIBUTE_NAME_MAX_BYTES = 250;

/** Largest tar archive that is unpacked in one call, in bytes. Nothing holds it; it bounds how long a call lasts. */
export const ARCHIVE_MAX_BYTES = 10_000_000_000;

/** What an answer of `execute` holds of stdout, and of stderr, in bytes. The rest is dropped and `truncated` says so. */
export const OUTPUT_MAX_BYTES = 10 * 1024 * 1024;

/** Longest name of a sandbox or a machine, in characters. */
export const NAME_MAX_CHARS = 100;

/** Longest reference to a template, in characters: a name with a tag or a digest. */
export const TEMPLATE_REFERENCE_MAX_CHARS = 200;

/** Largest standard input of a command, in bytes. */
export const STDIN_MAX_BYTES = 10 * 1024 * 1024;

/** Longest path in a sandbox, in bytes. Linux's PATH_MAX (4,096) counts the final NUL. */
export const PATH_MAX_BYTES = 4_095;

/**
 * Longest shell command line that is stored, in characters: of a machine and of a build's step. Also of one
 * in the query of a request.
 */
export const COMMAND_MAX_CHARS = 32_768;

/**
 * Longest argument of a program, and variable with its name, in bytes: Linux's MAX_ARG_STRLEN (131,072)
 * counts the final NUL.
 */
export const ARGUMENT_MAX_BYTES = 131_071;

/** Most variables in one `env`. */
export const ENV_MAX_ENTRIES = 256;

/** Most entries that a directory listing returns; `truncated` says when there are more. */
export const LIST_MAX_ENTRIES = 10_000;

/** How many levels below its directory a listing goes at most: the guest holds a descriptor for each. */
export const LIST_MAX_DEPTH = 64;

/** Of what a guest sends of one listing, in bytes; `guest/src/entries.c` has the same. */
export const LIST_MAX_BYTES = 4 * 1024 * 1024;

/** Commands and file transfers at once in one sandbox. */
export const SANDBOX_MAX_STREAMS = 256;

/** Connections at once to the ports of one sandbox, so that commands and files have streams left. */
export const PORT_CONNECTIONS_MAX = 128;

/**
 * What one control process has open at once for as long as clients like: followed executions and logs, watches and terminals of one VM, and
 * of all VMs of an organization. Fewer than a VM has operations, so that calls are left.
 */
export const VM_STREAMS_MAX = 120;
export const ORGANIZATION_STREAMS_MAX = 1_000;

/** The same of forwards, of which each may have 16 MiB waiting for a client that does not read. */
export const VM_FORWARDS_MAX = 16;
export const ORGANIZATION_FORWARDS_MAX = 128;

/** Uploads of contexts that are open at once through one control process, for one build and for one organization: each holds a connection. */
export const BUILD_UPLOADS_MAX = 1;
export const ORGANIZATION_UPLOADS_MAX = 8;

/** The same of archives that E2B's clients send before a build: all that one template copies come at once, and each holds a megabyte. */
export const ARCHIVE_UPLOADS_MAX = 2;
export const ORGANIZATION_ARCHIVE_UPLOADS_MAX = 100;

/** Watches of directories at once in one VM: fewer than the queues of changes that its kernel has for one user, which are 128. */
export const WATCHES_MAX = 112;

/** Most directories that one watch may be of; `guest/src/watch.c` has the same. */
export const WATCHED_DIRECTORIES_MAX = 8_192;

/** Most listening ports that one answer tells. */
export const PORTS_MAX = 1_024;

/** How long a signed URL is valid: default (1 h) and maximum (7 days), in milliseconds. */
export const SIGNED_URL_DEFAULT_MS = 3_600_000;
export const SIGNED_URL_MAX_MS = 7 * 24 * 3_600_000;

/** Page size of lists: default and maximum. */
export const PAGE_DEFAULT = 50;
export const PAGE_MAX = 500;

/** Longest `Idempotency-Key`, in characters. */
export const IDEMPOTENCY_KEY_MAX_CHARS = 255;

/** How long audit events are kept at least, in days; the database refuses to delete younger ones. */
export const AUDIT_KEPT_MIN_DAYS = 30;

/** How long a cursor of `/v1/events` can be gone on from, in milliseconds: what is removed for good was there for so long after its end. */
export const EVENT_CURSOR_MAX_AGE_MS = 24 * 3_600_000;

/** Streams of `/v1/events` at once, of one token and of one organization, on one control plane process. */
export const EVENT_STREAMS_OF_TOKEN_MAX = 8;
export const EVENT_STREAMS_OF_ORGANIZATION_MAX = 64;

/** Length of the reason why the image of a template could not be made, and of each of the last lines. */
export const TEMPLATE_FAILURE_MAX_CHARS = 500;
export const TEMPLATE_FAILURE_MAX_LINES = 20;
