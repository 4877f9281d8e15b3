"""What the API takes and answers: made of its OpenAPI document by setup/write-clients.ts. Do not edit."""

from __future__ import annotations

from typing import Dict, List, Literal, Mapping, Optional, TypedDict

SizeName = Literal[
    "shared-cpu-1x",
    "shared-cpu-2x",
    "shared-cpu-4x",
    "shared-cpu-8x",
    "performance-1x",
    "performance-2x",
    "performance-4x",
    "performance-8x",
    "performance-16x",
]

AppStatus = Literal[
    "active",
    "deleting",
]

AppDeployStatus = Literal[
    "queued",
    "building",
    "releasing",
    "starting",
    "checking",
    "switching",
    "draining",
    "live",
    "failed",
    "canceled",
    "superseded",
    "rolled_back",
]

AppDeployReasonCode = Literal[
    "bad_request",
    "unknown_field",
    "invalid_duration",
    "invalid_env",
    "invalid_path",
    "unauthorized",
    "forbidden",
    "quota_exceeded",
    "egress_forbidden",
    "invalid_signature",
    "url_expired",
    "not_found",
    "sandbox_not_found",
    "machine_not_found",
    "token_not_found",
    "organization_not_found",
    "user_not_found",
    "template_not_found",
    "host_not_found",
    "snapshot_not_found",
    "build_not_found",
    "execution_not_found",
    "move_not_found",
    "app_not_found",
    "deploy_not_found",
    "route_not_found",
    "member_not_found",
    "vm_not_found",
    "file_not_found",
    "registry_credential_not_found",
    "secret_not_found",
    "release_not_found",
    "service_not_found",
    "method_not_allowed",
    "request_timeout",
    "upgrade_required",
    "name_taken",
    "host_name_taken",
    "host_not_empty",
    "host_silent",
    "host_not_removable",
    "join_token_used",
    "idempotency_conflict",
    "idempotency_in_progress",
    "already_member",
    "organization_not_empty",
    "operator_organization",
    "last_owner",
    "sandbox_not_running",
    "sandbox_expired",
    "sandbox_not_persistent",
    "machine_not_running",
    "machine_destroyed",
    "vm_not_running",
    "vm_in_use",
    "owned",
    "stale_execution",
    "not_snapshotable",
    "snapshot_damaged",
    "snapshot_incompatible",
    "snapshot_has_secrets",
    "template_in_use",
    "template_lost",
    "build_over",
    "build_needs_no_context",
    "context_mismatch",
    "build_canceled",
    "deploy_over",
    "app_deleting",
    "route_taken",
    "move_refused",
    "disk_gone",
    "layer_missing",
    "disk_unreadable",
    "control_superseded",
    "execution_input_closed",
    "path_is_directory",
    "path_not_directory",
    "path_not_file",
    "directory_not_empty",
    "vm_outdated",
    "port_not_listening",
    "version_mismatch",
    "upload_incomplete",
    "payload_too_large",
    "context_too_large",
    "unsupported_media_type",
    "range_not_satisfiable",
    "unknown_template",
    "invalid_build",
    "app_not_detected",
    "unknown_snapshot",
    "unknown_size",
    "size_too_large",
    "timeout_too_long",
    "invalid_cidr",
    "invalid_port",
    "invalid_domain",
    "egress_conflict",
    "host_unreachable",
    "workdir_not_found",
    "vm_user_not_found",
    "stdin_not_supported",
    "permission_denied",
    "disk_full",
    "build_step_failed",
    "build_out_of_memory",
    "step_timed_out",
    "build_timed_out",
    "template_start_failed",
    "invalid_manifest",
    "errors_doubled",
    "instance_failed",
    "deploy_timed_out",
    "image_not_found",
    "image_invalid",
    "registry_denied",
    "registry_unreachable",
    "context_missing",
    "program_missing",
    "archive_refused",
    "too_many_watches",
    "too_many_tags",
    "headers_too_large",
    "sandbox_busy",
    "machine_busy",
    "rate_limited",
    "too_many_streams",
    "canceled",
    "internal",
    "secret_damaged",
    "not_implemented",
    "guest_failed",
    "stored_layer_damaged",
    "move_failed",
    "no_capacity",
    "template_not_ready",
    "host_unavailable",
    "host_draining",
    "vm_moving",
    "database_unavailable",
    "secrets_unavailable",
    "object_store_unavailable",
    "shutting_down",
    "guest_timeout",
]

AppInstancesState = Literal[
    "starting",
    "serving",
    "draining",
    "failed",
]

AppLogLineLevel = Literal[
    "debug",
    "info",
    "warn",
    "error",
]

AppLogResetReason = Literal[
    "shutting_down",
]

AppLogsLinesLevel = Literal[
    "debug",
    "info",
    "warn",
    "error",
]

AuditEventActorKind = Literal[
    "user",
    "system",
]

AuditEventOutcome = Literal[
    "success",
    "denied",
    "failure",
]

AuthorityRotation = Literal[
    "none",
    "announcing",
    "renewing",
    "withdrawing",
]

AuthorityWaitsForStatus = Literal[
    "online",
    "offline",
    "draining",
    "maintenance",
]

BackgroundServiceStatus = Literal[
    "running",
    "waiting",
]

BackgroundServiceLastRunOutcome = Literal[
    "success",
    "failure",
]

BuildStatus = Literal[
    "queued",
    "building",
    "sealing",
    "freezing",
    "ready",
    "failed",
    "canceled",
]

BuildWaitsForKind = Literal[
    "template",
    "host",
    "place",
    "context",
    "attempt",
]

BuildStepsStatus = Literal[
    "waiting",
    "running",
    "done",
    "failed",
]

BuildErrorCode = Literal[
    "bad_request",
    "unknown_field",
    "invalid_duration",
    "invalid_env",
    "invalid_path",
    "unauthorized",
    "forbidden",
    "quota_exceeded",
    "egress_forbidden",
    "invalid_signature",
    "url_expired",
    "not_found",
    "sandbox_not_found",
    "machine_not_found",
    "token_not_found",
    "organization_not_found",
    "user_not_found",
    "template_not_found",
    "host_not_found",
    "snapshot_not_found",
    "build_not_found",
    "execution_not_found",
    "move_not_found",
    "app_not_found",
    "deploy_not_found",
    "route_not_found",
    "member_not_found",
    "vm_not_found",
    "file_not_found",
    "registry_credential_not_found",
    "secret_not_found",
    "release_not_found",
    "service_not_found",
    "method_not_allowed",
    "request_timeout",
    "upgrade_required",
    "name_taken",
    "host_name_taken",
    "host_not_empty",
    "host_silent",
    "host_not_removable",
    "join_token_used",
    "idempotency_conflict",
    "idempotency_in_progress",
    "already_member",
    "organization_not_empty",
    "operator_organization",
    "last_owner",
    "sandbox_not_running",
    "sandbox_expired",
    "sandbox_not_persistent",
    "machine_not_running",
    "machine_destroyed",
    "vm_not_running",
    "vm_in_use",
    "owned",
    "stale_execution",
    "not_snapshotable",
    "snapshot_damaged",
    "snapshot_incompatible",
    "snapshot_has_secrets",
    "template_in_use",
    "template_lost",
    "build_over",
    "build_needs_no_context",
    "context_mismatch",
    "build_canceled",
    "deploy_over",
    "app_deleting",
    "route_taken",
    "move_refused",
    "disk_gone",
    "layer_missing",
    "disk_unreadable",
    "control_superseded",
    "execution_input_closed",
    "path_is_directory",
    "path_not_directory",
    "path_not_file",
    "directory_not_empty",
    "vm_outdated",
    "port_not_listening",
    "version_mismatch",
    "upload_incomplete",
    "payload_too_large",
    "context_too_large",
    "unsupported_media_type",
    "range_not_satisfiable",
    "unknown_template",
    "invalid_build",
    "app_not_detected",
    "unknown_snapshot",
    "unknown_size",
    "size_too_large",
    "timeout_too_long",
    "invalid_cidr",
    "invalid_port",
    "invalid_domain",
    "egress_conflict",
    "host_unreachable",
    "workdir_not_found",
    "vm_user_not_found",
    "stdin_not_supported",
    "permission_denied",
    "disk_full",
    "build_step_failed",
    "build_out_of_memory",
    "step_timed_out",
    "build_timed_out",
    "template_start_failed",
    "invalid_manifest",
    "errors_doubled",
    "instance_failed",
    "deploy_timed_out",
    "image_not_found",
    "image_invalid",
    "registry_denied",
    "registry_unreachable",
    "context_missing",
    "program_missing",
    "archive_refused",
    "too_many_watches",
    "too_many_tags",
    "headers_too_large",
    "sandbox_busy",
    "machine_busy",
    "rate_limited",
    "too_many_streams",
    "canceled",
    "internal",
    "secret_damaged",
    "not_implemented",
    "guest_failed",
    "stored_layer_damaged",
    "move_failed",
    "no_capacity",
    "template_not_ready",
    "host_unavailable",
    "host_draining",
    "vm_moving",
    "database_unavailable",
    "secrets_unavailable",
    "object_store_unavailable",
    "shutting_down",
    "guest_timeout",
]

BuildEgressMode = Literal[
    "allow_all",
    "deny_all",
]

BuiltInTemplateStatus = Literal[
    "ready",
    "on_demand",
    "building",
    "failed",
]

DeployStatus = Literal[
    "queued",
    "building",
    "releasing",
    "starting",
    "checking",
    "switching",
    "draining",
    "live",
    "failed",
    "canceled",
    "superseded",
    "rolled_back",
]

DeployReasonCode = Literal[
    "bad_request",
    "unknown_field",
    "invalid_duration",
    "invalid_env",
    "invalid_path",
    "unauthorized",
    "forbidden",
    "quota_exceeded",
    "egress_forbidden",
    "invalid_signature",
    "url_expired",
    "not_found",
    "sandbox_not_found",
    "machine_not_found",
    "token_not_found",
    "organization_not_found",
    "user_not_found",
    "template_not_found",
    "host_not_found",
    "snapshot_not_found",
    "build_not_found",
    "execution_not_found",
    "move_not_found",
    "app_not_found",
    "deploy_not_found",
    "route_not_found",
    "member_not_found",
    "vm_not_found",
    "file_not_found",
    "registry_credential_not_found",
    "secret_not_found",
    "release_not_found",
    "service_not_found",
    "method_not_allowed",
    "request_timeout",
    "upgrade_required",
    "name_taken",
    "host_name_taken",
    "host_not_empty",
    "host_silent",
    "host_not_removable",
    "join_token_used",
    "idempotency_conflict",
    "idempotency_in_progress",
    "already_member",
    "organization_not_empty",
    "operator_organization",
    "last_owner",
    "sandbox_not_running",
    "sandbox_expired",
    "sandbox_not_persistent",
    "machine_not_running",
    "machine_destroyed",
    "vm_not_running",
    "vm_in_use",
    "owned",
    "stale_execution",
    "not_snapshotable",
    "snapshot_damaged",
    "snapshot_incompatible",
    "snapshot_has_secrets",
    "template_in_use",
    "template_lost",
    "build_over",
    "build_needs_no_context",
    "context_mismatch",
    "build_canceled",
    "deploy_over",
    "app_deleting",
    "route_taken",
    "move_refused",
    "disk_gone",
    "layer_missing",
    "disk_unreadable",
    "control_superseded",
    "execution_input_closed",
    "path_is_directory",
    "path_not_directory",
    "path_not_file",
    "directory_not_empty",
    "vm_outdated",
    "port_not_listening",
    "version_mismatch",
    "upload_incomplete",
    "payload_too_large",
    "context_too_large",
    "unsupported_media_type",
    "range_not_satisfiable",
    "unknown_template",
    "invalid_build",
    "app_not_detected",
    "unknown_snapshot",
    "unknown_size",
    "size_too_large",
    "timeout_too_long",
    "invalid_cidr",
    "invalid_port",
    "invalid_domain",
    "egress_conflict",
    "host_unreachable",
    "workdir_not_found",
    "vm_user_not_found",
    "stdin_not_supported",
    "permission_denied",
    "disk_full",
    "build_step_failed",
    "build_out_of_memory",
    "step_timed_out",
    "build_timed_out",
    "template_start_failed",
    "invalid_manifest",
    "errors_doubled",
    "instance_failed",
    "deploy_timed_out",
    "image_not_found",
    "image_invalid",
    "registry_denied",
    "registry_unreachable",
    "context_missing",
    "program_missing",
    "archive_refused",
    "too_many_watches",
    "too_many_tags",
    "headers_too_large",
    "sandbox_busy",
    "machine_busy",
    "rate_limited",
    "too_many_streams",
    "canceled",
    "internal",
    "secret_damaged",
    "not_implemented",
    "guest_failed",
    "stored_layer_damaged",
    "move_failed",
    "no_capacity",
    "template_not_ready",
    "host_unavailable",
    "host_draining",
    "vm_moving",
    "database_unavailable",
    "secrets_unavailable",
    "object_store_unavailable",
    "shutting_down",
    "guest_timeout",
]

DeployCreateRequestServicesProtocol = Literal[
    "http",
    "h2",
    "tcp",
]

DeployCreateRequestStrategy = Literal[
    "rolling",
    "bluegreen",
    "canary",
    "immediate",
]

DirectoryEntryType = Literal[
    "file",
    "directory",
    "symlink",
    "other",
]

EgressMode = Literal[
    "allow_all",
    "deny_all",
]

EgressDenialRule = Literal[
    "never",
    "deny_cidr",
    "port",
    "private_network",
    "deny_all",
    "dns",
    "deny_domain",
    "domain",
    "no_domain",
    "rate_limit",
    "connection_limit",
]

EgressReportMode = Literal[
    "allow_all",
    "deny_all",
]

EgressRequestMode = Literal[
    "allow_all",
    "deny_all",
]

ErrorCode = Literal[
    "bad_request",
    "unknown_field",
    "invalid_duration",
    "invalid_env",
    "invalid_path",
    "unauthorized",
    "forbidden",
    "quota_exceeded",
    "egress_forbidden",
    "invalid_signature",
    "url_expired",
    "not_found",
    "sandbox_not_found",
    "machine_not_found",
    "token_not_found",
    "organization_not_found",
    "user_not_found",
    "template_not_found",
    "host_not_found",
    "snapshot_not_found",
    "build_not_found",
    "execution_not_found",
    "move_not_found",
    "app_not_found",
    "deploy_not_found",
    "route_not_found",
    "member_not_found",
    "vm_not_found",
    "file_not_found",
    "registry_credential_not_found",
    "secret_not_found",
    "release_not_found",
    "service_not_found",
    "method_not_allowed",
    "request_timeout",
    "upgrade_required",
    "name_taken",
    "host_name_taken",
    "host_not_empty",
    "host_silent",
    "host_not_removable",
    "join_token_used",
    "idempotency_conflict",
    "idempotency_in_progress",
    "already_member",
    "organization_not_empty",
    "operator_organization",
    "last_owner",
    "sandbox_not_running",
    "sandbox_expired",
    "sandbox_not_persistent",
    "machine_not_running",
    "machine_destroyed",
    "vm_not_running",
    "vm_in_use",
    "owned",
    "stale_execution",
    "not_snapshotable",
    "snapshot_damaged",
    "snapshot_incompatible",
    "snapshot_has_secrets",
    "template_in_use",
    "template_lost",
    "build_over",
    "build_needs_no_context",
    "context_mismatch",
    "build_canceled",
    "deploy_over",
    "app_deleting",
    "route_taken",
    "move_refused",
    "disk_gone",
    "layer_missing",
    "disk_unreadable",
    "control_superseded",
    "execution_input_closed",
    "path_is_directory",
    "path_not_directory",
    "path_not_file",
    "directory_not_empty",
    "vm_outdated",
    "port_not_listening",
    "version_mismatch",
    "upload_incomplete",
    "payload_too_large",
    "context_too_large",
    "unsupported_media_type",
    "range_not_satisfiable",
    "unknown_template",
    "invalid_build",
    "app_not_detected",
    "unknown_snapshot",
    "unknown_size",
    "size_too_large",
    "timeout_too_long",
    "invalid_cidr",
    "invalid_port",
    "invalid_domain",
    "egress_conflict",
    "host_unreachable",
    "workdir_not_found",
    "vm_user_not_found",
    "stdin_not_supported",
    "permission_denied",
    "disk_full",
    "build_step_failed",
    "build_out_of_memory",
    "step_timed_out",
    "build_timed_out",
    "template_start_failed",
    "invalid_manifest",
    "errors_doubled",
    "instance_failed",
    "deploy_timed_out",
    "image_not_found",
    "image_invalid",
    "registry_denied",
    "registry_unreachable",
    "context_missing",
    "program_missing",
    "archive_refused",
    "too_many_watches",
    "too_many_tags",
    "headers_too_large",
    "sandbox_busy",
    "machine_busy",
    "rate_limited",
    "too_many_streams",
    "canceled",
    "internal",
    "secret_damaged",
    "not_implemented",
    "guest_failed",
    "stored_layer_damaged",
    "move_failed",
    "no_capacity",
    "template_not_ready",
    "host_unavailable",
    "host_draining",
    "vm_moving",
    "database_unavailable",
    "secrets_unavailable",
    "object_store_unavailable",
    "shutting_down",
    "guest_timeout",
]

