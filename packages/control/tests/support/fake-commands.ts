// Commands in the VMs of a fake host, and their output.

import type { ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import { FRAMES_CONTENT_TYPE } from "@skerry/contract/host-api/vm";
import type { ExecuteCommand } from "@skerry/contract/host-api/vm";
import type { ExecuteExit } from "@skerry/contract/vms/execute";
import type { FakeHostState } from "./fake-host-state.ts";
import { readCommand, type HostCall } from "./fake-http.ts";

const STREAM = 1;

export const cleanExit: ExecuteExit = {
  exit_code: 0,
  duration_ms: 3,
  timed_out: false,
  signal: null,
  oom_killed: false,
  truncated: false,
  usage: { cpu_ms: 1, memory_peak_bytes: 4096 },
};

interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
  /** Commands that have printed everything and wait. */
  waiting: number;
}

const gates = new Map<string, Gate>();

/** What a command `hold BYTES NAME` waits for after its output. Each test names its own. */
export function gateOf(name: string): Gate {
  const known = gates.get(name);
  if (known !== undefined) return known;
  const { promise, resolve } = Promise.withResolvers<void>();
  const gate = { opened: promise, open: resolve, waiting: 0 };
  gates.set(name, gate);
  return gate;
}

/** What the contexts of builds hold, by their paths. */
export const contextDigests = new Map<string, string>();

/** Undefined: the call runs no command. */
export function serveCommands(host: FakeHostState, call: HostCall): Promise<void> | undefined {
  return call.what === "POST execute" ? execute(host, call) : undefined;
}

async function execute(host: FakeHostState, { id, request, response }: HostCall): Promise<void> {
  host.require(id);
  const command = await readCommand(request, host.passesInput);
  host.commands.push(command);
  await host.beforeExecute();
  host.fail("execute");
  // It ends without having read anything.
  if (command.command !== "deaf") host.inputs.push(await buffer(request));
  if (command.env["DIGEST_PATHS"] !== undefined) return playDigests(command.env, response);
  await playCommand(command.command, response);
}

function playDigests(env: ExecuteCommand["env"], response: ServerResponse): void {
  const paths = Array.from(
    { length: Number(env["DIGEST_PATHS"]) },
    (_, index) => env[`DIGEST_PATH_${index}`],
  );
  const lines = paths.map((path = "") => `${contextDigests.get(path) ?? "-"}\n`);
  response.write(encodeFrame(frameTypes.data, STREAM, Buffer.from(lines.join(""))));
  response.end(encodeJson(frameTypes.close, STREAM, cleanExit));
}

/** Understands a handful of commands by name; everything else is echoed on stdout. */
async function playCommand(command: string, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": FRAMES_CONTENT_TYPE });
  const send = async (bytes: Buffer) => {
    if (!response.write(bytes)) await drained(response);
  };
  const [name = "", argument, gateName = ""] = command.split(" ");
  switch (name) {
    case "forever":
      response.flushHeaders();
      return;
    case "flood":
      await print(response, Number(argument), 0x61);
      break;
    case "hold":
      response.flushHeaders();
      await print(response, Number(argument), 0);
      gateOf(gateName).waiting += 1;
      await gateOf(gateName).opened;
      break;
    case "binary":
      await send(encodeFrame(frameTypes.data, STREAM, Buffer.from([0x66, 0xff, 0x00, 0xc3])));
      await send(encodeFrame(frameTypes.stderr, STREAM, Buffer.from([0xa9])));
      break;
    case "cut":
      await send(encodeFrame(frameTypes.data, STREAM, Buffer.from("half")));
      return void response.end();
    case "reset":
      return void response.end(
        encodeJson(frameTypes.reset, STREAM, new SkerryError("workdir_not_found", "gone").toBody()),
      );
    case "gone":
      await send(encodeFrame(frameTypes.data, STREAM, Buffer.from("half")));
      return void response.end(
        encodeJson(
          frameTypes.reset,
          STREAM,
          new SkerryError("guest_failed", "The microVM is gone.").toBody(),
        ),
      );
    case "garbage":
      return void response.end(Buffer.from([0xff, 1, 2, 3]));
    case "lie":
      return void response.end(encodeJson(frameTypes.close, STREAM, { exit_code: "zero" }));
    default:
      await send(encodeFrame(frameTypes.data, STREAM, Buffer.from(command)));
      await sleep(0);
      await send(encodeFrame(frameTypes.stderr, STREAM, Buffer.from("warned")));
  }
  response.end(encodeJson(frameTypes.close, STREAM, exitOf(name)));
}

function exitOf(name: string): ExecuteExit {
  return name === "oom" ? killedExit : cleanExit;
}

const killedExit: ExecuteExit = { ...cleanExit, exit_code: 137, signal: "SIGKILL", oom_killed: true };

/** So many bytes of one value, as fast as they are taken, unless the reader goes away. */
async function print(response: ServerResponse, bytes: number, value: number): Promise<void> {
  for (let left = bytes; left > 0 && !response.destroyed; left -= 65_536) {
    const frame = encodeFrame(frameTypes.data, STREAM, Buffer.alloc(Math.min(left, 65_536), value));
    if (!response.write(frame)) await drained(response);
  }
}

/** An answer of so many bytes, unless its reader leaves. */
export async function sendAll(response: ServerResponse, bytes: number): Promise<void> {
  for (let left = bytes; left > 0 && response.writable; left -= 65_536) {
    if (!response.write(Buffer.alloc(Math.min(left, 65_536), 0x62))) await drained(response);
  }
  response.end();
}

/** Resolves when there is room again, or the reader has left. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}
