// The host of this machine, past control: through its socket, which is for root and control.

import { request } from "node:http";
import { errorFromBody } from "@skerry/contract/errors";
import { CliError } from "../../errors/errors.ts";
import type { Layout } from "./layout.ts";

const DEADLINE_MS = 3_000;
/** The host may be busy with a VM. */
const COMMAND_DEADLINE_MS = 15_000;

interface Call {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly body?: unknown;
  readonly deadlineMs: number;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** "denied": a host may be there, but the socket is not for us. */
export async function askHost<T>(layout: Layout, path: string): Promise<T | "silent" | "denied"> {
  const answer = await call(layout, { method: "GET", path, deadlineMs: DEADLINE_MS });
  if (typeof answer === "string") return answer;
  // The host checks what it answers.
  return answer.status === 200 ? (answer.body as T) : "silent";
}

/** Throws what the host refuses with. */
export async function commandHost<T>(
  layout: Layout,
  command: { readonly method: "POST" | "PUT"; readonly path: string; readonly body?: unknown },
): Promise<T> {
  const answer = await call(layout, { ...command, deadlineMs: COMMAND_DEADLINE_MS });
  if (typeof answer === "string") {
    throw new CliError("host_unavailable", "The host of this machine does not answer.", {
      remediation: `Its log is ${layout.logs}/host.log.`,
    });
  }
  if (answer.status < 300) return answer.body as T;
  const { code, message, remediation } = errorFromBody(answer.body, `The host answered ${answer.status}.`);
  throw new CliError(code, message, remediation === undefined ? {} : { remediation });
}

function call(
  layout: Layout,
  { method, path, body, deadlineMs }: Call,
): Promise<Answer | "silent" | "denied"> {
  return new Promise((resolve) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const sent = request(
      { socketPath: layout.hostSocket, method, path, headers, timeout: deadlineMs },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.once("end", () => resolve({ status: response.statusCode ?? 0, body: parse(text) }));
        response.once("error", () => resolve("silent"));
      },
    );
    sent.once("timeout", () => sent.destroy());
    sent.once("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code === "EACCES" ? "denied" : "silent"),
    );
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