EventResetReason = Literal[
    "too_old",
    "other_database",
]

ExecuteRequestStdinEncoding = Literal[
    "utf8",
    "base64",
]

ExecutionStatus = Literal[
    "running",
    "exited",
]

FileEventEvent = Literal[
    "start",
    "create",
    "write",
    "remove",
    "rename",
    "chmod",
    "overflow",
]

FileEventType = Literal[
    "file",
    "directory",
]

FileInfoType = Literal[
    "file",
    "directory",
    "symlink",
    "other",
]

HealthStatus = Literal[
    "healthy",
]

HostStatus = Literal[
    "online",
    "offline",
    "draining",
    "maintenance",
]

HostDesired = Literal[
    "active",
    "drained",
]

KeptExecutionStatus = Literal[
    "running",
    "exited",
    "ended",
]

KeptOutputStatus = Literal[
    "running",
    "exited",
    "ended",
]

KillRequestSignal = Literal[
    "HUP",
    "INT",
    "QUIT",
    "KILL",
    "USR1",
    "USR2",
    "TERM",
    "CONT",
    "STOP",
    "WINCH",
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGKILL",
    "SIGUSR1",
    "SIGUSR2",
    "SIGTERM",
    "SIGCONT",
    "SIGSTOP",
    "SIGWINCH",
]

MachineStatus = Literal[
    "creating",
    "running",
    "stopping",
    "stopped",
    "starting",
    "failed",
    "destroying",
    "destroyed",
]

MachineDesired = Literal[
    "running",
    "stopped",
]

MachineRestartPolicy = Literal[
    "no",
    "on-failure",
    "always",
]

MachineRestartDisk = Literal[
    "keep",
    "disposable",
]

MachineHealthStatus = Literal[
    "passing",
    "failing",
    "starting",
    "unknown",
]

MachineWaitsForKind = Literal[
    "template",
    "host",
    "place",
    "context",
    "attempt",
]

MachineCreateRequestRestartPolicy = Literal[
    "no",
    "on-failure",
    "always",
]

MachineCreateRequestRestartDisk = Literal[
    "keep",
    "disposable",
]

MachineEndCause = Literal[
    "main_exited",
    "out_of_memory",
    "guest_panicked",
    "guest_shut_down",
    "qemu_ended",
    "guest_failed",
    "host_failed",
    "disk_unreadable",
    "not_adopted",
    "lost",
    "host_lost",
    "start_failed",
    "disk_gone",
    "check_failed",
    "stopped",
    "unknown",
]

MachineUpdateRequestRestartPolicy = Literal[
    "no",
    "on-failure",
    "always",
]

MachineUpdateRequestRestartDisk = Literal[
    "keep",
    "disposable",
]

Role = Literal[
    "viewer",
    "member",
    "admin",
    "owner",
]

Scope = Literal[
    "sandboxes:read",
    "sandboxes:write",
    "sandboxes:execute",
    "machines:read",
    "machines:write",
    "machines:execute",
    "apps:read",
    "apps:write",
    "templates:read",
    "templates:write",
    "secrets:read",
    "secrets:write",
    "tokens:read",
    "tokens:write",
    "org:read",
    "org:write",
    "audit:read",
    "hosts:read",
    "hosts:write",
    "metrics:read",
    "platform:write",
    "*",
]

MoveStatus = Literal[
    "preparing",
    "sending",
    "resuming",
    "canceling",
    "done",
    "canceled",
    "failed",
]

ReleaseManifestServicesProtocol = Literal[
    "http",
    "h2",
    "tcp",
]

ReleaseManifestStrategy = Literal[
    "rolling",
    "bluegreen",
    "canary",
    "immediate",
]

ResourceEventKind = Literal[
    "sandbox",
    "machine",
    "snapshot",
    "template",
    "build",
    "app",
    "deploy",
    "host",
    "move",
    "background_service",
]

ResourceEventPageReset = Literal[
    "too_old",
    "other_database",
]

SandboxInfoMode = Literal[
    "ephemeral",
    "persistent",
]

SandboxInfoStatus = Literal[
    "creating",
    "running",
    "pausing",
    "paused",
    "resuming",
    "unreachable",
    "failed",
    "destroying",
    "destroyed",
]

SandboxInfoWaitsForKind = Literal[
    "template",
    "host",
    "place",
    "context",
    "attempt",
]

SandboxCreateRequestMode = Literal[
    "ephemeral",
    "persistent",
]

SignedUrlRequestMethod = Literal[
    "GET",
    "PUT",
]

SizeCpu = Literal[
    "shared",
    "performance",
]

SnapshotStatus = Literal[
    "creating",
    "ready",
    "failed",
    "deleting",
]

SnapshotRunsOnAccelerator = Literal[
    "kvm",
    "tcg",
]

TemplateStatus = Literal[
    "ready",
    "on_demand",
    "building",
    "failed",
]

TemplateWaitsForKind = Literal[
    "template",
    "host",
    "place",
    "context",
    "attempt",
]

VmEventKind = Literal[
    "created",
    "started",
    "paused",
    "pause_failed",
    "resumed",
    "resume_failed",
    "snapshotted",
    "forked",
    "rolled_back",
    "updated",
    "moved",
    "denied",
    "injected",
    "out_of_memory",
    "unreachable",
    "returned",
    "stopped",
    "stop_failed",
    "restarted",
    "failed",
    "destroyed",
]

#: The HTTP status that each error code comes with.
ERROR_STATUS: Mapping[str, int] = {
    "already_member": 409,
    "app_deleting": 409,
    "app_not_found": 404,
    "archive_refused": 422,
    "bad_request": 400,
    "build_canceled": 409,
    "build_needs_no_context": 409,
    "build_not_found": 404,
    "build_over": 409,
    "context_missing": 422,
    "context_too_large": 413,
    "database_unavailable": 503,
    "deploy_not_found": 404,
    "deploy_over": 409,
    "directory_not_empty": 409,
    "disk_full": 422,
    "disk_gone": 409,
    "disk_unreadable": 409,
    "egress_conflict": 422,
    "egress_forbidden": 403,
    "execution_input_closed": 409,
    "execution_not_found": 404,
    "file_not_found": 404,
    "forbidden": 403,
    "guest_failed": 502,
    "guest_timeout": 504,
    "headers_too_large": 431,
    "host_draining": 503,
    "host_name_taken": 409,
    "host_not_empty": 409,
    "host_not_found": 404,
    "host_not_removable": 409,
    "host_silent": 409,
    "host_unavailable": 503,
    "host_unreachable": 422,
    "idempotency_conflict": 409,
    "idempotency_in_progress": 409,
    "internal": 500,
    "invalid_build": 422,
    "invalid_cidr": 400,
    "invalid_domain": 400,
    "invalid_duration": 400,
    "invalid_env": 400,
    "invalid_manifest": 422,
    "invalid_path": 400,
    "invalid_port": 400,
    "invalid_signature": 403,
    "join_token_used": 409,
    "last_owner": 409,
    "machine_busy": 429,
    "machine_destroyed": 409,
    "machine_not_found": 404,
    "machine_not_running": 409,
    "member_not_found": 404,
    "move_not_found": 404,
    "name_taken": 409,
    "no_capacity": 503,
    "not_snapshotable": 409,
    "operator_organization": 409,
    "organization_not_empty": 409,
    "organization_not_found": 404,
    "owned": 409,
    "path_is_directory": 409,
    "path_not_directory": 409,
    "path_not_file": 409,
    "payload_too_large": 413,
    "permission_denied": 422,
    "port_not_listening": 409,
    "program_missing": 422,
    "quota_exceeded": 403,
    "range_not_satisfiable": 416,
    "rate_limited": 429,
    "registry_credential_not_found": 404,
    "release_not_found": 404,
    "request_timeout": 408,
    "route_not_found": 404,
    "route_taken": 409,
    "sandbox_busy": 429,
    "sandbox_expired": 409,
    "sandbox_not_found": 404,
    "sandbox_not_persistent": 409,
    "sandbox_not_running": 409,
    "secret_damaged": 500,
    "secret_not_found": 404,
    "secrets_unavailable": 503,
    "service_not_found": 404,
    "shutting_down": 503,
    "size_too_large": 422,
    "snapshot_damaged": 409,
    "snapshot_has_secrets": 409,
    "snapshot_incompatible": 409,
    "snapshot_not_found": 404,
    "stdin_not_supported": 422,
    "template_in_use": 409,
    "template_lost": 409,
    "template_not_found": 404,
    "template_not_ready": 503,
    "timeout_too_long": 422,
    "token_not_found": 404,
    "too_many_streams": 429,
    "too_many_tags": 422,
    "too_many_watches": 422,
    "unauthorized": 401,
    "unknown_field": 400,
    "unknown_size": 422,
    "unknown_snapshot": 422,
    "unknown_template": 422,
    "unsupported_media_type": 415,
    "upgrade_required": 426,
    "upload_incomplete": 400,
    "url_expired": 403,
    "user_not_found": 404,
    "version_mismatch": 412,
    "vm_moving": 503,
    "vm_outdated": 409,
    "workdir_not_found": 422,
}


class AppPorts(TypedDict):
    group: str
    port: int


class AppStagedVariables(TypedDict):
    set: List[str]
    unset: List[str]


class AppLogForwardHeader(TypedDict):
    #: Such as `Authorization`.
    name: str
    #: Name of a secret of the organization, whose value is that of the header.
    secret: str


class AppLogForwardFault(TypedDict):
    #: What the last attempt failed with.
    message: str
    #: Since then no line gets there.
    since: str


class AppLogForward(TypedDict):
    #: `https://HOST/v1/logs` for OTLP over HTTP, as JSON; `syslog+tls://HOST:6514` for syslog (RFC 5424) over TLS. It
    #: is no secret: it has neither a name, a query nor a fragment.
    url: str
    header: Optional[AppLogForwardHeader]
    #: Lines that were printed before are not sent.
    since: str
    #: Null: it takes lines. What it has not taken is tried again.
    fault: Optional[AppLogForwardFault]


class AppDeployReason(TypedDict):
    code: AppDeployReasonCode
    message: str
    #: The machine that failed it. It is kept until the next deploy, with its log.
    instance: Optional[str]
    exit_code: Optional[int]
    #: The end of what the instance, or the step of the build, has printed.
    last_lines: List[str]


class AppDeploy(TypedDict):
    id: str
    app_id: str
    #: Number of the release that it brings.
    release: int
    #: `building`: its template is built. `releasing`: its release command runs. `switching`: the first instances of
    #: the release serve. `draining`: all do, and those before go on with the requests that they have. `superseded`: a
    #: later deploy took its place. `rolled_back`: it was live, failed while it was watched, and the release before is
    #: deployed again.
    status: AppDeployStatus
    #: The build of its template, which may wait for its context.
    build_id: Optional[str]
    #: Why it failed.
    reason: Optional[AppDeployReason]
    #: The user who deployed; null: it is a rollback by itself.
    created_by: Optional[str]
    created_at: str
    #: When its `timeout` is over, which begins anew once its build is ready.
    ends_by: str
    finished_at: Optional[str]


class AppInstances(TypedDict):
    machine_id: str
    #: Group and number, such as `web.3`.
    name: str
    release: int
    #: `serving`: it is well, and a group with a service gets requests. `failed`: it was part of a deploy that failed,
    #: and is kept for its log.
    state: AppInstancesState
    #: Why it is not well: its check fails, or its host's proxy gives it no requests. Another one takes its place after
    #: some time. Null: nothing is known against it.
    fault: Optional[str]
    created_at: str


class App(TypedDict):
    id: str
    name: str
    status: AppStatus
    #: The name under which hosts serve it: the app's own, below `SKERRY_APPS_DOMAIN`. Null: another organization's app
    #: has the name.
    host: Optional[str]
    #: The address under which a host serves it.
    url: Optional[str]
    #: Ports of hosts that lead to groups whose service is plain TCP.
    ports: List[AppPorts]
    #: Instances of each group, at most 20. Groups that are left out have one.
    scale: Dict[str, int]
    #: Requests are answered with 503 `app_in_maintenance`, and its instances get none.
    maintenance: bool
    #: Names of variables that the next deploy sets or takes away.
    staged_variables: AppStagedVariables
    #: The receiver of its log.
    log_forward: Optional[AppLogForward]
    #: Number of the release that is live; null: none is yet.
    release: Optional[int]
    #: The last one.
    deploy: Optional[AppDeploy]
    instances: List[AppInstances]
    created_at: str


class _AppCreateRequestRequired(TypedDict):
    #: Letters, digits and dashes: it is part of the app's address.
    name: str


class AppCreateRequest(_AppCreateRequestRequired, total=False):
    #: Instances of each group, at most 20. Groups that are left out have one.
    scale: Dict[str, int]


class AppFailure(TypedDict):
    at: str
    status: int
    #: Whose fault it was, in words.
    why: str
    #: Group and number; null: it went to none.
    instance: Optional[str]
    machine_id: Optional[str]
    method: str
    #: Without its query, at most 300 bytes.
    path: str
    #: Milliseconds from its begin to the end of the answer.
    ms: int
    #: As `X-Request-Id` of the answer says.
    request_id: str


class AppFailures(TypedDict):
    #: Oldest first, the last 1000.
    items: List[AppFailure]
    #: Ids of hosts that cannot be asked now, so that what they have kept is missing.
    unavailable: List[str]


class AppList(TypedDict):
    items: List[App]
    next_cursor: Optional[str]


class AppLogLine(TypedDict):
    #: When it began; null where its host does not know.
    at: Optional[str]
    #: Group and number.
    instance: str
    machine_id: str
    release: int
    #: As JSON (`level`, `severity` or `lvl`, also pino's numbers), logfmt (`level=`) or a word at its beginning, such
    #: as `ERROR` or `[warn]`, says; null: the line says none.
    level: Optional[AppLogLineLevel]
    #: Without its end. Bytes that are not UTF-8 are U+FFFD.
    line: str
    #: How far the log of its instance was read with it, for `after`.
    position: str


class AppLogReset(TypedDict):
    #: This server ends. Go on at once from the cursor.
    reason: AppLogResetReason
    cursor: str


