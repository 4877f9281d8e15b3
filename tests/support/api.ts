// The REST API as its document has it, for tests that look at statuses, codes and fields rather than at the client library.

import { expect } from "vitest";
import type { ExecuteRequest, ExecuteResponse } from "@skerry/contract/vms/execute";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import type { ErrorBody } from "@skerry/contract/errors";
import { call, type Platform } from "./platform.ts";

export type Api = Pick<Platform, "apiUrl" | "token">;

/** Runs a command by one plain POST, as curl would, and expects it to have run. */
export async function execute(
  api: Api,
  id: string,
  request: ExecuteRequest,
  init: { readonly query?: string; readonly signal?: AbortSignal } = {},
): Promise<ExecuteResponse> {
  const response = await call(api, "POST", `/v1/sandboxes/${id}/execute${init.query ?? ""}`, {
    body: request,
    ...(init.signal === undefined ? {} : { signal: init.signal }),
  });
  const text = await response.text();
  expect(response.status, text.slice(0, 1_000)).toBe(200);
  return JSON.parse(text) as ExecuteResponse;
}

/** Standard output of a command that must succeed, without its last line break. */
export async function outputOf(api: Api, id: string, command: string, timeout = "60s"): Promise<string> {
  const run = await execute(api, id, { command, timeout });
  expect(run, command).toMatchObject({ exit_code: 0, timed_out: false });
  return run.stdout.replace(/\n$/, "");
}

/** A sandbox made by one plain POST. Whoever makes it destroys it. */
export async function createSandbox(api: Api, body: object = { template: "base" }): Promise<Sandbox> {
  const response = await call(api, "POST", "/v1/sandboxes", { body });
  const answer = (await response.json()) as Sandbox;
  expect(response.status, JSON.stringify(answer)).toBe(201);
  return answer;
}

export async function getSandbox(api: Api, id: string): Promise<Sandbox> {
  return (await (await call(api, "GET", `/v1/sandboxes/${id}`)).json()) as Sandbox;
}

export async function destroySandbox(api: Api, id: string): Promise<void> {
  const response = await call(api, "DELETE", `/v1/sandboxes/${id}`);
  expect(response.status).toBe(204);
}

/** Expects this refusal, in the one shape that every error has. */
export async function refusal(answer: Promise<Response>, status: number, code: string): Promise<ErrorBody> {
  const response = await answer;
  const text = await response.text();
  expect({ status: response.status, body: text.slice(0, 1_000) }).toMatchObject({ status });
  const body = JSON.parse(text) as ErrorBody;
  expect(body).toMatchObject({ code });
  expect(body.message).toMatch(/^\S.*\.$/);
  expect(body.request_id).toBe(response.headers.get("x-request-id"));
  return body;
}

/** The URL of a file in a sandbox; each part of the absolute path is percent-encoded. */
export function fileUrl(id: string, path: string, query = ""): string {
  return `/v1/sandboxes/${id}/files/${path.slice(1).split("/").map(encodeURIComponent).join("/")}${query}`;
}
