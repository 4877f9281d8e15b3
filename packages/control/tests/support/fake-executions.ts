// Executions of the VMs of a fake host: what a command prints is known by its name, and kept from its first byte on.

import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { SkerryError } from "@skerry/contract/errors";
import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import type { ExecutionState, StartExecution } from "@skerry/contract/host-api/executions";
import { FRAMES_CONTENT_TYPE } from "@skerry/contract/host-api/vm";
import { cleanExit, drained, gateOf } from "./fake-commands.ts";
import type { FakeHostState } from "./fake-host-state.ts";
import { readBody, sendJson, type HostCall } from "./fake-http.ts";

const STREAM = 1;
const kinds = { stdout: 1, stderr: 2, dropped: 3 } as const;

interface Written {
  readonly kind: keyof typeof kinds;
  readonly bytes: Buffer;
}

let nextPid = 400;

export class FakeExecution {
  readonly id: string;
  readonly command: StartExecution;
  readonly input: Buffer[] = [];
  readonly signals: number[] = [];
  readonly sizes: (readonly [cols: number, rows: number])[] = [];
  readonly #written: Written[] = [];
  /** How many of them a reader has taken. */
  #taken = 0;
  readonly #answers = new Set<ServerResponse>();
  isOver = false;
  /** Its input has been read to the end. */
  isInputRead = false;
  /** What ends a reader in the middle: an error of the host, or a connection that is cut. */
  breaks: SkerryError | "cut" | undefined;
  exitCode = 0;
  how: Partial<Pick<typeof cleanExit, "signal" | "oom_killed" | "timed_out" | "duration_ms">> = {};
  readonly pid = nextPid++;
  /** Those who left before its end. */
  left = 0;
  /** Told of what it reads. */
  onInput: (bytes: Buffer) => void = () => undefined;
  #changed = Promise.withResolvers<void>();

  constructor(id: string, command: StartExecution) {
    this.id = id;
    this.command = command;
  }

  #position = 0;

  get state(): ExecutionState {
    const { command, tty, stdin, timeout_ms, reattach_ms } = this.command;
    const position = this.#position;
    return {
      ...{ execution: this.id, pid: this.pid, command, tty, timeout_ms, reattach_ms },
      stdin: stdin && !this.isInputRead,
      ...{ duration_ms: 3, at: 0, from: 0, position },
      exit: this.isOver ? { ...cleanExit, ...this.how, exit_code: this.exitCode } : null,
    };
  }

  write(text: string | Buffer, kind: "stdout" | "stderr" = "stdout"): void {
    this.#written.push({ kind, bytes: typeof text === "string" ? Buffer.from(text) : text });
    this.#position += text.length;
    this.#wake();
  }

