// The one closed list of errors. A code means the same everywhere: REST API, host API, SDK and CLI.

import { resourceIds } from "./ids.ts";

type NotFound = `${keyof typeof resourceIds}_not_found`;
const kindsOfResources = Object.keys(resourceIds) as (keyof typeof resourceIds)[];

/** Every error code, with the HTTP status that it has at the edge. */
export const errorStatus = {
  bad_request: 400,
  unknown_field: 400,
  invalid_duration: 400,
  invalid_env: 400,
  invalid_path: 400,
  unauthorized: 401,
  forbidden: 403,
  quota_exceeded: 403,
  egress_forbidden: 403,
  invalid_signature: 403,
  url_expired: 403,
  not_found: 404,
  ...(Object.fromEntries(kindsOfResources.map((kind) => [`${kind}_not_found`, 404])) as Record<
    NotFound,
    404
  >),
  member_not_found: 404,
  vm_not_found: 404,
  file_not_found: 404,
  registry_credential_not_found: 404,
  secret_not_found: 404,
  release_not_found: 404,
  route_not_found: 404,
  service_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  upgrade_required: 426,
  name_taken: 409,
  host_name_taken: 409,
  host_not_empty: 409,
  host_silent: 409,
  host_not_removable: 409,
  join_token_used: 409,
  idempotency_conflict: 409,
  idempotency_in_progress: 409,
  already_member: 409,
  organization_not_empty: 409,
  operator_organization: 409,
  last_owner: 409,
  sandbox_not_running: 409,
  sandbox_expired: 409,
  sandbox_not_persistent: 409,
  machine_not_running: 409,
  machine_destroyed: 409,
  vm_not_running: 409,
  vm_in_use: 409,
  owned: 409,
  stale_execution: 409,
  not_snapshotable: 409,
  snapshot_damaged: 409,
  snapshot_incompatible: 409,
  snapshot_has_secrets: 409,
  template_in_use: 409,
  template_lost: 409,
  build_over: 409,
  build_needs_no_context: 409,
  context_mismatch: 409,
  build_canceled: 409,
  deploy_over: 409,
  app_deleting: 409,
  route_taken: 409,
  move_refused: 409,
  disk_gone: 409,
  layer_missing: 409,
  disk_unreadable: 409,
  control_superseded: 409,
  execution_input_closed: 409,
  path_is_directory: 409,
  path_not_directory: 409,
  path_not_file: 409,
  directory_not_empty: 409,
  vm_outdated: 409,
  port_not_listening: 409,
  version_mismatch: 412,
  upload_incomplete: 400,
  payload_too_large: 413,
  context_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  unknown_template: 422,
  invalid_build: 422,
  app_not_detected: 422,
  unknown_snapshot: 422,
  unknown_size: 422,
  size_too_large: 422,
  timeout_too_long: 422,
  invalid_cidr: 400,
  invalid_port: 400,
  invalid_domain: 400,
  egress_conflict: 422,
  host_unreachable: 422,
  workdir_not_found: 422,
  vm_user_not_found: 422,
  stdin_not_supported: 422,
  permission_denied: 422,
  disk_full: 422,
  build_step_failed: 422,
  build_out_of_memory: 422,
  step_timed_out: 422,
  build_timed_out: 422,
  template_start_failed: 422,
  invalid_manifest: 422,
  errors_doubled: 422,
  instance_failed: 422,
  deploy_timed_out: 422,
  image_not_found: 422,
  image_invalid: 422,
  registry_denied: 422,
  registry_unreachable: 422,
  context_missing: 422,
  program_missing: 422,
  archive_refused: 422,
  too_many_watches: 422,
  too_many_tags: 422,
  headers_too_large: 431,
  sandbox_busy: 429,
  machine_busy: 429,
  rate_limited: 429,
  too_many_streams: 429,
  canceled: 499,
  internal: 500,
  secret_damaged: 500,
  not_implemented: 501,
  guest_failed: 502,
  stored_layer_damaged: 502,
  move_failed: 502,
  no_capacity: 503,
  template_not_ready: 503,
  host_unavailable: 503,
  host_draining: 503,
  vm_moving: 503,
  database_unavailable: 503,
  secrets_unavailable: 503,
  object_store_unavailable: 503,
  shutting_down: 503,
  guest_timeout: 504,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** Facts about an error that a program can read: the offending field, its value, the limit. Never secrets. */
export type ErrorContext = Readonly<Record<string, string | number | boolean | null>>;

export interface ErrorDetails {
  readonly remediation?: string;
  readonly context?: ErrorContext;
  /** Seconds after which the same request may succeed; sent as `Retry-After`. */
  readonly retryAfterS?: number;
  readonly cause?: unknown;
}

/** What goes over the wire for an error, beside the HTTP status. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly remediation?: string;
  readonly context?: ErrorContext;
  readonly request_id?: string;
}

/** An expected failure. `message` is shown to the caller as it is; `cause` stays in the log. */
export class SkerryError extends Error {
  readonly code: ErrorCode;
  readonly remediation: string | undefined;
  readonly context: ErrorContext | undefined;
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.name = "SkerryError";
    this.code = code;
    this.remediation = details.remediation;
    this.context = details.context;
    this.retryAfterS = details.retryAfterS;
  }

  get status(): number {
    return errorStatus[this.code];
  }

  toBody(requestId?: string): ErrorBody {
    return {
      code: this.code,
      message: this.message,
      ...(this.remediation === undefined ? {} : { remediation: this.remediation }),
      ...(this.context === undefined ? {} : { context: this.context }),
      ...(requestId === undefined ? {} : { request_id: requestId }),
    };
  }
}

/** Reads an error body that a peer sent. A body of another shape becomes `internal` with the given fallback message. */
export function errorFromBody(body: unknown, fallback: string): SkerryError {
  if (!isRecord(body)) return new SkerryError("internal", fallback);
  const { code, message, remediation, context } = body;
  if (!isErrorCode(code) || typeof message !== "string") return new SkerryError("internal", fallback);
  return new SkerryError(code, message, {
    ...(typeof remediation === "string" ? { remediation } : {}),
    // Its values are only shown, so no code relies on their types.
    ...(isRecord(context) ? { context: context as ErrorContext } : {}),
  });
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorStatus, code);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
