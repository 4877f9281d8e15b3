// Processes of E2B's clients in a sandbox: executions, which they name by the number of their process or by a tag.

import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { EXECUTION_TIMEOUT_MAX_MS } from "@skerry/contract/bounds";
import { formatDuration } from "@skerry/contract/durations";
import { bareId } from "@skerry/contract/ids";
import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import { PROGRAM_MAX_WORDS } from "@skerry/contract/host-api/executions";
import type { Execution, ExecutionRequest } from "@skerry/contract/vms/execution";
import type { Context } from "../context.ts";
import { listExecutions } from "../vms/executions/executions.ts";
import { startFollowed } from "../vms/executions/start-detached.ts";
import {
  commandLineOf,
  processOf,
  resolvePath,
  shownLineOf,
  TAG_MAX_CHARS,
  tagOf,
  type GuestProcess,
} from "./command-line.ts";
import type { SandboxCall } from "./sandbox-call.ts";
import { startOfSandbox } from "./template-starts.ts";
import { defaultUserName, guestUser, noSuchUser, ROOT, userNameOf } from "./guest-users.ts";
import type { ProcessSelector, StartRequest } from "./wire/process_pb.js";

export interface RunningProcess {
  readonly execution: Execution;
  readonly pid: number;
  readonly process: GuestProcess;
}

const LIST_MAX = 500;

/** Those that run, the newest first. */
export async function runningProcesses(context: Context, call: SandboxCall): Promise<RunningProcess[]> {
  return (await runningExecutions(context, call)).flatMap((execution) => processFrom(execution) ?? []);
}

async function runningExecutions(context: Context, call: SandboxCall): Promise<Execution[]> {
  const { items } = await listExecutions(context, call.caller, { ...call, page: { limit: LIST_MAX } });
  return items.filter(({ pid, status }) => pid !== null && status === "running");
}

function processFrom(execution: Execution): RunningProcess | undefined {
  const { pid, command } = execution;
  const process = processOf(command);
  return process === undefined || pid === null ? undefined : { execution, pid, process };
}

export async function findProcess(
  context: Context,
  call: SandboxCall,
  selected: ProcessSelector | undefined,
): Promise<RunningProcess> {
  const { selector } = selected ?? {};
  if (selector?.case === undefined)
    throw new ConnectError("The process is named neither by its number nor by a tag.", Code.InvalidArgument);
  // A command is read only where it is the one that is meant.
  const isMeant = ({ pid, command }: Execution) =>
    selector.case === "pid" ? pid === selector.value : tagOf(command) === selector.value;
  for (const execution of await runningExecutions(context, call)) {
    const found = isMeant(execution) ? processFrom(execution) : undefined;
    if (found !== undefined) return found;
  }
  throw new ConnectError(
    `There is no running process with the ${selector.case} "${selector.value}".`,
    Code.NotFound,
  );
}

const TERMINAL = { cols: 80, rows: 24 } as const;

/** Starts it; it outlives the call, but not the time that the client has given to the call. */
export async function startProcess(
  context: Context,
  call: SandboxCall,
  { asked, rpc }: { readonly asked: StartRequest; readonly rpc: HandlerContext },
) {
  const { process: config, pty, tag, stdin } = asked;
  if (config === undefined || config.cmd === "")
    throw new ConnectError("There is no command to start.", Code.InvalidArgument);
  if (tag !== undefined && tag.length > TAG_MAX_CHARS)
    throw new ConnectError(`The tag is longer than ${TAG_MAX_CHARS} characters.`, Code.InvalidArgument);
  const { cmd, args, cwd, envs } = config;
  const leftMs = rpc.timeoutMs();
  return start(context, call, {
    process: { cmd, args, cwd: cwd === "" ? undefined : cwd, tag },
    userName: userNameOf(rpc.requestHeader.get("authorization")),
    options: {
      env: { ...sandboxEnvironment(call), ...envs },
      stdin_open: stdin ?? true,
      ...(leftMs !== undefined && { timeout: formatDuration(boundedTimeout(leftMs)) }),
      ...(pty !== undefined && { tty: true, ...sizeOf(pty.size) }),
    },
  });
}