  /** Resolves when a reader has taken all that was written, or it is over. */
  async untilTaken(): Promise<void> {
    while (this.#taken < this.#written.length && !this.isOver) await this.#changed.promise;
  }

  end(exitCode = 0, how: typeof this.how = {}): void {
    this.exitCode = exitCode;
    this.how = how;
    this.isOver = true;
    this.#wake();
  }

  /** As where the host was killed. */
  cut(): void {
    for (const answer of this.#answers) answer.destroy();
  }

  async follow(after: number, response: ServerResponse): Promise<void> {
    const { position } = this.state;
    // Such an execution is gone when its reader comes back.
    if (this.breaks === "cut" && after > 0) throw new SkerryError("execution_not_found", "It is gone.");
    if (after > position) throw new SkerryError("bad_request", "The execution has not written so much yet.");
    const at = after < 0 ? Math.max(0, position + after) : after;
    response.writeHead(200, { "content-type": FRAMES_CONTENT_TYPE });
    response.write(encodeJson(frameTypes.head, STREAM, { ...this.state, at }));
    this.#answers.add(response);
    response.once("close", () => {
      if (!this.isOver) this.left += 1;
      this.#answers.delete(response);
      this.#wake();
    });
    let skip = at;
    for (let index = 0; !response.destroyed;) {
      const next = this.#written[index];
      if (next === undefined) {
        if (this.breaks === "cut") return void response.end();
        if (this.breaks !== undefined)
          return void response.end(encodeJson(frameTypes.reset, STREAM, this.breaks.toBody()));
        if (this.isOver) return void response.end(encodeJson(frameTypes.close, STREAM, this.state));
        await this.#changed.promise;
        continue;
      }
      index += 1;
      const bytes = next.bytes.subarray(Math.min(skip, next.bytes.length));
      skip -= next.bytes.length - bytes.length;
      if (bytes.length > 0) await send(response, record(next.kind, bytes));
      this.#take(index, response);
    }
  }

  #take(count: number, { destroyed }: ServerResponse): void {
    if (destroyed || count <= this.#taken) return;
    this.#taken = count;
    this.#wake();
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    resolve();
  }
}

export class FakeExecutions {
  /** By their ids, in the order in which they were started. */
  readonly all = new Map<string, FakeExecution>();
  /** Those that the next answers are made of instead, also where they lie. */
  states: ExecutionState[] | undefined;
  /** What a login shell does. Undefined: what every other command does. */
  loginShell: ((execution: FakeExecution) => void) | undefined;

  /** In the VMs' /etc/passwd. */
  readonly users = new Set(["root", "0"]);
  /** False: the agents are of an earlier version. */
  runPrograms = true;

  get last(): FakeExecution {
    const last = [...this.all.values()].at(-1);
    if (last === undefined) throw new Error("nothing was started");
    return last;
  }

  /** What a step of a build does that has an image. Undefined: what every other command does. */
  imageStep: ((execution: FakeExecution) => void) | undefined;

  /** Undefined: the call is not about executions. */
  serve(host: FakeHostState, call: HostCall): Promise<void> | undefined {
    return call.what.endsWith(" executions") ? this.#answer(host, call) : undefined;
  }

  async #answer(host: FakeHostState, { id: vm, url, request, response }: HostCall): Promise<void> {
    host.require(vm, url.searchParams.get("execution_id") ?? undefined);
    const [, , , , id, part] = url.pathname.split("/");
    if (id === undefined) {
      const items = this.states ?? [...this.all.values()].map(({ state }) => state);
      return sendJson(response, 200, { items });
    }
    if (request.method === "PUT") {
      const command = await readBody<StartExecution>(request);
      const { execution_id, workdir, env, timeout_ms } = command;
      host.require(vm, execution_id);
      host.commands.push({
        execution_id,
        command: command.command,
        workdir,
        env,
        timeout_ms,
        output_limit: 0,
      });
      await host.beforeExecute();
      host.fail("execute");
      return this.#start(id, command, response);
    }
    const execution = this.all.get(id);
    if (execution === undefined) throw new SkerryError("execution_not_found", "There is no such execution.");
    switch (part ?? "") {
      case "output":
        return execution.follow(Number(url.searchParams.get("after")), response);
      case "input":
        return takeInput(execution, request, response, url.searchParams.get("end") === "true");
      case "signal":
        execution.signals.push((await readBody<{ signal: number }>(request)).signal);
        return sendJson(response, 200, execution.state);
      case "resize": {
        const { cols, rows } = await readBody<{ cols: number; rows: number }>(request);
        execution.sizes.push([cols, rows]);
        return sendJson(response, 200, execution.state);
      }
      default:
        return sendJson(response, 200, execution.state);
    }
  }

  #check({ command, program, user }: StartExecution): void {
    if (command === "reset") throw new SkerryError("workdir_not_found", "gone");
    if (program !== undefined && !this.runPrograms) throw new SkerryError("vm_outdated", "It cannot.");
    if (user !== undefined && !this.users.has(user))
      throw new SkerryError("vm_user_not_found", "There is no such user.");
  }

