// What a guest's refusal means for the caller.

import { WATCHED_DIRECTORIES_MAX } from "@skerry/contract/bounds";
import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { GuestErrorCode } from "@skerry/contract/guest-api/guest-operations";
import type { GuestRefusal } from "./stream.ts";

type Meaning = readonly [code: ErrorCode, message: string, remediation?: string];

const refusals: { readonly [Code in GuestErrorCode]: Meaning } = {
  // What a host sends is never malformed: an agent that says so was started by an earlier version.
  bad_request: [
    "vm_outdated",
    "The VM was started by an earlier version of Skerry, whose agent cannot do this.",
    "Use a new sandbox, or stop the machine and start it again.",
  ],
  not_found: ["file_not_found", "There is no such file or directory in the VM."],
  is_a_directory: ["path_is_directory", "The path is a directory."],
  not_a_directory: ["path_not_directory", "A part of the path, or the path itself, is not a directory."],
  not_a_file: ["path_not_file", "The path is not a regular file."],
  workdir_not_found: ["workdir_not_found", "The working directory does not exist in the VM."],
  user_not_found: [
    "vm_user_not_found",
    "The user or the group that commands of this template run as does not exist in the VM.",
    "Create it in a step of the template, or name another one as its user.",
  ],
  shell_missing: [
    "program_missing",
    "The VM has no `/bin/sh`, by which commands are run.",
    "Copy files, or build the template on an image that has a shell.",
  ],
  permission_denied: ["permission_denied", "The VM's file system does not permit this."],
  no_space: ["disk_full", "The VM's disk is full."],
  path_too_long: ["invalid_path", "The path, or a part of it, is too long."],
  link_loop: ["invalid_path", "The path leads through too many symbolic links."],
  not_empty: [
    "directory_not_empty",
    "The directory is not empty.",
    "Remove it with `recursive`, or first what is in it.",
  ],
  busy: ["permission_denied", "Something is mounted there in the VM, or uses it."],
  into_itself: ["invalid_path", "A directory cannot be moved into itself."],
  mv_missing: [
    "program_missing",
    "The VM has no `mv`, which moves between file systems.",
    "Install coreutils in the VM, or copy the file.",
  ],
  mv_failed: [
    "permission_denied",
    "The VM could not move it to another file system.",
    "Move it by a command in the VM, whose output says more.",
  ],
  tar_missing: ["program_missing", "The VM has no `tar`.", "Install tar in the VM."],
  tar_failed: [
    "archive_refused",
    "The VM's `tar` failed.",
    "See that the archive is a whole one, not compressed, and what `tar` says in the VM.",
  ],
  too_many_watches: [
    "too_many_watches",
    `The directory has more than ${WATCHED_DIRECTORIES_MAX} directories below it, or the VM can watch no more.`,
    "Watch a part of it, or without `recursive`.",
  ],
  out_of_memory: ["guest_failed", "The VM has no memory left for this."],
  too_many_streams: ["sandbox_busy", "Too many operations are under way in this VM."],
  too_many_executions: ["sandbox_busy", "Too many executions run in this VM."],
  execution_not_found: [
    "execution_not_found",
    "There is no such execution in the VM, or it has been forgotten.",
  ],
  input_closed: ["execution_input_closed", "The execution reads no input, or no more of it."],
  position_ahead: ["bad_request", "The execution has not written so much yet."],
  canceled: ["canceled", "The operation was canceled."],
  io_error: ["guest_failed", "The VM's file system failed."],
  connection_refused: ["port_not_listening", "Nothing listens on this port in the VM."],
  connection_timed_out: ["guest_timeout", "What listens on this port in the VM accepts no connection."],
  connection_reset: ["guest_failed", "The connection was reset in the VM."],
  connection_failed: ["guest_failed", "The VM's agent cannot connect to this port."],
};

export function errorOfRefusal(refusal: GuestRefusal): SkerryError {
  const known = Object.hasOwn(refusals, refusal.code) ? refusals[refusal.code as GuestErrorCode] : undefined;
  const [code, message, remediation] = known ?? ["guest_failed", "The VM's agent failed."];
  return new SkerryError(code, message, {
    cause: refusal,
    ...(remediation === undefined ? {} : { remediation }),
  });
}