class AppLogsLines(TypedDict):
    #: When it began; null where its host does not know.
    at: Optional[str]
    #: Group and number.
    instance: str
    machine_id: str
    release: int
    #: As JSON (`level`, `severity` or `lvl`, also pino's numbers), logfmt (`level=`) or a word at its beginning, such
    #: as `ERROR` or `[warn]`, says; null: the line says none.
    level: Optional[AppLogsLinesLevel]
    #: Without its end. Bytes that are not UTF-8 are U+FFFD.
    line: str
    #: How far the log of its instance was read with it, for `after`.
    position: str


class AppLogs(TypedDict):
    #: By time.
    lines: List[AppLogsLines]
    #: Instances whose host cannot be asked now, so that their lines are missing.
    unavailable: List[str]
    #: Lines that come later begin later, but for some seconds.
    read_at: str


class AppLogsSynced(TypedDict):
    #: From which a later request goes on.
    cursor: str
    #: Instances whose host cannot be asked now. Their lines come when it can.
    unavailable: List[str]


class AppMetrics(TypedDict):
    #: A duration such as `30s`, `10m`, `24h` or `1h30m`.
    step: str
    #: Oldest first, one for each group and release that had requests.
    items: List[AppMetricsPoint]
    #: Oldest first, one for each route that had answers; their steps are at least 10m long.
    routes: List[AppRoutePoint]


class AppMetricsPoint(TypedDict):
    #: Begin of the step.
    at: str
    group: str
    release: int
    #: Requests that its instances got in the step.
    requests: int
    #: Answers with 4xx.
    client_errors: int
    #: Answers with 5xx, and connections that broke off before an answer.
    server_errors: int
    #: Received from clients.
    received_bytes: int
    #: Sent to clients.
    sent_bytes: int


class AppRoutePoint(TypedDict):
    #: Begin of the step.
    at: str
    #: Null: the app's own address.
    route_id: Optional[str]
    #: Answers of instances. What the proxy answers by itself is not among them.
    answers: int
    #: Those with 4xx.
    client_errors: int
    #: Those with 5xx.
    server_errors: int
    #: Half of the answers began within so many milliseconds: one of the bounds that `times` has. Null: it took longer.
    p50_ms: Optional[int]
    #: 19 of 20 of the answers began within so many milliseconds: one of the bounds that `times` has. Null: it took
    #: longer.
    p95_ms: Optional[int]
    #: 99 of 100 of the answers began within so many milliseconds: one of the bounds that `times` has. Null: it took
    #: longer.
    p99_ms: Optional[int]
    #: Answers by the time to their begin: those within 10, 50, 100, 250, 500, 1000, 2500, 10000 milliseconds, each
    #: without those before it, and those beyond.
    times: List[int]


class AppUpdateRequestLogForwardHeader(TypedDict):
    #: Such as `Authorization`.
    name: str
    #: Name of a secret of the organization, whose value is that of the header.
    secret: str


class _AppUpdateRequestLogForwardRequired(TypedDict):
    #: `https://HOST/v1/logs` for OTLP over HTTP, as JSON; `syslog+tls://HOST:6514` for syslog (RFC 5424) over TLS. It
    #: is no secret: it has neither a name, a query nor a fragment.
    url: str


class AppUpdateRequestLogForward(_AppUpdateRequestLogForwardRequired, total=False):
    #: Of requests to a receiver of OTLP.
    header: AppUpdateRequestLogForwardHeader


class AppUpdateRequest(TypedDict, total=False):
    #: Of these groups; the others stay as they are.
    scale: Dict[str, int]
    #: Requests are answered with 503 `app_in_maintenance`, and its instances get none.
    maintenance: bool
    #: Variables for the next deploy, beside those that wait for it already: its release has them set, or without them
    #: where they are null. A deploy of an earlier release leaves them waiting, and one that fails has them wait again.
    env_changes: Dict[str, Optional[str]]
    #: Sends the lines of its log from now on to a receiver, each at least once; null: to none. Needs `secrets:read`
    #: with a `header`.
    log_forward: Optional[AppUpdateRequestLogForward]


class AuditEventActor(TypedDict):
    kind: AuditEventActorKind
    #: Null where the platform acted by itself, and where `count` refusals were not one user's.
    user_id: Optional[str]
    #: What the user is called now.
    user_name: Optional[str]
    #: The token of the request.
    token_id: Optional[str]
    #: What the token is called.
    token_name: Optional[str]
    #: The background service that acted, `operator` for what the operator of the platform changed, `migration` for an
    #: upgrade, `port-visitor` for a request to a port that needed no token; null where a user did.
    service: Optional[str]
    #: Where the request came from.
    address: Optional[str]


class AuditEventResource(TypedDict):
    kind: str
    #: Null where the call names none, or none that could exist.
    id: Optional[str]
    #: What it is called now; null where it has no name, or is gone.
    name: Optional[str]


class AuditEvent(TypedDict):
    id: str
    at: str
    actor: AuditEventActor
    #: What was done, as noun and verb.
    action: str
    resource: AuditEventResource
    #: The command that was executed or the path of the file that was uploaded, at most 1,000 characters of it, where
    #: the organization has set `audit_details`. Never an environment, what a command reads, or what is in a file.
    detail: Optional[str]
    #: `denied`: the caller lacked a role or a scope. `failure`: it broke off, and may or may not have taken effect.
    outcome: AuditEventOutcome
    #: The error code, where the outcome is not success.
    code: Optional[str]
    #: How many equal calls the event stands for. More than one where they were `denied`, or where the organization has
    #: made more than 100,000 calls of the day at one server: of one token's calls with the same action and code the
    #: first is an event at once, and those after it are one event at the end of each minute. That one has the request
    #: id of the last of them, and null for what they have not in common. Beyond 5 kinds of a token in a minute, and 20
    #: of an organization, the rest of each token's are one event, `organization.refusals` or `organization.calls`.
    count: int
    #: That of the answer and of the line in the request log.
    request_id: Optional[str]
    organization_id: str


class AuditList(TypedDict):
    items: List[AuditEvent]
    next_cursor: Optional[str]


class AuthorityWaitsFor(TypedDict):
    host_id: str
    name: str
    status: AuthorityWaitsForStatus


class Authority(TypedDict):
    #: SHA-256 of the public key of the authority that signs, as base64url.
    fingerprint: str
    created_at: str
    #: `announcing`: hosts are told to trust the next authority, too. `renewing`: it signs, and hosts get certificates
    #: of it. `withdrawing`: the one before is gone, and hosts are told so.
    rotation: AuthorityRotation
    #: Hosts that the next step waits for, 100 at most.
    waits_for: List[AuthorityWaitsFor]


class AuthorityRotateRequest(TypedDict, total=False):
    #: Do not wait for hosts that are offline. They have to join again, with what is on their disks. Default: `false`.
    leave_offline: bool


class BackgroundServiceLastRun(TypedDict):
    ended_at: str
    duration_ms: float
    #: `failure`: it broke off; the log of control says why. Its next turn is its retry.
    outcome: BackgroundServiceLastRunOutcome
    #: What it looked at.
    examined: Optional[int]
    #: What it did something about.
    changed: Optional[int]
    #: What it could do nothing about; it tries again.
    failed: Optional[int]


class BackgroundService(TypedDict):
    name: str
    #: On whichever replica.
    status: BackgroundServiceStatus
    #: When it runs next. Null: at once.
    due_at: Optional[str]
    #: Null: it has not run yet.
    last_run: Optional[BackgroundServiceLastRun]


class BackgroundServiceList(TypedDict):
    items: List[BackgroundService]


class BuildWaitsFor(TypedDict):
    #: `template`: an image that a host makes. `host`: an answer of a host. `place`: free memory, CPUs or a turn.
    #: `context`: the context of a build. `attempt`: the time of the next attempt.
    kind: BuildWaitsForKind
    #: Id of the template or the host.
    id: Optional[str]
    #: Name of the template.
    name: Optional[str]
    #: A sentence for people, with what happened to it.
    reason: str
    since: str


class BuildSteps(TypedDict):
    kind: str
    #: What it does, to be shown.
    name: str
    status: BuildStepsStatus
    started_at: Optional[str]
    finished_at: Optional[str]
    exit_code: Optional[int]
    #: Its result was cached, so it was not carried out.
    cache_hit: bool
    #: Of the layer that it has left. Null where what it has left is in the layer of a later step.
    bytes: Optional[int]


class BuildError(TypedDict):
    code: BuildErrorCode
    message: str
    #: Its place in `steps`, from 0.
    step: Optional[int]
    exit_code: Optional[int]
    last_lines: List[str]


class BuildSource(TypedDict):
    #: The reference that was asked for, or `archive` where one was uploaded.
    image: str
    #: Of its manifest: what the tag meant.
    digest: str


class BuildPushed(TypedDict):
    #: Of the version that is pushed.
    template_id: str
    #: The reference that it gets.
    image: str
    #: Of the manifest that the registry has; null: it has none yet.
    digest: Optional[str]


class Build(TypedDict):
    id: str
    name: str
    tag: str
    status: BuildStatus
    waits_for_context: bool
    #: What keeps it from its next step; null: nothing does.
    waits_for: Optional[BuildWaitsFor]
    #: Empty until they are known.
    steps: List[BuildSteps]
    #: Id of the commit that was cloned.
    commit: Optional[str]
    #: Why it failed, or why it was canceled where no request asked for that.
    error: Optional[BuildError]
    #: What it is made of; null where that is no image, or not pulled yet.
    source: Optional[BuildSource]
    #: What it pushes to a registry; null: it makes a template.
    pushed: Optional[BuildPushed]
    #: Of the version that it made, once it is ready.
    template_id: Optional[str]
    size: SizeName
    host_id: str
    created_at: str
    started_at: Optional[str]
    finished_at: Optional[str]
    #: When its `timeout` is over, which begins with its first step; null before that.
    ends_by: Optional[str]


class _BuildEgressRequired(TypedDict):
    #: What happens to a destination that no CIDR names.
    mode: BuildEgressMode
    #: Allowed IPv4 networks.
    allow_cidrs: List[str]
    #: Denied IPv4 networks.
    deny_cidrs: List[str]
    #: Restricts allowed CIDRs, and the addresses of allowed domains, to these TCP ports.
    allow_ports: List[int]
    dns: bool
    #: The last destinations that were denied, newest first.
    denied: List[EgressDenial]


class BuildEgress(_BuildEgressRequired, total=False):
    #: Allowed domains. Absent where there are none.
    allow_domains: List[str]
    #: Denied domains. Absent where there are none.
    deny_domains: List[str]
    #: Secrets that requests over HTTPS get on their way, so that code in the VM never has them. Needs the scope
    #: `secrets:read` as well.
    inject: List[InjectRule]


class BuildList(TypedDict):
    items: List[Build]
    next_cursor: Optional[str]


class BuildLog(TypedDict):
    lines: List[BuildLogLine]
    #: There are more by now: ask with `after`.
    more: bool


class BuildLogLine(TypedDict):
    #: Its number, from 1.
    line: int
    #: Its place in `steps`; null: of no step.
    step: Optional[int]
    time: str
    text: str


_BuildRequestStepsCopyReserved = TypedDict("_BuildRequestStepsCopyReserved", {"from": str})


class _BuildRequestStepsCopyNamed(TypedDict):
    to: str


class BuildRequestStepsCopy(_BuildRequestStepsCopyNamed, _BuildRequestStepsCopyReserved):
    pass


class BuildRequestSteps(TypedDict, total=False):
    #: A shell command line.
    run: str
    copy: BuildRequestStepsCopy
    #: Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.
    env: Dict[str, str]
    workdir: str
    user: str


class BuildRequestDockerfile(TypedDict, total=False):
    #: In the context. Default: `Dockerfile`.
    path: str
    #: The stage to build.
    target: str
    #: The Dockerfile itself, in place of the context's file. One with a single stage is then carried out in groups of
    #: instructions, each of which is cached, and its `FROM` may name a template without `from`.
    text: str
    #: Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.
    args: Dict[str, str]


_BuildRequestSecretsReserved = TypedDict("_BuildRequestSecretsReserved", {"as": str}, total=False)


class _BuildRequestSecretsNamed(TypedDict):
    #: Name of the secret.
    name: str


class BuildRequestSecrets(_BuildRequestSecretsNamed, _BuildRequestSecretsReserved):
    pass


class BuildRequestStartReady(TypedDict, total=False):
    #: It takes connections.
    port: int
    #: A GET of this path is answered well, on `port` or on 80.
    http: str
    #: It exits with 0.
    command: str
    #: It is there.
    file: str


class _BuildRequestStartRequired(TypedDict):
    #: A shell command line that runs when the template is frozen: its clones wake with it running.
    command: str


class BuildRequestStart(_BuildRequestStartRequired, total=False):
    #: One of `port`, `http`, `command` and `file`; `port` may be beside `http`.
    ready: BuildRequestStartReady


_BuildRequestReserved = TypedDict("_BuildRequestReserved", {"from": str}, total=False)


class __BuildRequestNamedRequired(TypedDict):
    #: Of the template, such as `web`. Names of built-in templates are taken.
    name: str


class _BuildRequestNamed(__BuildRequestNamedRequired, total=False):
    #: It names the new version, and so does `latest`. Default: `latest` alone.
    tag: str
    #: Further tags that name the new version.
    more_tags: List[str]
    steps: List[BuildRequestSteps]
    #: Builds the Dockerfile of the context.
    dockerfile: BuildRequestDockerfile
    #: An image of a registry, such as `docker.io/library/alpine:3`. `steps` beside it stand on it, and do not see its
    #: environment.
    image: str
    #: The context is an image: an OCI archive (`podman save --format oci-archive`) or Docker's (`docker save`), not
    #: compressed, with one image. `steps` beside it stand on it, without `copy`. Default: false.
    archive: bool
    #: A repository to clone as the context, `URL[#REF[:FOLDER]]`, over https, http or git and without a login. With
    #: neither `steps` nor `dockerfile`, what it is is detected.
    git: str
    #: The build waits for its context: `PUT /v1/builds/{id}/context`. Default: false.
    context: bool
    #: What the context will hold, by the paths that `copy` names, `.` for all of it, and no others: with it the build
    #: begins behind the steps whose results are cached. docs/templates.md says how a digest is made.
    context_digests: Dict[str, str]
    #: Secrets of the organization for `RUN --mount=type=secret,id=NAME` of the Dockerfile. Each step gets their
    #: versions of its moment; no layer, no key of the cache and no row has them. Needs the scope `secrets:read` as
    #: well.
    secrets: List[BuildRequestSecrets]
    #: Carry out every step, also where its result is cached. Default: false.
    no_cache: bool
    #: Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.
    env: Dict[str, str]
    user: str
    workdir: str
    start: BuildRequestStart
    #: Sizes to freeze now, none with more vCPUs or memory than the size of the build; others are frozen when they are
    #: first used. Default: `shared-cpu-1x`.
    sizes: List[str]
    #: Of the microVM that builds. Default: `shared-cpu-4x`.
    size: SizeName
    egress: EgressRequest
    #: Of the whole build. Default: `30m`, at most `2h`.
    timeout: str
    #: Of each step. Default: as long as the build has.
    step_timeout: str


class BuildRequest(_BuildRequestNamed, _BuildRequestReserved):
    pass


class BuiltInTemplateFailure(TypedDict):
    reason: str
    #: The last lines that its making printed.
    last_lines: List[str]
    failed_at: str
    #: When its host tries again by itself; null: it is trying.
    next_attempt: Optional[str]


class _BuiltInTemplateRequired(TypedDict):
    #: The same description always has the same id.
    id: str
    name: str
    description: str
    disk_gib: int
    #: `on_demand`: it is built when a VM of it is first asked for.
    status: BuiltInTemplateStatus


class BuiltInTemplate(_BuiltInTemplateRequired, total=False):
    #: The last attempt at its image, where that failed and none has succeeded since.
    failure: Optional[BuiltInTemplateFailure]
    #: When the making of its image began; null: it is not being made, or waits for its turn.
    building_since: Optional[str]
    #: How far the making of its image is, in words.
    progress: Optional[str]


