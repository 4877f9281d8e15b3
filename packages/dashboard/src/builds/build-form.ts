// From what the form of a build holds to its request, and from the request to its command line. Pure.

import type { BuildRequest } from "@skerry/sdk";
import { command } from "../ui/copy-as.tsx";
import type { Given } from "../ui/form.tsx";

export type BuildWay = "steps" | "image" | "repository";

export function bodyOf({
  steps = "",
  start,
  ready_port,
  ready_http,
  dockerfile,
  ...flat
}: Given): BuildRequest {
  const commands = commandsOf(steps);
  const ready = {
    ...(ready_port !== undefined && { port: Number(ready_port) }),
    ...(ready_http !== undefined && { http: ready_http }),
  };
  const begun = {
    ...(start !== undefined && { command: start }),
    ...(Object.keys(ready).length > 0 && { ready }),
  };
  return {
    ...flat,
    ...(commands.length > 0 && { steps: commands.map((run) => ({ run })) }),
    ...(dockerfile !== undefined && { dockerfile: { path: dockerfile } }),
    // What is missing of it, the server says.
    ...(Object.keys(begun).length > 0 && { start: begun }),
  } as BuildRequest;
}

/** One on each line, but for lines that end with a backslash, which the shell joins with the next. */
function commandsOf(text: string): readonly string[] {
  return text
    .split(/(?<!\\)\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Without a command line where there is none: without steps, image and repository it would read a folder. */
export function commandOf(request: BuildRequest): string | undefined {
  const { name, tag, from, image, git, dockerfile, steps = [], start, size, timeout } = request;
  if (image === undefined && git === undefined && steps.length === 0) return undefined;
  const flags = {
    ...{ name, tag, from, image, git, dockerfile: dockerfile?.path, start: start?.command },
    ...{ "ready-port": start?.ready?.port, "ready-http": start?.ready?.http, size, timeout },
  };
  return command(
    "skerry template build",
    ...Object.entries(flags).flatMap(([flag, value]) =>
      value === undefined ? [] : [`--${flag}`, String(value)],
    ),
    ...steps.flatMap(({ run }) => (run === undefined ? [] : ["--run", run])),
  );
}

/** The form's field that has what a field of the request says, such as `start.ready.port`. */
export function fieldOf(path: string): string {
  const [first = "", second, third] = path.split(/[.[]/);
  return first === "start" && second === "ready" ? `ready_${third ?? "port"}` : first;
}