interface Start {
  readonly process: GuestProcess;
  /** Undefined where the client names none. */
  readonly userName: string | undefined;
  readonly options: Omit<ExecutionRequest, "command" | "workdir"> & { readonly env: Record<string, string> };
}

async function start(context: Context, call: SandboxCall, asked: Start) {
  const words = [asked.process.cmd, ...asked.process.args];
  const { userName } = asked;
  if (words.length > PROGRAM_MAX_WORDS || (userName !== undefined && !USER_NAME.test(userName)))
    return startInShell(context, call, asked);
  try {
    return await startProgram(context, call, asked);
  } catch (error) {
    if (error instanceof SkerryError && OUTDATED.has(error.code)) return startInShell(context, call, asked);
    throw error;
  }
}

/** The agent would take another for a number, or for a group. */
const USER_NAME = /^[a-zA-Z_][^:]{0,31}$/;
/** Nothing was started: the agent is of an earlier version (`vm_outdated`), or its host is (`bad_request`). */
const OUTDATED: ReadonlySet<string> = new Set<ErrorCode>(["vm_outdated", "bad_request"]);

/** The agent finds the user, and the user's home. */
async function startProgram(context: Context, call: SandboxCall, { process, userName, options }: Start) {
  const { cmd, args, cwd } = process;
  const user = userName ?? (await defaultUserName(context, call));
  const workdir =
    cwd === undefined
      ? (await startOfSandbox(context, call))?.workdir
      : resolvePath(cwd, isRelative(cwd) ? await guestUser(context, call, userName) : ROOT);
  const request = { ...options, command: shownLineOf(process), ...(workdir != null && { workdir }) };
  const program = { words: [cmd, ...args], runFiles: runFilesOf(call) };
  const as = (name: string) =>
    startFollowed(context, call.caller, { ...call, request, program: { ...program, user: name } });
  try {
    return await as(user);
  } catch (error) {
    if (!(error instanceof SkerryError && error.code === "vm_user_not_found")) throw error;
    if (userName !== undefined && userName !== ROOT.name) throw noSuchUser(userName);
    return as(String(ROOT.uid));
  }
}

function isRelative(path: string): boolean {
  return !path.startsWith("/");
}

async function startInShell(context: Context, call: SandboxCall, { process, userName, options }: Start) {
  const user = await guestUser(context, call, userName);
  const { cwd } = process;
  const request = {
    ...options,
    command: commandLineOf(process, user),
    workdir:
      cwd === undefined
        ? ((await startOfSandbox(context, call))?.workdir ?? user.home)
        : resolvePath(cwd, user),
    env: { HOME: user.home, USER: user.name, LOGNAME: user.name, ...options.env },
  };
  return startFollowed(context, call.caller, { ...call, request });
}

function boundedTimeout(leftMs: number): number {
  return Math.min(Math.max(1, Math.ceil(leftMs)), EXECUTION_TIMEOUT_MAX_MS);
}

/** By these, programs find out whether they run in a sandbox of E2B's, and in which. */
function sandboxEnvironment({ id }: SandboxCall): Record<string, string> {
  return { E2B_SANDBOX: "true", E2B_SANDBOX_ID: bareId(id) };
}

/** The same for programs that somebody else has started. */
function runFilesOf(call: SandboxCall): Record<string, string> {
  const variables = Object.entries(sandboxEnvironment(call));
  return Object.fromEntries(variables.map(([name, value]) => [`e2b/.${name}`, value]));
}

const CELLS_MAX = 65_535;

export function sizeOf(size: { readonly cols: number; readonly rows: number } | undefined) {
  const cells = (value: number | undefined, otherwise: number) =>
    value === undefined || value === 0 ? otherwise : Math.min(value, CELLS_MAX);
  return { cols: cells(size?.cols, TERMINAL.cols), rows: cells(size?.rows, TERMINAL.rows) };
}