class CacheEntry(TypedDict):
    id: str
    #: Of the step.
    kind: str
    #: What the step did.
    name: str
    #: Of the layer that it has left.
    bytes: int
    host_id: str
    #: A build that is under way begins on it.
    in_use: bool
    created_at: str
    last_used_at: str


class CacheEntryList(TypedDict):
    items: List[CacheEntry]
    next_cursor: Optional[str]


class ClearedCache(TypedDict):
    #: How many were removed.
    entries: int
    #: What their layers take on the disks of hosts.
    bytes: int


class DeployReason(TypedDict):
    code: DeployReasonCode
    message: str
    #: The machine that failed it. It is kept until the next deploy, with its log.
    instance: Optional[str]
    exit_code: Optional[int]
    #: The end of what the instance, or the step of the build, has printed.
    last_lines: List[str]


class Deploy(TypedDict):
    id: str
    app_id: str
    #: Number of the release that it brings.
    release: int
    #: `building`: its template is built. `releasing`: its release command runs. `switching`: the first instances of
    #: the release serve. `draining`: all do, and those before go on with the requests that they have. `superseded`: a
    #: later deploy took its place. `rolled_back`: it was live, failed while it was watched, and the release before is
    #: deployed again.
    status: DeployStatus
    #: The build of its template, which may wait for its context.
    build_id: Optional[str]
    #: Why it failed.
    reason: Optional[DeployReason]
    #: The user who deployed; null: it is a rollback by itself.
    created_by: Optional[str]
    created_at: str
    #: When its `timeout` is over, which begins anew once its build is ready.
    ends_by: str
    finished_at: Optional[str]


_DeployCreateRequestBuildStepsCopyReserved = TypedDict("_DeployCreateRequestBuildStepsCopyReserved", {"from": str})


class _DeployCreateRequestBuildStepsCopyNamed(TypedDict):
    to: str


class DeployCreateRequestBuildStepsCopy(_DeployCreateRequestBuildStepsCopyNamed, _DeployCreateRequestBuildStepsCopyReserved):
    pass


class DeployCreateRequestBuildSteps(TypedDict, total=False):
    #: A shell command line.
    run: str
    copy: DeployCreateRequestBuildStepsCopy
    #: Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.
    env: Dict[str, str]
    workdir: str
    user: str


class DeployCreateRequestBuildDockerfile(TypedDict, total=False):
    #: In the context. Default: `Dockerfile`.
    path: str
    #: The stage to build.
    target: str
    #: The Dockerfile itself, in place of the context's file. One with a single stage is then carried out in groups of
    #: instructions, each of which is cached, and its `FROM` may name a template without `from`.
    text: str
    #: Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.
    args: Dict[str, str]


_DeployCreateRequestBuildSecretsReserved = TypedDict("_DeployCreateRequestBuildSecretsReserved", {"as": str}, total=False)


class _DeployCreateRequestBuildSecretsNamed(TypedDict):
    #: Name of the secret.
    name: str


class DeployCreateRequestBuildSecrets(_DeployCreateRequestBuildSecretsNamed, _DeployCreateRequestBuildSecretsReserved):
    pass


_DeployCreateRequestBuildReserved = TypedDict("_DeployCreateRequestBuildReserved", {"from": str}, total=False)


class _DeployCreateRequestBuildNamed(TypedDict, total=False):
    steps: List[DeployCreateRequestBuildSteps]
    #: Builds the Dockerfile of the context.
    dockerfile: DeployCreateRequestBuildDockerfile
    #: An image of a registry, such as `docker.io/library/alpine:3`. `steps` beside it stand on it, and do not see its
    #: environment.
    image: str
    #: The context is an image: an OCI archive (`podman save --format oci-archive`) or Docker's (`docker save`), not
    #: compressed, with one image. `steps` beside it stand on it, without `copy`. Default: false.
    archive: bool
    #: A repository to clone as the context, `URL[#REF[:FOLDER]]`, over https, http or git and without a login. With
    #: neither `steps` nor `dockerfile`, what it is is detected.
    git: str
    #: The build waits for its context: `PUT /v1/builds/{id}/context`. Default: false.
    context: bool
    #: What the context will hold, by the paths that `copy` names, `.` for all of it, and no others: with it the build
    #: begins behind the steps whose results are cached. docs/templates.md says how a digest is made.
    context_digests: Dict[str, str]
    #: Secrets of the organization for `RUN --mount=type=secret,id=NAME` of the Dockerfile. Each step gets their
    #: versions of its moment; no layer, no key of the cache and no row has them. Needs the scope `secrets:read` as
    #: well.
    secrets: List[DeployCreateRequestBuildSecrets]
    #: Carry out every step, also where its result is cached. Default: false.
    no_cache: bool
    #: Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.
    env: Dict[str, str]
    user: str
    workdir: str
    #: Sizes to freeze now, none with more vCPUs or memory than the size of the build; others are frozen when they are
    #: first used. Default: `shared-cpu-1x`.
    sizes: List[str]
    #: Of the microVM that builds. Default: `shared-cpu-4x`.
    size: SizeName
    egress: EgressRequest
    #: Of the whole build. Default: `30m`, at most `2h`.
    timeout: str
    #: Of each step. Default: as long as the build has.
    step_timeout: str


class DeployCreateRequestBuild(_DeployCreateRequestBuildNamed, _DeployCreateRequestBuildReserved):
    pass


_DeployCreateRequestSecretsReserved = TypedDict("_DeployCreateRequestSecretsReserved", {"as": str}, total=False)


class _DeployCreateRequestSecretsNamed(TypedDict):
    #: Name of the secret.
    name: str


class DeployCreateRequestSecrets(_DeployCreateRequestSecretsNamed, _DeployCreateRequestSecretsReserved):
    pass


class DeployCreateRequestProcessesValue(TypedDict, total=False):
    #: Shell command line of the main process. Default: that of the image that the template was made of; without one
    #: the instance runs what its template has running.
    command: str
    #: A name from `GET /v1/sizes`. Default: `shared-cpu-1x`.
    size: SizeName


class DeployCreateRequestServicesCheck(TypedDict, total=False):
    #: HTTP: the host sends `GET` for this path to `port` of the guest. A status from 200 to 399 passes; a redirect is
    #: not followed. Needs `port`.
    path: str
    #: Of the guest. Without `path` it passes when the port takes a connection.
    port: int
    #: Shell command line that is run in the guest by `/bin/sh -c` as root. Exit status 0 passes. In the place of
    #: `path` and `port`.
    command: str
    #: From the beginning of one check to that of the next, from 1s to 1h. Default: `10s`.
    interval: str
    #: A check that has not passed by then has failed; from 100ms to 1m. Default: `5s`.
    timeout: str
    #: Failed checks in a row that make it `failing`. Default: `3`.
    failures: int
    #: From the start, until a first check has passed: failed checks do not count; at most 1h, `0s` for none. Default:
    #: `30s`.
    grace: str
    #: Stop the machine when it is `failing`, and start it again by its restart policy, as after a run that failed.
    #: With the policy `no` it goes on. Default: `false`.
    restart: bool


class _DeployCreateRequestServicesRequired(TypedDict):
    group: str
    port: int


class DeployCreateRequestServices(_DeployCreateRequestServicesRequired, total=False):
    #: How its server is spoken to. `h2`: HTTP/2 without TLS, as gRPC has it. `tcp`: connections come as they are, on a
    #: port of hosts that the app keeps; routes do not lead to it. Default: `http`.
    protocol: DeployCreateRequestServicesProtocol
    #: When an instance gets requests, and goes on getting them. Default: `GET /`; with `h2` and `tcp`, that the port
    #: takes connections. Its `port` is that of the service, its `interval` 2s, and its `grace` 2m, unless they are
    #: given.
    check: DeployCreateRequestServicesCheck


class DeployCreateRequestCanary(TypedDict, total=False):
    #: Part of each group's instances, rounded up. Default: `10`.
    percent: int
    #: How long they serve beside the release before, shorter than `timeout`. Default: `1m`.
    hold: str


class DeployCreateRequest(TypedDict, total=False):
    #: Template that the instances begin with. One of `template`, `image`, `build` and `release` is needed.
    template: str
    #: Image of a registry that the instances begin with, the same as `build.image`.
    image: str
    #: Build of a template that belongs to the app, as templates are built. With `context` the deploy waits until the
    #: context of its build (`build_id`) is sent.
    build: DeployCreateRequestBuild
    #: Number of an earlier release, whose template, environment and processes are taken over.
    release: int
    #: Environment of all instances. Default: that of the release before.
    env: Dict[str, str]
    #: Variables that are set beside those of `env`, or of the release before, and those that wait for the deploy; null
    #: takes one away.
    env_changes: Dict[str, Optional[str]]
    #: Secrets of the organization to have in the environment. Each start gives it their versions of that moment. Needs
    #: the scope `secrets:read` as well, because what runs in the VM reads them.
    secrets: List[DeployCreateRequestSecrets]
    #: Groups of instances that are alike, by name. Default: `web` alone.
    processes: Dict[str, DeployCreateRequestProcessesValue]
    #: Groups that take requests, at most one port of each. The first one that speaks HTTP has the app's address.
    #: Default: none.
    services: List[DeployCreateRequestServices]
    #: Shell command line that runs once for each deploy, in a microVM of its own with the release's environment,
    #: before an instance is started. The deploy fails where it does not exit with 0. Null: none.
    release_command: Optional[str]
    #: `rolling`: one instance more than the scale at a time. `bluegreen`: all instances of the release serve at once,
    #: when all are well. `canary`: a part of them serves beside all of the release before for a while, and then as
    #: `rolling`. `immediate`: all serve as soon as they run, also where a check fails. Default: `rolling`.
    strategy: DeployCreateRequestStrategy
    #: Of the strategy `canary`. The deploy fails where one of them ends or fails its check.
    canary: DeployCreateRequestCanary
    #: How long an instance that is replaced may go on with requests that it has, at most 1h. Default: `30s`.
    drain_timeout: str
    #: How long after it is live the release before is deployed again, where an instance ends or fails its check; at
    #: most 1h, `0s` for not at all. Default: `1m`.
    watch: str
    #: How long the whole deploy may take, at most 1h. Default: `5m`.
    timeout: str


class DeployList(TypedDict):
    items: List[Deploy]
    next_cursor: Optional[str]


class _DirectoryEntryRequired(TypedDict):
    name: str
    #: Bytes.
    size: int
    type: DirectoryEntryType
    modified: str


class DirectoryEntry(_DirectoryEntryRequired, total=False):
    #: From the directory that is listed, where the list goes below it.
    path: str
    #: Permissions, octal, such as `0644`.
    mode: str
    #: Name of the user that it belongs to, or its number.
    owner: str
    #: Name of the group that it belongs to, or its number.
    group: str
    #: Of a symbolic link: where it leads, as it is written there.
    target: str
    #: Extended attributes that users have set there, by their names without `user.`; those whose values are text, of
    #: at most 4 KiB together. Absent where there are none.
    attributes: Dict[str, str]


class DirectoryListing(TypedDict):
    entries: List[DirectoryEntry]
    #: There are more entries than `limit`, or than 4 MiB of them.
    truncated: bool


class _EgressRequired(TypedDict):
    #: What happens to a destination that no CIDR names.
    mode: EgressMode
    #: Allowed IPv4 networks.
    allow_cidrs: List[str]
    #: Denied IPv4 networks.
    deny_cidrs: List[str]
    #: Restricts allowed CIDRs, and the addresses of allowed domains, to these TCP ports.
    allow_ports: List[int]
    dns: bool


class Egress(_EgressRequired, total=False):
    #: Allowed domains. Absent where there are none.
    allow_domains: List[str]
    #: Denied domains. Absent where there are none.
    deny_domains: List[str]
    #: Secrets that requests over HTTPS get on their way, so that code in the VM never has them. Needs the scope
    #: `secrets:read` as well.
    inject: List[InjectRule]


class EgressCounters(TypedDict):
    bytes_out: int
    packets_out: int
    bytes_in: int
    packets_in: int


class _EgressDenialRequired(TypedDict):
    #: Empty where only the name is known.
    address: str
    #: 0 where the protocol has none.
    port: int
    protocol: str
    rule: EgressDenialRule
    #: Packets refused.
    count: int
    last_at: str


class EgressDenial(_EgressDenialRequired, total=False):
    #: The name that was refused, where names decide.
    domain: str


class EgressInjection(TypedDict):
    #: Name that the requests went to.
    host: str
    secret: str
    #: Requests that got it.
    count: int
    last_at: str


class _EgressReportRequired(TypedDict):
    #: What happens to a destination that no CIDR names.
    mode: EgressReportMode
    #: Allowed IPv4 networks.
    allow_cidrs: List[str]
    #: Denied IPv4 networks.
    deny_cidrs: List[str]
    #: Restricts allowed CIDRs, and the addresses of allowed domains, to these TCP ports.
    allow_ports: List[int]
    dns: bool
    #: Of the rules: it grows with each change of them. It is the `ETag` of this answer.
    version: int
    counters: EgressCounters
    denied: List[EgressDenial]


class EgressReport(_EgressReportRequired, total=False):
    #: Allowed domains. Absent where there are none.
    allow_domains: List[str]
    #: Denied domains. Absent where there are none.
    deny_domains: List[str]
    #: Secrets that requests over HTTPS get on their way, so that code in the VM never has them. Needs the scope
    #: `secrets:read` as well.
    inject: List[InjectRule]
    #: Secrets that requests got on their way, newest first. Counted since the host's name proxy began; absent where
    #: there is no rule.
    injected: List[EgressInjection]


class EgressRequest(TypedDict, total=False):
    #: What happens to a destination that no CIDR names.
    mode: EgressRequestMode
    #: Allowed IPv4 networks; implies `deny_all`.
    allow_cidrs: List[str]
    #: Denied IPv4 networks; wins over every allow.
    deny_cidrs: List[str]
    #: Restricts allowed CIDRs, and the addresses of allowed domains, to these TCP ports.
    allow_ports: List[int]
    #: Allowed domains, by name for HTTP on port 80 and TLS on port 443, and for other protocols by the addresses that
    #: they are looked up to; implies `deny_all`. `*.example.com` is every name below `example.com`.
    allow_domains: List[str]
    #: Denied domains, for HTTP on port 80 and TLS on port 443; wins over allowed domains.
    deny_domains: List[str]
    #: Secrets that requests over HTTPS get on their way, so that code in the VM never has them. Needs the scope
    #: `secrets:read` as well.
    inject: List[InjectRule]
    #: Whether names can be looked up. Default: true with `allow_all` and with `allow_domains`, otherwise false.
    dns: bool


class _ErrorRequired(TypedDict):
    code: ErrorCode
    #: What was wrong with this request, in one sentence.
    message: str


class Error(_ErrorRequired, total=False):
    #: What to do about it.
    remediation: str
    context: Dict[str, object]
    request_id: str


class EventReset(TypedDict):
    #: `too_old`: the cursor is more than a day old. `other_database`: it comes from another state of the database,
    #: which was restored from a backup since.
    reason: EventResetReason
    #: Of this moment: list what is shown, then go on from here.
    cursor: str


class EventsSynced(TypedDict):
    #: Everything before it was told.
    cursor: str
    #: By the database's clock.
    now: str


class ExecuteExitUsage(TypedDict):
    cpu_ms: int
    memory_peak_bytes: int


class ExecuteExit(TypedDict):
    #: The command's own, or 128 + the signal's number.
    exit_code: int
    duration_ms: int
    timed_out: bool
    #: The signal that ended it, for example `SIGKILL`.
    signal: Optional[str]
    #: The sandbox ran out of memory and the kernel killed a process of this command.
    oom_killed: bool
    #: stdout or stderr was longer than 10485760 bytes; the rest was dropped.
    truncated: bool
    usage: ExecuteExitUsage


class _ExecuteRequestRequired(TypedDict):
    #: Shell command line, run by `/bin/sh -c` as root. At most 131071 bytes.
    command: str