  async #start(id: string, command: StartExecution, response: ServerResponse): Promise<void> {
    this.#check(command);
    const known = this.all.get(id);
    if (known !== undefined && !command.follow) return sendJson(response, 200, known.state);
    const execution = new FakeExecution(id, command);
    this.all.set(id, execution);
    if (command.command === "garbage") return void response.writeHead(200).end(Buffer.from([0xff, 1, 2, 3]));
    if (this.loginShell !== undefined && command.command.includes("bash -l")) this.loginShell(execution);
    else if (
      this.imageStep !== undefined &&
      (command.env["STEP_IMAGE"] ?? command.env["STEP_TEXT"]) !== undefined
    )
      this.imageStep(execution);
    else play(execution);
    if (!command.follow) return sendJson(response, 200, execution.state);
    await execution.follow(0, response);
  }
}

/** Understands a handful of commands by name. `repeat` repeats its input; everything else is repeated on stdout. */
function play(execution: FakeExecution): void {
  const command = commandOf(execution);
  const [name = "", argument, gateName = ""] = command.split(" ");
  switch (name) {
    case "forever":
    case "deaf":
    case "repeat":
      return;
    case "flood": {
      const block = Buffer.alloc(65_536, 0x61);
      for (let left = Number(argument); left > 0; left -= block.length)
        execution.write(block.subarray(0, Math.min(left, block.length)));
      return execution.end();
    }
    case "hold":
      execution.write(Buffer.alloc(Number(argument)));
      gateOf(gateName).waiting += 1;
      return void gateOf(gateName).opened.then(() => execution.end());
    case "cut":
      execution.breaks = "cut";
      return execution.write("half");
    case "gone":
      execution.breaks = new SkerryError("guest_failed", "The microVM is gone.");
      return execution.write("half");
    case "binary":
      execution.write(Buffer.from([0x66, 0xff, 0x00, 0xc3]));
      execution.write(Buffer.from([0xa9]), "stderr");
      return execution.end();
    default:
      playEnd(execution, name, argument);
  }
}

function playEnd(execution: FakeExecution, name: string, argument = ""): void {
  switch (name) {
    case "oom":
      return execution.end(137, { signal: "SIGKILL", oom_killed: true });
    case "overlong":
      setTimeout(() => execution.end(137, { timed_out: true }), execution.command.timeout_ms);
      return;
    case "fail":
      execution.write("it is broken\n", "stderr");
      return execution.end(Number(argument));
    default:
      execution.write(commandOf(execution));
      execution.write("warned", "stderr");
      execution.end();
  }
}

/** Of a step of a build, what its user wrote; of what E2B's clients start, the command that they gave to a shell. */
function commandOf({ command: { command, env } }: FakeExecution): string {
  const [, given] = /^#e2b [^]*'([^']*)'$/.exec(command) ?? [];
  return env["STEP_RUN"] ?? given ?? command;
}

async function takeInput(
  execution: FakeExecution,
  request: IncomingMessage,
  response: ServerResponse,
  end: boolean,
): Promise<void> {
  if (!execution.command.stdin) throw new SkerryError("execution_input_closed", "It reads no input.");
  // It takes what a pipe holds, and its caller waits for the rest.
  if (commandOf(execution) === "deaf") return;
  const bytes = await buffer(request);
  execution.input.push(bytes);
  execution.isInputRead = end;
  execution.onInput(bytes);
  if (commandOf(execution) === "repeat") execution.write(bytes);
  if (end && commandOf(execution) !== "forever") execution.end();
  response.writeHead(204).end();
}

function record(kind: Written["kind"], bytes: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head[0] = kinds[kind];
  head.writeUInt32LE(bytes.length, 1);
  const frames: Buffer[] = [];
  const whole = Buffer.concat([head, bytes]);
  for (let at = 0; at < whole.length; at += 60_000)
    frames.push(encodeFrame(frameTypes.data, STREAM, whole.subarray(at, at + 60_000)));
  return Buffer.concat(frames);
}

async function send(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (response.write(bytes)) return;
  await drained(response);
}
