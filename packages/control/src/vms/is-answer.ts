import { SkerryError } from "@skerry/contract/errors";

/** The host has said what became of a call. Without an answer it may have carried it out. */
export function isAnswer(error: unknown): error is SkerryError {
  return error instanceof SkerryError && !["host_unavailable", "canceled", "internal"].includes(error.code);
}