class ExecuteRequest(_ExecuteRequestRequired, total=False):
    #: Then the command and all its descendants get SIGKILL. At most 5m for an answer in one piece; of a stream of
    #: events and with `detach` 24h, or `0s` for none. Default: `30s`.
    timeout: str
    #: Absolute path. Default: `/root`.
    workdir: str
    #: Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.
    env: Dict[str, str]
    #: What the command reads from its standard input, at most 10 MiB, and then its end. Without it the input is empty.
    #: A command that does not read all of it does not fail by that.
    stdin: str
    #: Answers 201 with an `Execution` as soon as the command runs; it lives without a reader, and without a timeout
    #: unless `timeout` sets one. Default: `false`.
    detach: bool
    #: Of a stream of events, or with `detach`, in a sandbox: its last output is kept for a day after it has ended,
    #: also when the sandbox is gone; `GET /v1/executions` lists it. A sandbox has one such command. Default: `false`.
    keep_output: bool
    #: Of a stream of events: how long the command lives after its client has gone, so that it may be followed again;
    #: at most 1m. Default: not at all.
    reattach: str
    #: `base64`: `stdin` holds exact bytes, without line breaks. Default: `utf8`.
    stdin_encoding: ExecuteRequestStdinEncoding


class ExecuteResponseUsage(TypedDict):
    cpu_ms: int
    memory_peak_bytes: int


class ExecuteResponse(TypedDict):
    #: The command's own, or 128 + the signal's number.
    exit_code: int
    duration_ms: int
    timed_out: bool
    #: The signal that ended it, for example `SIGKILL`.
    signal: Optional[str]
    #: The sandbox ran out of memory and the kernel killed a process of this command.
    oom_killed: bool
    #: stdout or stderr was longer than 10485760 bytes; the rest was dropped.
    truncated: bool
    usage: ExecuteResponseUsage
    stdout: str
    stderr: str


class ExecutionExitUsage(TypedDict):
    cpu_ms: int
    memory_peak_bytes: int


class ExecutionExit(TypedDict):
    #: The command's own, or 128 + the signal's number.
    exit_code: int
    duration_ms: int
    timed_out: bool
    #: The signal that ended it, for example `SIGKILL`.
    signal: Optional[str]
    #: The sandbox ran out of memory and the kernel killed a process of this command.
    oom_killed: bool
    #: stdout or stderr was longer than 10485760 bytes; the rest was dropped.
    truncated: bool
    usage: ExecutionExitUsage


class Execution(TypedDict):
    id: str
    #: Number of its process in the microVM; null where it has ended.
    pid: Optional[int]
    #: Its first 1,024 bytes.
    command: str
    status: ExecutionStatus
    #: It lives without a reader.
    detached: bool
    #: How long it lives without a reader; null: as long as it likes, or not at all.
    reattach: Optional[str]
    #: After which it is killed; null for none.
    timeout: Optional[str]
    #: It has a terminal.
    tty: bool
    #: It can be sent input.
    stdin: bool
    #: Bytes of stdout and stderr together that it has written.
    position: int
    #: The position of the first byte that is kept. The last 1048576 bytes are, where the microVM has the memory.
    kept_from: int
    started_at: str
    ended_at: Optional[str]
    #: How it ended; null while it runs.
    exit: Optional[ExecutionExit]


class ExecutionList(TypedDict):
    items: List[Execution]
    next_cursor: Optional[str]


class _ExecutionRequestRequired(TypedDict):
    #: Shell command line, run by `/bin/sh -c` as root. At most 131071 bytes.
    command: str


class ExecutionRequest(_ExecutionRequestRequired, total=False):
    #: Absolute path. Default: `/root`.
    workdir: str
    #: Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.
    env: Dict[str, str]
    #: At most 24h; then the command and all its descendants get SIGKILL. Default: none (`0s`), so it ends with its
    #: microVM at the latest.
    timeout: str
    #: How long it lives without a reader, at most 1m; the first one has 30s. Default: as long as it likes.
    reattach: str
    #: Of a stream of events, or with `detach`, in a sandbox: its last output is kept for a day after it has ended,
    #: also when the sandbox is gone; `GET /v1/executions` lists it. A sandbox has one such command. Default: `false`.
    keep_output: bool
    #: The sandbox is destroyed when the command has ended, and its output is kept as with `keep_output`. Needs
    #: `sandboxes:write`. Default: `false`.
    destroy_sandbox: bool
    #: Its standard input stays open, and reads what is sent to `stdin`. Otherwise it is empty. Default: `false`.
    stdin_open: bool
    #: It gets a terminal: all its output is stdout, and its input is open. Default: `false`.
    tty: bool
    #: Of the terminal. Default: `80`.
    cols: int
    #: Of the terminal. Default: `24`.
    rows: int


class FileChange(TypedDict, total=False):
    #: Move it here: an absolute path. A file, or an empty directory, that is there is replaced.
    path: str
    #: Permissions, octal.
    mode: str


class FileEvent(TypedDict):
    #: `start`: it watches from here on. `rename`: it was moved away from this path; where it went within the
    #: directory, a `create` says so. `chmod`: its permissions, owner or times. `overflow`: events were lost, so look
    #: again what is there.
    event: FileEventEvent
    #: From the directory that is watched; empty for the directory itself.
    path: str
    #: `file` is all that is no directory.
    type: FileEventType


class _FileInfoRequired(TypedDict):
    #: Absolute path in the microVM.
    path: str
    name: str
    #: Bytes.
    size: int
    type: FileInfoType
    modified: str
    #: Permissions, octal, such as `0644`.
    mode: str
    #: Name of the user that it belongs to, or its number.
    owner: str
    #: Name of the group that it belongs to, or its number.
    group: str


class FileInfo(_FileInfoRequired, total=False):
    #: Of a symbolic link: where it leads, as it is written there.
    target: str
    #: Extended attributes that users have set there, by their names without `user.`; those whose values are text, of
    #: at most 4 KiB together. Absent where there are none.
    attributes: Dict[str, str]


class FileWritten(TypedDict):
    #: Absolute path in the sandbox.
    path: str
    #: Bytes.
    size: int


class ForkRequest(TypedDict, total=False):
    #: How many are made. Default: `1`.
    count: int


class Health(TypedDict):
    status: HealthStatus


class HostCapacity(TypedDict):
    #: CPUs of the machine.
    cpus: int
    #: vCPUs that it may promise.
    vcpus: int
    #: Memory that VMs may use in all.
    memory_mib: int


class HostUsed(TypedDict):
    #: vCPUs that are promised.
    vcpus: int
    #: Memory that is promised.
    memory_mib: int
    #: Sandboxes and machines that hold them.
    vms: int


class HostVersions(TypedDict):
    skerry: Optional[str]
    qemu: Optional[str]
    kernel: Optional[str]


class HostUsageCpuSeconds(TypedDict):
    user: float
    system: float
    idle: float
    iowait: float
    #: Taken by the machine that this machine is a VM of.
    steal: float


class HostUsageWarmPool(TypedDict):
    #: Idle clones, ready for the next VM.
    waiting: int
    #: VMs that were made of a waiting clone since the host started.
    taken: int
    #: VMs for which none waited.
    missed: int


class HostUsage(TypedDict):
    cpu_seconds: HostUsageCpuSeconds
    #: All of it.
    memory_bytes: float
    #: What could be used without swapping.
    memory_available_bytes: float
    #: The file system that VMs are kept on.
    disk_bytes: float
    #: What is free of it.
    disk_free_bytes: float
    #: On the links of the default routes.
    network_received_bytes: float
    #: On the links of the default routes.
    network_sent_bytes: float
    warm_pool: HostUsageWarmPool


class Host(TypedDict):
    id: str
    name: str
    #: `offline`: not heard of for 30 s, and what ran there has failed. `draining`: its VMs, paused sandboxes and
    #: snapshots are leaving. `maintenance`: they have left.
    status: HostStatus
    status_since: str
    #: What the operator wants. Only a host that is online and wanted active gets VMs.
    desired: HostDesired
    #: What a drain cannot go on without, and how many templates that no other host has stay behind; or why a host that
    #: is back gets no VMs yet.
    waits_for: Optional[str]
    last_heartbeat: str
    #: By the database's clock, like every age of a host.
    heartbeat_age_s: float
    capacity: HostCapacity
    used: HostUsed
    #: `kvm`, or `tcg`: emulation.
    accelerator: Optional[str]
    accelerator_reason: Optional[str]
    #: What the host said last; null where it has not said anything yet.
    versions: HostVersions
    templates: List[BuiltInTemplate]
    #: What the machine itself has used, when it was last heard of.
    usage: Optional[HostUsage]


class HostJoined(TypedDict):
    host_id: str
    name: str


class HostList(TypedDict):
    items: List[Host]
    next_cursor: Optional[str]


class _InjectRuleRequired(TypedDict):
    #: Name that the policy allows, or `*.example.com` for every name below one.
    host: str
    #: A name as variables of an environment have it: letters, digits and `_`, no digit first.
    secret: str


class InjectRule(_InjectRuleRequired, total=False):
    #: Header that has the secret. One of this name that the guest sends is removed.
    header: str
    #: The header's value, with `{}` where the secret stands, such as `Bearer {}`. Default: `{}`.
    format: str
    #: In the place of `header`: parameter of the query that has the secret.
    query: str
    #: In the place of `header`: user of HTTP's basic authentication, whose password is the secret. May be empty.
    basic_user: str
    #: Methods of the requests that get it. Default: all.
    methods: List[str]
    #: Paths of the requests that get it, without a query; with `*` at the end all that begin so. Default: all.
    paths: List[str]


class JoinAnswer(TypedDict):
    host_id: str
    certificate: str
    #: Certificates of the authorities to trust, PEM: one, or two while the cluster changes its authority.
    authority: str


class JoinConfirmation(TypedDict):
    token_id: str
    host_id: str
    #: HMAC-SHA-256 of what is asked, by the token's secret; base64url.
    proof: str


class JoinRequest(TypedDict):
    token_id: str
    #: No other host has it.
    name: str
    #: Where control reaches the host: ADDRESS:PORT.
    address: str
    #: PEM (SPKI), of the curve P-256.
    public_key: str
    #: By the private key; base64.
    signature: str
    #: HMAC-SHA-256 of what is asked, by the token's secret; base64url.
    proof: str


class JoinToken(TypedDict):
    id: str
    #: For `skerry host join`, once. It is in this answer and nowhere else.
    token: str
    expires_at: str


class KeepaliveRequest(TypedDict, total=False):
    #: Time from now until it is destroyed, or where it is persistent paused; more than 24h is clamped to 24h. Default:
    #: the sandbox's own timeout.
    timeout: str


class KeptExecutionExitUsage(TypedDict):
    cpu_ms: int
    memory_peak_bytes: int


class KeptExecutionExit(TypedDict):
    #: The command's own, or 128 + the signal's number.
    exit_code: int
    duration_ms: int
    timed_out: bool
    #: The signal that ended it, for example `SIGKILL`.
    signal: Optional[str]
    #: The sandbox ran out of memory and the kernel killed a process of this command.
    oom_killed: bool
    #: stdout or stderr was longer than 10485760 bytes; the rest was dropped.
    truncated: bool
    usage: KeptExecutionExitUsage


class KeptExecution(TypedDict):
    #: Id of the execution.
    id: str
    sandbox_id: str
    #: Its first 1,024 characters.
    command: str
    #: `ended`: its sandbox ended before it did; `reason` says how.
    status: KeptExecutionStatus
    #: Why there is no exit.
    reason: Optional[str]
    #: The sandbox is destroyed when the command has ended.
    destroys_sandbox: bool
    #: Bytes of stdout and stderr together that it had written; 0 while it runs.
    output_bytes: int
    started_at: str
    ended_at: Optional[str]
    #: How it ended; null where that is not known, or not yet.
    exit: Optional[KeptExecutionExit]


class KeptExecutionList(TypedDict):
    items: List[KeptExecution]
    next_cursor: Optional[str]


class KeptOutputExitUsage(TypedDict):
    cpu_ms: int
    memory_peak_bytes: int


class KeptOutputExit(TypedDict):
    #: The command's own, or 128 + the signal's number.
    exit_code: int
    duration_ms: int
    timed_out: bool
    #: The signal that ended it, for example `SIGKILL`.
    signal: Optional[str]
    #: The sandbox ran out of memory and the kernel killed a process of this command.
    oom_killed: bool
    #: stdout or stderr was longer than 10485760 bytes; the rest was dropped.
    truncated: bool
    usage: KeptOutputExitUsage


class KeptOutput(TypedDict):
    #: Id of the execution.
    id: str
    sandbox_id: str
    #: Its first 1,024 characters.
    command: str
    #: `ended`: its sandbox ended before it did; `reason` says how.
    status: KeptOutputStatus
    #: Why there is no exit.
    reason: Optional[str]
    #: The sandbox is destroyed when the command has ended.
    destroys_sandbox: bool
    #: Bytes of stdout and stderr together that it had written; 0 while it runs.
    output_bytes: int
    started_at: str
    ended_at: Optional[str]
    #: How it ended; null where that is not known, or not yet.
    exit: Optional[KeptOutputExit]
    #: What is kept of it: of both together the last 1048576 bytes.
    stdout: str
    stderr: str


class KillRequest(TypedDict, total=False):
    #: Sent to the process group of the command; `KILL` to all that it has started. Default: `TERM`.
    signal: KillRequestSignal


class LimitsRatesRead(TypedDict):
    #: Requests that every token may make in a minute, in the long run. All tokens of the organization together may
    #: make 2 times as many.
    per_minute: int
    #: How many of them it may make at once after a pause; all together 2 times as many.
    burst: int


class LimitsRatesWrite(TypedDict):
    #: Requests that every token may make in a minute, in the long run. All tokens of the organization together may
    #: make 2 times as many.
    per_minute: int
    #: How many of them it may make at once after a pause; all together 2 times as many.
    burst: int


class LimitsRatesExpensive(TypedDict):
    #: Requests that every token may make in a minute, in the long run. All tokens of the organization together may
    #: make 2 times as many.
    per_minute: int
    #: How many of them it may make at once after a pause; all together 2 times as many.
    burst: int


class LimitsRates(TypedDict):
    read: LimitsRatesRead
    write: LimitsRatesWrite
    expensive: LimitsRatesExpensive


class LimitsQuotasSandboxes(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasMachines(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasVcpus(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasMemoryMib(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasDiskGib(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasPersistentDiskGib(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasSnapshots(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasSnapshotGib(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasBuilds(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasTemplateGib(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasTokens(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotasApps(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class LimitsQuotas(TypedDict):
    sandboxes: LimitsQuotasSandboxes
    machines: LimitsQuotasMachines
    vcpus: LimitsQuotasVcpus
    memory_mib: LimitsQuotasMemoryMib
    disk_gib: LimitsQuotasDiskGib
    persistent_disk_gib: LimitsQuotasPersistentDiskGib
    snapshots: LimitsQuotasSnapshots
    snapshot_gib: LimitsQuotasSnapshotGib
    builds: LimitsQuotasBuilds
    template_gib: LimitsQuotasTemplateGib
    tokens: LimitsQuotasTokens
    apps: LimitsQuotasApps


class Limits(TypedDict):
    rates: LimitsRates
    quotas: LimitsQuotas


class LimitsChangeRequest(TypedDict, total=False):
    #: Null takes the installation's setting again.
    rate_read_per_minute: Optional[int]
    #: Null takes the installation's setting again.
    rate_read_burst: Optional[int]
    #: Null takes the installation's setting again.
    rate_write_per_minute: Optional[int]
    #: Null takes the installation's setting again.
    rate_write_burst: Optional[int]
    #: Null takes the installation's setting again.
    rate_expensive_per_minute: Optional[int]
    #: Null takes the installation's setting again.
    rate_expensive_burst: Optional[int]
    #: Null takes the installation's setting again.
    quota_sandboxes: Optional[int]
    #: Null takes the installation's setting again.
    quota_machines: Optional[int]
    #: Null takes the installation's setting again.
    quota_vcpus: Optional[int]
    #: Null takes the installation's setting again.
    quota_memory_mib: Optional[int]
    #: Null takes the installation's setting again.
    quota_disk_gib: Optional[int]
    #: Null takes the installation's setting again.
    quota_persistent_disk_gib: Optional[int]
    #: Null takes the installation's setting again.
    quota_snapshots: Optional[int]
    #: Null takes the installation's setting again.
    quota_snapshot_gib: Optional[int]
    #: Null takes the installation's setting again.
    quota_builds: Optional[int]
    #: Null takes the installation's setting again.
    quota_template_gib: Optional[int]
    #: Null takes the installation's setting again.
    quota_tokens: Optional[int]
    #: Null takes the installation's setting again.
    quota_apps: Optional[int]


class LoginCode(TypedDict):
    #: It is shown this once, and logs one browser in.
    code: str
    expires_at: str


class LoginCodeOwner(TypedDict):
    #: The user that the code logs a browser in as.
    name: str
    #: The organization of the session.
    organization_name: str


class LoginCodeQuestion(TypedDict):
    #: A code that was not used yet.
    code: str


class MachineOwner(TypedDict):
    #: Such as `app`.
    kind: str
    id: str
    name: Optional[str]


_MachineSecretsReserved = TypedDict("_MachineSecretsReserved", {"as": str})


class _MachineSecretsNamed(TypedDict):
    #: Name of the secret.
    name: str
    #: The version that it was given last; null: the secret is deleted.
    version: Optional[int]
    given_at: Optional[str]


class MachineSecrets(_MachineSecretsNamed, _MachineSecretsReserved):
    pass


class MachinePending(TypedDict, total=False):
    size: SizeName
    command: Optional[str]
    #: Environment variables, name to value. Null: the caller may not execute there and so does not see it, or it was
    #: erased because the destruction has begun.
    env: Dict[str, Optional[str]]


class MachineRestart(TypedDict):
    policy: MachineRestartPolicy
    #: Restarts without ten healthy minutes in between, after which it is left as it is; null: without end. Default: 10
    #: with `on-failure`, null with `always`.
    max_retries: Optional[int]
    disk: MachineRestartDisk


class _MachineCheckRequired(TypedDict):
    #: A duration such as `30s`, `10m`, `24h` or `1h30m`.
    interval: str
    #: A duration such as `30s`, `10m`, `24h` or `1h30m`.
    timeout: str
    failures: int
    #: A duration such as `30s`, `10m`, `24h` or `1h30m`.
    grace: str
    restart: bool


class MachineCheck(_MachineCheckRequired, total=False):
    #: HTTP: the host sends `GET` for this path to `port` of the guest. A status from 200 to 399 passes; a redirect is
    #: not followed. Needs `port`.
    path: str
    #: Of the guest. Without `path` it passes when the port takes a connection.
    port: int
    #: Shell command line that is run in the guest by `/bin/sh -c` as root. Exit status 0 passes. In the place of
    #: `path` and `port`.
    command: str


class MachineHealth(TypedDict):
    #: `starting`: no check has passed since the start, and `grace` is not over. `failing`: `failures` checks in a row
    #: have failed. `unknown`: it is not checked now; `reason` says why.
    status: MachineHealthStatus
    since: str
    #: Why the check failed last, or why nothing is known; null: it passed.
    reason: Optional[str]
    #: The check that brought this status or reason: hosts tell changes, not each check.
    last_checked_at: Optional[str]


class MachineAutostop(TypedDict):
    #: How long nothing has to use it, from 10s to 24h. A use is a call into it, from its first byte to its last: a
    #: connection to a port, a command, a terminal, a file. A health check is none.
    idle: str


class MachineWaitsFor(TypedDict):
    #: `template`: an image that a host makes. `host`: an answer of a host. `place`: free memory, CPUs or a turn.
    #: `context`: the context of a build. `attempt`: the time of the next attempt.
    kind: MachineWaitsForKind
    #: Id of the template or the host.
    id: Optional[str]
    #: Name of the template.
    name: Optional[str]
    #: A sentence for people, with what happened to it.
    reason: str
    since: str


class Machine(TypedDict):
    id: str
    name: Optional[str]
    #: The resource that it belongs to, which makes and ends it: calls that would take it away answer `owned`. Null: it
    #: was created by a call of its own.
    owner: Optional[MachineOwner]
    #: Name of the template.
    template: str
    size: SizeName
    status: MachineStatus
    #: What was last asked for.
    desired: MachineDesired
    #: Environment variables, name to value. Null: the caller may not execute there and so does not see it, or it was
    #: erased because the destruction has begun.
    env: Dict[str, Optional[str]]
    #: Secrets in its environment, without their values.
    secrets: List[MachineSecrets]
    #: Your own labels, name to value; lists can be filtered by them. At most 64, with 16 KiB together.
    metadata: Dict[str, str]
    egress: Egress
    #: Of the main process.
    command: Optional[str]
    #: What was changed and takes effect when the machine is started next: the whole `env`, the `command`, the `size`,
    #: as far as they differ from those in effect. Null: nothing.
    pending: Optional[MachinePending]
    restart: MachineRestart
    #: A duration such as `30s`, `10m`, `24h` or `1h30m`.
    stop_timeout: str
    #: Its health check. Null: it has none.
    check: Optional[MachineCheck]
    #: What its host has found by the check. Null: no check.
    health: Optional[MachineHealth]
    #: Null: it is not stopped by itself.
    autostop: Optional[MachineAutostop]
    #: A request for one of its ports, and any other call into it, starts it again and waits for it, where `autostop`
    #: has stopped it.
    autostart: bool
    #: Where it runs, or where its disk is.
    host_id: Optional[str]
    #: The snapshot that it comes from, or that was taken of it last. It may be deleted.
    snapshot_id: Optional[str]
    #: How often it was started again by its policy.
    restarts: int
    #: Of the main process, when it last ended; null while it runs.
    exit_code: Optional[int]
    created_at: str
    started_at: Optional[str]
    #: When it last ended; null while it runs.
    stopped_at: Optional[str]
    destroyed_at: Optional[str]
    #: What keeps it from what was asked for last; null: nothing does.
    waits_for: Optional[MachineWaitsFor]
    #: Why it is not running, or what happened to it when it last came to run. It begins with `host_offline: ` where
    #: its host does not answer, with `disk_unreadable: ` where the host cannot use its disk, and with `disk_gone: `
    #: where the host does not have it any more.
    reason: Optional[str]
    #: When it is started again by its policy.
    restart_at: Optional[str]


_MachineCreateRequestSecretsReserved = TypedDict("_MachineCreateRequestSecretsReserved", {"as": str}, total=False)


class _MachineCreateRequestSecretsNamed(TypedDict):
    #: Name of the secret.
    name: str


class MachineCreateRequestSecrets(_MachineCreateRequestSecretsNamed, _MachineCreateRequestSecretsReserved):
    pass


class MachineCreateRequestRestart(TypedDict, total=False):
    #: `no`: never by itself. `on-failure`: when it ended otherwise than by its main process exiting with 0. `always`:
    #: whenever it ends without having been stopped. Default: `on-failure`.
    policy: MachineCreateRequestRestartPolicy
    #: Restarts without ten healthy minutes in between, after which it is left as it is; null: without end. Default: 10
    #: with `on-failure`, null with `always`.
    max_retries: Optional[int]
    #: What happens when its host is lost. `keep`: the machine waits for the host, which has its disk. `disposable`: by
    #: its policy it is started on another host, with a new disk, and what is on the old one is given up. Default:
    #: `keep`.
    disk: MachineCreateRequestRestartDisk


class MachineCreateRequestCheck(TypedDict, total=False):
    #: HTTP: the host sends `GET` for this path to `port` of the guest. A status from 200 to 399 passes; a redirect is
    #: not followed. Needs `port`.
    path: str
    #: Of the guest. Without `path` it passes when the port takes a connection.
    port: int
    #: Shell command line that is run in the guest by `/bin/sh -c` as root. Exit status 0 passes. In the place of
    #: `path` and `port`.
    command: str
    #: From the beginning of one check to that of the next, from 1s to 1h. Default: `10s`.
    interval: str
    #: A check that has not passed by then has failed; from 100ms to 1m. Default: `5s`.
    timeout: str
    #: Failed checks in a row that make it `failing`. Default: `3`.
    failures: int
    #: From the start, until a first check has passed: failed checks do not count; at most 1h, `0s` for none. Default:
    #: `30s`.
    grace: str
    #: Stop the machine when it is `failing`, and start it again by its restart policy, as after a run that failed.
    #: With the policy `no` it goes on. Default: `false`.
    restart: bool


class MachineCreateRequestAutostop(TypedDict):
    #: How long nothing has to use it, from 10s to 24h. A use is a call into it, from its first byte to its last: a
    #: connection to a port, a command, a terminal, a file. A health check is none.
    idle: str


class MachineCreateRequest(TypedDict, total=False):
    #: Template name or id, such as `base`; `GET /v1/templates` lists them. Either this or `snapshot` is needed.
    template: str
    #: Id or name of a snapshot of a machine to begin at, in the place of a template. Template, size and disk are those
    #: of the snapshot, and so is the main process, which goes on, where there was one.
    snapshot: str
    #: Unique among the living of its kind in the organization; paths take it in the place of the id. It may not begin
    #: as an id does (`sbx_`, `mch_`).
    name: str
    #: A name from `GET /v1/sizes`. Default: `shared-cpu-1x`.
    size: SizeName
    #: Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.
    env: Dict[str, str]
    #: Secrets of the organization to have in the environment. Each start gives it their versions of that moment. Needs
    #: the scope `secrets:read` as well, because what runs in the VM reads them.
    secrets: List[MachineCreateRequestSecrets]
    #: Your own labels, name to value; lists can be filtered by them. At most 64, with 16 KiB together.
    metadata: Dict[str, str]
    egress: EgressRequest
    #: Shell command line of the main process, run by `/bin/sh -c` as root at each start. Its output goes to the
    #: console log, and its end is the machine's. Default: none; the machine runs until it is stopped.
    command: str
    restart: MachineCreateRequestRestart
    #: From SIGTERM to SIGKILL when it is stopped, at most 5m. Default: `10s`.
    stop_timeout: str
    #: A `port`, with a `path` or without one, or a `command`.
    check: MachineCreateRequestCheck
    #: Stop it, with its `stop_timeout`, when nothing has used it for so long.
    autostop: Optional[MachineCreateRequestAutostop]
    #: A request for one of its ports, and any other call into it, starts it again and waits for it, where `autostop`
    #: has stopped it. Default: `false`.
    autostart: bool


class MachineEnd(TypedDict):
    id: str
    ended_at: str
    #: `main_exited`: its main process ended. `start_failed`: its host could not start it. `host_lost`: its host was
    #: silent. `lost`: its host does not have it any more. `check_failed`: its health check failed, and it was stopped
    #: to be started again. `stopped`: its host stopped it.
    cause: MachineEndCause
    #: Of its main process, or 128 + the signal's number; null where it is not known.
    exit_code: Optional[int]
    #: The signal that ended its main process, for example `SIGKILL`.
    signal: Optional[str]
    #: Its main process was killed for want of memory.
    out_of_memory: bool
    #: The same in words, and whether it is given up.
    reason: str
    #: When it ran again, by its policy or by request; null where it has not.
    restarted_at: Optional[str]


class MachineEndList(TypedDict):
    items: List[MachineEnd]
    next_cursor: Optional[str]


class MachineForks(TypedDict):
    items: List[Machine]


class MachineListCounts(TypedDict):
    creating: int
    running: int
    stopping: int
    stopped: int
    starting: int
    failed: int
    destroying: int


class _MachineListRequired(TypedDict):
    items: List[Machine]
    next_cursor: Optional[str]


class MachineList(_MachineListRequired, total=False):
    #: Only with `counts=true`: how many there are of each status that pass all other filters. Those that are destroyed
    #: are not counted.
    counts: MachineListCounts


class MachineLogs(TypedDict):
    lines: List[str]


class MachineStartRequest(TypedDict, total=False):
    #: Start it with a new disk of its template, also where its own is lost or unreadable, or its host is away. What is
    #: on the old disk is given up: it is removed. Default: `false`.
    new_disk: bool


class MachineUpdateRequestRestart(TypedDict, total=False):
    #: Another policy brings its own default of `max_retries`, unless that is given.
    policy: MachineUpdateRequestRestartPolicy
    #: Restarts without ten healthy minutes in between, after which it is left as it is; null: without end. Default: 10
    #: with `on-failure`, null with `always`.
    max_retries: Optional[int]
    disk: MachineUpdateRequestRestartDisk


class MachineUpdateRequestCheck(TypedDict, total=False):
    #: HTTP: the host sends `GET` for this path to `port` of the guest. A status from 200 to 399 passes; a redirect is
    #: not followed. Needs `port`.
    path: str
    #: Of the guest. Without `path` it passes when the port takes a connection.
    port: int
    #: Shell command line that is run in the guest by `/bin/sh -c` as root. Exit status 0 passes. In the place of
    #: `path` and `port`.
    command: str
    #: From the beginning of one check to that of the next, from 1s to 1h. Default: `10s`.
    interval: str
    #: A check that has not passed by then has failed; from 100ms to 1m. Default: `5s`.
    timeout: str
    #: Failed checks in a row that make it `failing`. Default: `3`.
    failures: int
    #: From the start, until a first check has passed: failed checks do not count; at most 1h, `0s` for none. Default:
    #: `30s`.
    grace: str
    #: Stop the machine when it is `failing`, and start it again by its restart policy, as after a run that failed.
    #: With the policy `no` it goes on. Default: `false`.
    restart: bool


class MachineUpdateRequestAutostop(TypedDict):
    #: How long nothing has to use it, from 10s to 24h. A use is a call into it, from its first byte to its last: a
    #: connection to a port, a command, a terminal, a file. A health check is none.
    idle: str


class MachineUpdateRequest(TypedDict, total=False):
    #: Unique among the living of its kind in the organization; paths take it in the place of the id. It may not begin
    #: as an id does (`sbx_`, `mch_`).
    name: Optional[str]
    #: Labels to set, name to value. Null removes one; those that are left out stay.
    metadata: Dict[str, Optional[str]]
    #: Environment variables to set, name to value. Null removes one; those that are left out stay.
    env: Dict[str, Optional[str]]
    #: Shell command line of the main process. Null: none, and the machine runs until it is stopped.
    command: Optional[str]
    #: A name from `GET /v1/sizes`.
    size: SizeName
    #: What is left out stays as it is.
    restart: MachineUpdateRequestRestart
    #: From SIGTERM to SIGKILL when it is stopped, at most 5m.
    stop_timeout: str
    #: Takes the place of the whole check. Null removes it.
    check: Optional[MachineUpdateRequestCheck]
    #: Null: it is not stopped by itself.
    autostop: Optional[MachineUpdateRequestAutostop]
    #: A request for one of its ports, and any other call into it, starts it again and waits for it, where `autostop`
    #: has stopped it.
    autostart: bool
    #: Restart the machine where something is `pending` after the change, so that it takes effect. One that was stopped
    #: stays stopped. Default: `false`.
    restart_now: bool


class Me(TypedDict):
    user_id: str
    #: For people; need not be unique.
    name: str
    email: Optional[str]
    #: The one that this request is for.
    organization_id: str
    #: For people; need not be unique.
    organization_name: str
    #: Yours in this organization.
    role: Role
    token_id: str
    token_name: str
    #: What the token can really do here.
    scopes: List[Scope]
    expires_at: Optional[str]


class Member(TypedDict):
    user_id: str
    #: For people; need not be unique.
    name: str
    email: Optional[str]
    #: `viewer` reads, `member` also works with sandboxes, `admin` also manages members, `owner` also owners.
    role: Role
    created_at: str


class _MemberAddRequestRequired(TypedDict):
    #: The highest that you can give is your own.
    role: Role


class MemberAddRequest(_MemberAddRequestRequired, total=False):
    #: Of a new user. Either this or `user_id`.
    name: str
    #: Of a new user; for people, nothing is sent there.
    email: str
    #: A user who exists already. Either this or `name`.
    user_id: str
    #: When the first token ends where it is not used until then, at most 2160h. Its first use makes it a token like
    #: others, which lasts until it is revoked. Default: `168h`.
    expires_in: str


class MemberAdded(TypedDict):
    user_id: str
    #: For people; need not be unique.
    name: str
    email: Optional[str]
    #: `viewer` reads, `member` also works with sandboxes, `admin` also manages members, `owner` also owners.
    role: Role
    created_at: str
    token: TokenCreated


class MemberList(TypedDict):
    items: List[Member]
    next_cursor: Optional[str]


class MemberUpdateRequest(TypedDict):
    #: The highest that you can give is your own.
    role: Role


class Move(TypedDict):
    id: str
    #: The sandbox, the machine, or the snapshot whose files travel.
    vm_id: str
    from_host_id: str
    to_host_id: str
    #: `preparing`: its target makes room. `sending`: disk and memory are on their way, and it runs on at its source.
    #: `resuming`: it is its target's. `canceling`: its source goes on with it.
    status: MoveStatus
    status_since: str
    #: Why it was canceled, or failed.
    reason: Optional[str]
    #: 0 of what does not run: a paused sandbox, a snapshot.
    vcpus: int
    #: What the target keeps free for it.
    memory_mib: int
    created_at: str


class MoveList(TypedDict):
    items: List[Move]
    next_cursor: Optional[str]


class NoFields(TypedDict):
    pass


class OneOffRequest(TypedDict, total=False):
    #: A name from `GET /v1/sizes`. Default: `shared-cpu-1x`.
    size: SizeName


class Organization(TypedDict):
    id: str
    #: For people; need not be unique.
    name: str
    #: The egress mode of sandboxes whose request names neither a mode nor allowed CIDRs.
    egress_default: EgressMode
    #: Private networks that its sandboxes and machines may allow in `egress.allow_cidrs`. Only the operator grants
    #: them.
    allowed_private_cidrs: List[str]
    #: Whether its audit log keeps commands and paths of files; off by default. A command may hold secrets, which those
    #: who may read the log then see. It counts within seconds.
    audit_details: bool
    #: Yours in it.
    role: Role
    created_at: str


class _OrganizationCreateRequestRequired(TypedDict):
    #: For people; need not be unique.
    name: str


class OrganizationCreateRequest(_OrganizationCreateRequestRequired, total=False):
    #: The egress mode of sandboxes whose request names neither a mode nor allowed CIDRs. Default: `allow_all`.
    egress_default: EgressMode


class OrganizationLimitsRatesRead(TypedDict):
    #: Requests that every token may make in a minute, in the long run. All tokens of the organization together may
    #: make 2 times as many.
    per_minute: int
    #: How many of them it may make at once after a pause; all together 2 times as many.
    burst: int


class OrganizationLimitsRatesWrite(TypedDict):
    #: Requests that every token may make in a minute, in the long run. All tokens of the organization together may
    #: make 2 times as many.
    per_minute: int
    #: How many of them it may make at once after a pause; all together 2 times as many.
    burst: int


class OrganizationLimitsRatesExpensive(TypedDict):
    #: Requests that every token may make in a minute, in the long run. All tokens of the organization together may
    #: make 2 times as many.
    per_minute: int
    #: How many of them it may make at once after a pause; all together 2 times as many.
    burst: int


class OrganizationLimitsRates(TypedDict):
    read: OrganizationLimitsRatesRead
    write: OrganizationLimitsRatesWrite
    expensive: OrganizationLimitsRatesExpensive


class OrganizationLimitsQuotasSandboxes(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasMachines(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasVcpus(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasMemoryMib(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasDiskGib(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasPersistentDiskGib(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasSnapshots(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasSnapshotGib(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasBuilds(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasTemplateGib(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasTokens(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotasApps(TypedDict):
    limit: int
    #: May be over the limit where that was lowered.
    used: int


class OrganizationLimitsQuotas(TypedDict):
    sandboxes: OrganizationLimitsQuotasSandboxes
    machines: OrganizationLimitsQuotasMachines
    vcpus: OrganizationLimitsQuotasVcpus
    memory_mib: OrganizationLimitsQuotasMemoryMib
    disk_gib: OrganizationLimitsQuotasDiskGib
    persistent_disk_gib: OrganizationLimitsQuotasPersistentDiskGib
    snapshots: OrganizationLimitsQuotasSnapshots
    snapshot_gib: OrganizationLimitsQuotasSnapshotGib
    builds: OrganizationLimitsQuotasBuilds
    template_gib: OrganizationLimitsQuotasTemplateGib
    tokens: OrganizationLimitsQuotasTokens
    apps: OrganizationLimitsQuotasApps


class OrganizationLimitsExceptions(TypedDict, total=False):
    rate_read_per_minute: int
    rate_read_burst: int
    rate_write_per_minute: int
    rate_write_burst: int
    rate_expensive_per_minute: int
    rate_expensive_burst: int
    quota_sandboxes: int
    quota_machines: int
    quota_vcpus: int
    quota_memory_mib: int
    quota_disk_gib: int
    quota_persistent_disk_gib: int
    quota_snapshots: int
    quota_snapshot_gib: int
    quota_builds: int
    quota_template_gib: int
    quota_tokens: int
    quota_apps: int


class OrganizationLimits(TypedDict):
    organization_id: str
    rates: OrganizationLimitsRates
    quotas: OrganizationLimitsQuotas
    #: What the operator has set for this organization; everything else is the installation's.
    exceptions: OrganizationLimitsExceptions


class OrganizationList(TypedDict):
    items: List[Organization]
    next_cursor: Optional[str]


class OrganizationUpdateRequest(TypedDict, total=False):
    #: For people; need not be unique.
    name: str
    #: The egress mode of sandboxes whose request names neither a mode nor allowed CIDRs.
    egress_default: EgressMode
    #: Whether its audit log keeps commands and paths of files; off by default. A command may hold secrets, which those
    #: who may read the log then see. It counts within seconds.
    audit_details: bool


class Port(TypedDict):
    port: int
    #: Whether requests to it need no token.
    public: bool
    listening: bool
    #: Where it listens. Only 127.0.0.1, ::1, 0.0.0.0 and :: are reached from outside.
    addresses: List[str]
    #: The program that listens; null where it is not known.
    process: Optional[str]


class PortAccess(TypedDict):
    port: int
    public: bool


class PortAccessRequest(TypedDict):
    #: True: everybody who knows the id may send requests to the port. False: a token or a signed URL is needed.
    public: bool


class PortList(TypedDict):
    #: Those that something listens on, and those that are public.
    items: List[Port]
    #: More than 1024 listen.
    truncated: bool


class RegistryCredential(TypedDict):
    host: str
    username: str
    #: The user who set it.
    set_by: Optional[str]
    set_at: str


class RegistryCredentialList(TypedDict):
    items: List[RegistryCredential]


class RegistryCredentialRequest(TypedDict):
    username: str
    #: Or a token that the registry takes as one. No answer of the API has it.
    password: str


class ReleaseManifestProcessesValue(TypedDict, total=False):
    #: Shell command line of the main process. Default: that of the image that the template was made of; without one
    #: the instance runs what its template has running.
    command: str
    #: A name from `GET /v1/sizes`. Default: `shared-cpu-1x`.
    size: SizeName


class ReleaseManifestServicesCheck(TypedDict, total=False):
    #: HTTP: the host sends `GET` for this path to `port` of the guest. A status from 200 to 399 passes; a redirect is
    #: not followed. Needs `port`.
    path: str
    #: Of the guest. Without `path` it passes when the port takes a connection.
    port: int
    #: Shell command line that is run in the guest by `/bin/sh -c` as root. Exit status 0 passes. In the place of
    #: `path` and `port`.
    command: str
    #: From the beginning of one check to that of the next, from 1s to 1h. Default: `10s`.
    interval: str
    #: A check that has not passed by then has failed; from 100ms to 1m. Default: `5s`.
    timeout: str
    #: Failed checks in a row that make it `failing`. Default: `3`.
    failures: int
    #: From the start, until a first check has passed: failed checks do not count; at most 1h, `0s` for none. Default:
    #: `30s`.
    grace: str
    #: Stop the machine when it is `failing`, and start it again by its restart policy, as after a run that failed.
    #: With the policy `no` it goes on. Default: `false`.
    restart: bool


class _ReleaseManifestServicesRequired(TypedDict):
    group: str
    port: int


class ReleaseManifestServices(_ReleaseManifestServicesRequired, total=False):
    #: How its server is spoken to. `h2`: HTTP/2 without TLS, as gRPC has it. `tcp`: connections come as they are, on a
    #: port of hosts that the app keeps; routes do not lead to it. Default: `http`.
    protocol: ReleaseManifestServicesProtocol
    #: When an instance gets requests, and goes on getting them. Default: `GET /`; with `h2` and `tcp`, that the port
    #: takes connections. Its `port` is that of the service, its `interval` 2s, and its `grace` 2m, unless they are
    #: given.
    check: ReleaseManifestServicesCheck


class ReleaseManifestCanary(TypedDict, total=False):
    #: Part of each group's instances, rounded up. Default: `10`.
    percent: int
    #: How long they serve beside the release before, shorter than `timeout`. Default: `1m`.
    hold: str


class ReleaseManifest(TypedDict, total=False):
    #: Groups of instances that are alike, by name. Default: `web` alone.
    processes: Dict[str, ReleaseManifestProcessesValue]
    #: Groups that take requests, at most one port of each. The first one that speaks HTTP has the app's address.
    #: Default: none.
    services: List[ReleaseManifestServices]
    #: Shell command line that runs once for each deploy, in a microVM of its own with the release's environment,
    #: before an instance is started. The deploy fails where it does not exit with 0. Null: none.
    release_command: Optional[str]
    #: `rolling`: one instance more than the scale at a time. `bluegreen`: all instances of the release serve at once,
    #: when all are well. `canary`: a part of them serves beside all of the release before for a while, and then as
    #: `rolling`. `immediate`: all serve as soon as they run, also where a check fails. Default: `rolling`.
    strategy: ReleaseManifestStrategy
    #: Of the strategy `canary`. The deploy fails where one of them ends or fails its check.
    canary: ReleaseManifestCanary
    #: How long an instance that is replaced may go on with requests that it has, at most 1h. Default: `30s`.
    drain_timeout: str
    #: How long after it is live the release before is deployed again, where an instance ends or fails its check; at
    #: most 1h, `0s` for not at all. Default: `1m`.
    watch: str
    #: How long the whole deploy may take, at most 1h. Default: `5m`.
    timeout: str


class Release(TypedDict):
    number: int
    #: Id of the template's version, or the name of a built-in one. Null: it was never built to its end.
    template: Optional[str]
    #: Names of the environment's variables.
    variables: List[str]
    #: Names of the secrets that instances get.
    secrets: List[str]
    manifest: ReleaseManifest
    #: The user who deployed it.
    created_by: Optional[str]
    created_at: str


class ReleaseList(TypedDict):
    items: List[Release]
    next_cursor: Optional[str]


class ResourceEvent(TypedDict):
    kind: ResourceEventKind
    #: Of the resource; the name of a background service.
    id: str
    #: Of the resource: it grows with each change of its state. One that is lower than what is known already is old.
    version: int
    #: Its newest state, as its own GET answers it. Null: that answers 404 now.
    resource: Optional[Dict[str, object]]


class ResourceEventPage(TypedDict):
    #: In the order of the changes; each resource at most once.
    items: List[ResourceEvent]
    #: What to ask for next, as `after`.
    cursor: str
    #: There are more by now.
    more: bool
    #: Not null: `after` cannot be gone on from, for this reason. List what is shown anew, then go on from `cursor`.
    reset: Optional[ResourceEventPageReset]


class RollbackRequest(TypedDict):
    #: Id or name of a snapshot of the same template and size; of a machine also with the same main process.
    snapshot: str


class Route(TypedDict):
    id: str
    app_id: str
    #: Null: another organization's app has the name.
    host: Optional[str]
    #: Whole segments of the path, at most 4. The longest that fits counts.
    path_prefix: str
    group: str
    port: Optional[int]
    strip_prefix: bool
    sticky: bool
    rate_limit: Optional[int]
    concurrency: Optional[int]
    created_at: str


class _RouteCreateRequestRequired(TypedDict):
    #: A group that has a service; until it has, the route leads nowhere.
    group: str


class RouteCreateRequest(_RouteCreateRequestRequired, total=False):
    #: The app's own name, or one below it, such as `api.shop.localhost`. Default: its own.
    host: str
    #: Whole segments of the path, at most 4. The longest that fits counts. Default: `/`.
    path_prefix: str
    #: Port of the group's instances. Default: that of its service, whose check counts for it too.
    port: int
    #: Instances get the path without the prefix. Default: `false`.
    strip_prefix: bool
    #: Requests of one client go to one instance while that serves, by the cookie `skerry_instance`. Default: `false`.
    sticky: bool
    #: Requests in a second of each client's address on one host; more are answered 429.
    rate_limit: int
    #: Requests that one instance works on at once; the others wait for ten seconds at most.
    concurrency: int


class RouteList(TypedDict):
    items: List[Route]
    next_cursor: Optional[str]


class SandboxInfoOwner(TypedDict):
    #: Such as `app`.
    kind: str
    id: str
    name: Optional[str]


_SandboxInfoSecretsReserved = TypedDict("_SandboxInfoSecretsReserved", {"as": str})


class _SandboxInfoSecretsNamed(TypedDict):
    #: Name of the secret.
    name: str
    #: The version that it was given last; null: the secret is deleted.
    version: Optional[int]
    given_at: Optional[str]


class SandboxInfoSecrets(_SandboxInfoSecretsNamed, _SandboxInfoSecretsReserved):
    pass


class SandboxInfoWaitsFor(TypedDict):
    #: `template`: an image that a host makes. `host`: an answer of a host. `place`: free memory, CPUs or a turn.
    #: `context`: the context of a build. `attempt`: the time of the next attempt.
    kind: SandboxInfoWaitsForKind
    #: Id of the template or the host.
    id: Optional[str]
    #: Name of the template.
    name: Optional[str]
    #: A sentence for people, with what happened to it.
    reason: str
    since: str


class SandboxInfo(TypedDict):
    id: str
    name: Optional[str]
    #: The resource that it belongs to, which makes and ends it: calls that would take it away answer `owned`. Null: it
    #: was created by a call of its own.
    owner: Optional[SandboxInfoOwner]
    #: Name of the template.
    template: str
    #: `ephemeral`: destroyed when its timeout expires. `persistent`: paused then, with its memory and its disk, and
    #: resumed by the next call into it.
    mode: SandboxInfoMode
    size: SizeName
    status: SandboxInfoStatus
    #: As it was created with. A keepalive moves `expires_at` and leaves this as it is; without a timeout of its own it
    #: is for this long.
    timeout: str
    #: It is paused when nothing has used it for so long.
    pause_after_idle: Optional[str]
    #: A call into it resumes it while it is paused.
    auto_resume: bool
    #: Environment variables, name to value. Null: the caller may not execute there and so does not see it, or it was
    #: erased because the destruction has begun.
    env: Dict[str, Optional[str]]
    #: Secrets in its environment, without their values.
    secrets: List[SandboxInfoSecrets]
    #: Your own labels, name to value; lists can be filtered by them. At most 64, with 16 KiB together.
    metadata: Dict[str, str]
    egress: Egress
    host_id: Optional[str]
    #: The snapshot that it comes from, or that was taken of it last. It may be deleted.
    snapshot_id: Optional[str]
    created_at: str
    started_at: Optional[str]
    #: When it is destroyed, or where it is persistent paused; a keepalive moves it. Of a paused one it is past, and
    #: resuming sets it anew.
    expires_at: str
    #: Since when it is paused; null where it is not.
    paused_at: Optional[str]
    destroyed_at: Optional[str]
    #: What keeps it from what was asked for last; null: nothing does.
    waits_for: Optional[SandboxInfoWaitsFor]
    #: Why it is unreachable, failed or destroyed, or why it could not be paused and runs on. An unreachable one may
    #: come back with its host.
    reason: Optional[str]


_SandboxCreateRequestSecretsReserved = TypedDict("_SandboxCreateRequestSecretsReserved", {"as": str}, total=False)


class _SandboxCreateRequestSecretsNamed(TypedDict):
    #: Name of the secret.
    name: str


class SandboxCreateRequestSecrets(_SandboxCreateRequestSecretsNamed, _SandboxCreateRequestSecretsReserved):
    pass


class SandboxCreateRequest(TypedDict, total=False):
    #: Template name or id, such as `base`; `GET /v1/templates` lists them. Either this or `snapshot` is needed.
    template: str
    #: Id or name of a snapshot to begin at, in the place of a template. Template and size are those of the snapshot.
    snapshot: str
    #: Unique among the living of its kind in the organization; paths take it in the place of the id. It may not begin
    #: as an id does (`sbx_`, `mch_`).
    name: str
    #: `ephemeral`: destroyed when its timeout expires. `persistent`: paused then, with its memory and its disk, and
    #: resumed by the next call into it.
    mode: SandboxCreateRequestMode
    #: Time until it is destroyed, or where it is persistent paused; at most 24h. It begins anew when the sandbox is
    #: resumed. Default: `5m`.
    timeout: str
    #: Only of a persistent one: it is paused when nothing has used it for so long, at least 10s and at most 24h. A
    #: call into it, a stream, a terminal, a connection to a port and an execution that runs are uses; what only runs
    #: in the background is none. Without it only the timeout pauses it.
    pause_after_idle: str
    #: Whether a call into it resumes it while it is paused; otherwise only `resume` does. Default: `true`.
    auto_resume: bool
    #: A name from `GET /v1/sizes`. Default: `shared-cpu-1x`.
    size: SizeName
    #: Environment variables, name to value. A name is not empty and holds neither `=` nor NUL.
    env: Dict[str, str]
    #: Secrets of the organization to have in the environment. Each start gives it their versions of that moment. Needs
    #: the scope `secrets:read` as well, because what runs in the VM reads them.
    secrets: List[SandboxCreateRequestSecrets]
    #: Your own labels, name to value; lists can be filtered by them. At most 64, with 16 KiB together.
    metadata: Dict[str, str]
    egress: EgressRequest


class SandboxForks(TypedDict):
    items: List[SandboxInfo]


class SandboxListCounts(TypedDict):
    creating: int
    running: int
    pausing: int
    paused: int
    resuming: int
    unreachable: int
    failed: int
    destroying: int


class _SandboxListRequired(TypedDict):
    items: List[SandboxInfo]
    next_cursor: Optional[str]


class SandboxList(_SandboxListRequired, total=False):
    #: Only with `counts=true`: how many there are of each status that pass all other filters. Those that are destroyed
    #: are not counted.
    counts: SandboxListCounts


class SandboxUpdateRequest(TypedDict, total=False):
    #: Unique among the living of its kind in the organization; paths take it in the place of the id. It may not begin
    #: as an id does (`sbx_`, `mch_`).
    name: Optional[str]
    #: Labels to set, name to value. Null removes one; those that are left out stay.
    metadata: Dict[str, Optional[str]]
    #: Only of a persistent one: it is paused when nothing has used it for so long, at least 10s and at most 24h. Null:
    #: only its timeout pauses it.
    pause_after_idle: Optional[str]
    #: Whether a call into it resumes it while it is paused; otherwise only `resume` does.
    auto_resume: bool


class Secret(TypedDict):
    name: str
    version: int
    #: 16 hexadecimal digits that are the same for the same value, within the organization: the beginning of an HMAC
    #: under a key of it.
    digest: str
    #: The user who set it.
    set_by: Optional[str]
    set_at: str


class SecretDeleted(TypedDict):
    name: str
    #: Ids of sandboxes and machines whose environment has it until they end or start again.
    still_in: List[str]


class SecretHistory(TypedDict):
    name: str
    version: int
    #: 16 hexadecimal digits that are the same for the same value, within the organization: the beginning of an HMAC
    #: under a key of it.
    digest: str
    #: The user who set it.
    set_by: Optional[str]
    set_at: str
    #: Newest first. Those before the last ten are forgotten.
    versions: List[SecretVersion]


class SecretList(TypedDict):
    items: List[Secret]


class SecretRollbackRequest(TypedDict):
    #: Its value becomes that of a new version.
    version: int


class SecretSetRequest(TypedDict):
    #: Text of at most 64 KiB in UTF-8, without a NUL. No answer of the API has it.
    value: str


class SecretVersion(TypedDict):
    version: int
    #: 16 hexadecimal digits that are the same for the same value, within the organization: the beginning of an HMAC
    #: under a key of it.
    digest: str
    #: The user who set it.
    set_by: Optional[str]
    set_at: str
    #: The version whose value it has by a rollback; null: it was set.
    rolled_back_to: Optional[int]


class SessionCreateRequest(TypedDict, total=False):
    #: An API token, `sk_…`. This, or `code`.
    token: str
    #: What `POST /v1/auth/login-codes` has answered. This, or `token`.
    code: str


class SignedUrl(TypedDict):
    #: Needs no token. It is a secret: who has it has what it opens. It has the port's own name where the server gives
    #: ports names.
    url: str
    expires_at: str


class SignedUrlRequest(TypedDict, total=False):
    #: The URL opens this port, with all its paths.
    port: int
    #: The URL reads or writes the file at this absolute path.
    path: str
    #: Of a file: whether it is read or written. Default: `GET`.
    method: SignedUrlRequestMethod
    #: Of a file that is written: its permissions, octal. Who has the URL cannot choose others. Without it a file that
    #: is there keeps its own, and a new one has `0644`.
    mode: str
    #: How long the URL is valid, at most 168h. Default: `1h`.
    expires_in: str


class Size(TypedDict):
    name: SizeName
    vcpus: int
    memory_mib: int
    cpu: SizeCpu


class SizeList(TypedDict):
    items: List[Size]


class SnapshotRunsOn(TypedDict):
    accelerator: SnapshotRunsOnAccelerator
    qemu_version: str
    #: Which CPU a guest sees, in a form that can be compared.
    cpu: str
    tsc_khz: Optional[int]


class Snapshot(TypedDict):
    id: str
    name: Optional[str]
    status: SnapshotStatus
    #: The sandbox that it was taken of; null where it is of a machine.
    sandbox_id: Optional[str]
    #: The machine that it was taken of; null where it is of a sandbox.
    machine_id: Optional[str]
    #: The snapshot that its sandbox or machine had come from, or that was taken of it before. It may be deleted.
    parent_id: Optional[str]
    #: Of a machine's main process, which goes on in machines that begin here; null where there was none.
    command: Optional[str]
    #: Its sandbox or machine had secrets, which its memory may hold. No template is built on it.
    contains_secrets: bool
    #: Name of the template.
    template: str
    size: SizeName
    #: Memory that differs from the template's. Null until it is ready.
    memory_bytes: Optional[int]
    #: Disk that differs from the template's.
    disk_bytes: Optional[int]
    #: The host that has its files.
    host_id: str
    runs_on: Optional[SnapshotRunsOn]
    created_at: str
    #: Why it failed, or why nothing can begin at it now.
    reason: Optional[str]


class SnapshotCreateRequest(TypedDict, total=False):
    #: Unique among the snapshots of the organization; paths take it in the place of the id. It may not begin as an id
    #: does (`snp_`).
    name: str


class SnapshotList(TypedDict):
    items: List[Snapshot]
    next_cursor: Optional[str]


class StatusSandboxes(TypedDict):
    creating: int
    running: int
    pausing: int
    paused: int
    resuming: int
    unreachable: int
    failed: int
    destroying: int


class StatusHosts(TypedDict):
    online: int
    offline: int
    draining: int
    maintenance: int


class Status(TypedDict):
    apps: int
    machines: int
    databases: int
    #: Those of the organization that are not destroyed, by status.
    sandboxes: StatusSandboxes
    #: All hosts of the platform, by status. One that was silent for 30 s counts as offline.
    hosts: StatusHosts
    #: When `skerry backup` last wrote one. Null: never, or the token may not read hosts.
    last_backup: Optional[str]


class TemplateFailure(TypedDict):
    reason: str
    #: The last lines that its making printed.
    last_lines: List[str]
    failed_at: str
    #: When its host tries again by itself; null: it is trying.
    next_attempt: Optional[str]


class TemplateWaitsFor(TypedDict):
    #: `template`: an image that a host makes. `host`: an answer of a host. `place`: free memory, CPUs or a turn.
    #: `context`: the context of a build. `attempt`: the time of the next attempt.
    kind: TemplateWaitsForKind
    #: Id of the template or the host.
    id: Optional[str]
    #: Name of the template.
    name: Optional[str]
    #: A sentence for people, with what happened to it.
    reason: str
    since: str


class TemplateSource(TypedDict):
    #: The reference that was asked for, or `archive` where one was uploaded.
    image: str
    #: Of its manifest: what the tag meant.
    digest: str


class Template(TypedDict):
    #: The same description always has the same id.
    id: str
    name: str
    description: str
    disk_gib: int
    #: `on_demand`: it is built when a VM of it is first asked for.
    status: TemplateStatus
    #: The last attempt at its image, where that failed and none has succeeded since.
    failure: Optional[TemplateFailure]
    #: When the making of its image began; null: it is not being made, or waits for its turn.
    building_since: Optional[str]
    #: How far the making of its image is, in words.
    progress: Optional[str]
    #: What holds up the making of its image; null: nothing does, or it is not asked for.
    waits_for: Optional[TemplateWaitsFor]
    #: What finds this version after its name and a colon; a name alone means `latest`.
    tags: List[str]
    #: Of its layers and what holds for it beside its files; `NAME@DIGEST` finds it, whatever its tags are. Null of
    #: what is built in.
    digest: Optional[str]
    #: What its files take. Null of what is built in.
    bytes: Optional[int]
    #: What the memory of the sizes takes that sandboxes wake from. It counts as `quota_template_gib` with the files.
    #: Null of what is built in.
    frozen_bytes: Optional[int]
    #: Who commands run as; null for root.
    user: Optional[str]
    #: Where commands begin; null for the default.
    workdir: Optional[str]
    #: The image that it was made of; null where it was made of none.
    source: Optional[TemplateSource]
    #: The build that made it. Null of what is built in.
    build_id: Optional[str]
    #: Null of what is built in.
    created_at: Optional[str]


class TemplateList(TypedDict):
    items: List[Template]


class _TemplatePushRequestRequired(TypedDict):
    #: The reference that it gets, such as `registry.example.com/team/web:42`. A reference without a tag means
    #: `latest`.
    image: str


class TemplatePushRequest(_TemplatePushRequestRequired, total=False):
    #: Of the microVM that makes the image. Default: `shared-cpu-4x`.
    size: SizeName
    egress: EgressRequest
    #: Of the whole push. Default: `30m`, at most `2h`.
    timeout: str


class TemplateTagRequest(TypedDict):
    #: The version that the tag is to mean: its id, or `NAME:TAG`.
    template: str


class Token(TypedDict):
    id: str
    name: str
    #: Whose token it is.
    user_id: str
    #: Where it works without `X-Org-ID`.
    organization_id: str
    #: The token of this organization that minted it, and with which it ends; null where there is none.
    parent_id: Optional[str]
    #: What the token may do, as far as its user may. `*`: everything.
    scopes: List[Scope]
    #: It works in this organization only, also with `X-Org-ID`.
    bound: bool
    created_at: str
    expires_at: Optional[str]
    last_used_at: Optional[str]


class TokenCreateRequest(TypedDict, total=False):
    #: Default: `token`.
    name: str
    #: Lifetime. Default: until revoked.
    expires_in: str
    #: Default: those of the token that asks, which are also the most that it can give.
    scopes: List[Scope]
    #: Whose it will be: a member of the organization. Default: the caller.
    user_id: str
    #: Whether it works in this organization only. Default: as the token that asks.
    bound: bool


class TokenCreated(TypedDict):
    id: str
    name: str
    #: Whose token it is.
    user_id: str
    #: Where it works without `X-Org-ID`.
    organization_id: str
    #: The token of this organization that minted it, and with which it ends; null where there is none.
    parent_id: Optional[str]
    #: What the token may do, as far as its user may. `*`: everything.
    scopes: List[Scope]
    #: It works in this organization only, also with `X-Org-ID`.
    bound: bool
    created_at: str
    expires_at: Optional[str]
    last_used_at: Optional[str]
    #: The secret, `sk_…`. It is shown this once.
    token: str


class TokenList(TypedDict):
    items: List[Token]
    next_cursor: Optional[str]


class Usage(TypedDict):
    #: A duration such as `30s`, `10m`, `24h` or `1h30m`.
    step: str
    #: Oldest first. A step in which nothing was measured, because no control plane ran, is missing.
    items: List[UsagePoint]


class UsagePoint(TypedDict):
    #: Begin of the step.
    at: str
    #: Most sandboxes at once, as they count for the quota.
    sandboxes: int
    #: Most machines at once, as they count for the quota.
    machines: int
    #: Most vCPUs at once, of what runs.
    vcpus: int
    #: Most memory at once, of what runs, in MiB.
    memory_mib: int
    #: Most disk at once, also of what is stopped or paused, in GiB.
    disk_gib: int
    #: Sandboxes and machines made in the step.
    created: int
    #: Packets that egress rules refused in the step, of all sandboxes and machines. It is known within a minute.
    #: Connections that were refused by name are in the egress report of the sandbox alone, and what was refused just
    #: before a host process died is missing.
    denied: int


class VmEvent(TypedDict):
    id: str
    #: `denied`: its egress rules have refused packets. `injected`: its requests got a secret on their way.
    #: `out_of_memory`: a program in it was killed for want of memory. `unreachable`: its host is silent. `returned`:
    #: its host has come back with it. `updated`: it was changed by request.
    kind: VmEventKind
    #: Why it was, or what it was about.
    reason: Optional[str]
    at: str
    #: How many equal ones this stands for: packets of `denied`, requests of `injected`, programs of `out_of_memory`.
    count: int
    #: When the last of them was.
    last_at: str


class VmEventList(TypedDict):
    items: List[VmEvent]
    next_cursor: Optional[str]


class VmMetrics(TypedDict):
    #: A duration such as `30s`, `10m`, `24h` or `1h30m`.
    step: str
    #: Oldest first. A step in which nothing was measured, as while it was paused, is missing.
    items: List[VmMetricsPoint]
    #: Samples that the host cannot read any more.
    damaged: int


class VmMetricsPoint(TypedDict):
    #: Begin of the step.
    at: str
    #: CPU time used in the step, with the work for its devices.
    cpu_seconds: float
    #: Most memory of the host that it had for itself. What it shares with others of its template is not in it.
    memory_bytes: int
    #: What its own layer of the disk takes on the host, at the end of the step.
    disk_bytes: int
    #: Read from disks of the host in the step.
    disk_read_bytes: int
    #: Written to disks of the host in the step.
    disk_written_bytes: int
    #: Received by the guest in the step.
    network_received_bytes: int
    #: Sent by the guest in the step.
    network_sent_bytes: int
