// `skerry host join`: makes this machine a host of a control plane elsewhere. The host makes a key and asks to be certified, this command
// carries request and certificate, and success is reported only after control has called the host back.

import { rename, rm, writeFile } from "node:fs/promises";
import { connect, isIP } from "node:net";
import { hostname } from "node:os";
import { errorFromBody } from "@skerry/contract/errors";
import { HOST_NAME, type CertificateRequest } from "@skerry/contract/joining/host-certificate";
import {
  confirmationProof,
  joinProof,
  type HostJoined,
  type JoinAnswer,
} from "@skerry/contract/joining/join-request";
import {
  fingerprintOf,
  readJoinToken,
  secretDigest,
  type JoinTokenParts,
} from "@skerry/contract/joining/join-token";
import { environment } from "../config.ts";
import { CliError, exitCodes } from "../errors/errors.ts";
import { fileExists } from "./system/files.ts";
import { commandHost } from "./system/ask-host.ts";
import { joinedFile, type Joined, type Layout } from "./system/layout.ts";
import { lockCommands } from "./system/lock.ts";
import { stopProcess } from "./system/processes.ts";
import { step } from "./system/step.ts";
import { makeFolders } from "./servers/supervise.ts";
import { runningSupervisor } from "./servers/supervisor-state.ts";
import { refuseUnits } from "./servers/units.ts";
import { requireRoot } from "./system/require-root.ts";
import { DOWN_DEADLINE_MS, startUnlessRunning } from "./up.ts";

export interface JoinFlags {
  readonly control: string;
  readonly token: string;
  readonly name?: string;
  readonly address?: string;
}

const DEFAULT_PORT = 7071;
const CONTROL_DEADLINE_MS = 30_000;

/** Joining again, with another token, changes name and address; the host stays the one that it was. */
export async function joinCluster(layout: Layout, flags: JoinFlags): Promise<HostJoined> {
  const token = readJoinToken(flags.token);
  if (token === undefined) throw usage("--token is not a join token; `skerry host token` makes one.");
  const joined = await hostToJoin(layout, flags);
  requireRoot("host join");
  await refuseUnits(layout, "Run `skerry uninstall`, join, and then `skerry install` again.");
  await makeFolders(layout);
  await lockCommands(layout, "skerry host join");
  if (layout.joined === undefined && (await fileExists(layout.postgresData))) throw hasControl(layout);
  const own = { ...layout, joined };
  await remember(own, joined);
  try {
    await stopChanged(layout, joined);
    await startUnlessRunning(own, undefined);
    return await step(`Join ${joined.control}`, () => join(own, joined, token));
  } catch (error) {
    if (layout.joined === undefined) await leave(own);
    throw error;
  }
}

/** As before the attempt. */
async function leave(layout: Layout): Promise<void> {
  const running = await runningSupervisor(layout);
  if (running !== undefined) await stopProcess(running.supervisor, DOWN_DEADLINE_MS);
  await rm(joinedFile(layout.state), { force: true });
}

async function join(layout: Layout, joined: Joined, token: JoinTokenParts): Promise<HostJoined> {
  const digest = secretDigest(token.secret);
  const request = await commandHost<CertificateRequest>(layout, {
    method: "POST",
    path: "/identity/request?key=current",
  });
  const { name, address, control } = joined;
  const asked = { token_id: token.id, name, address, public_key: request.public_key };
  const answer = await askControl<JoinAnswer>(control, "/v1/hosts/join", {
    ...asked,
    signature: request.signature,
    proof: joinProof(digest, asked),
  });
  if (!isSigned(answer, token)) throw foreignAuthority(control);
  await commandHost(layout, { method: "PUT", path: "/identity", body: answer });
  const confirmed = { token_id: token.id, host_id: answer.host_id };
  return askControl<HostJoined>(control, "/v1/hosts/join/confirm", {
    ...confirmed,
    proof: confirmationProof(digest, confirmed),
  });
}

/** By the authority that the token names. That it has signed this host's certificate is checked by the host. */
function isSigned(answer: JoinAnswer, { fingerprint }: JoinTokenParts): boolean {
  try {
    return fingerprintOf(answer.authority) === fingerprint;
  } catch {
    return false;
  }
}

async function hostToJoin(layout: Layout, flags: JoinFlags): Promise<Joined> {
  const url = URL.parse(flags.control);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw usage("--control is not an address such as https://skerry.example.org:7443.");
  const name = flags.name ?? layout.joined?.name ?? hostname();
  if (!HOST_NAME.test(name)) throw usage(`"${name}" cannot be the name of a host; choose one with --name.`);
  const address = flags.address ?? layout.joined?.address ?? `${await ownAddress(url)}:${DEFAULT_PORT}`;
  const listen = environment()["SKERRY_HOST_LISTEN"] ?? listenAddress(address);
  return { control: flags.control.replace(/\/+$/, ""), name, address, listen };
}

/** A name may stand for an address that this machine has not, behind a router; then every address is right. */
function listenAddress(address: string): string {
  const [, host, port] = /^\[?(.+?)\]?:(\d{1,5})$/.exec(address) ?? [];
  if (host === undefined || port === undefined)
    throw usage("--address is not an address and a port, such as 192.0.2.7:7071.");
  return isIP(host) === 0 ? `0.0.0.0:${port}` : address;
}

/** The address of this machine on the way to control. */
function ownAddress(control: URL): Promise<string> {
  return new Promise((resolve, reject) => {
    const port = Number(control.port || (control.protocol === "https:" ? "443" : "80"));
    const socket = connect({
      host: control.hostname.replace(/^\[(.*)\]$/, "$1"),
      port,
      timeout: CONTROL_DEADLINE_MS,
    });
    socket.once("connect", () => {
      const { localAddress = "" } = socket;
      socket.destroy();
      resolve(isIP(localAddress) === 6 ? `[${localAddress}]` : localAddress);
    });
    socket.once("timeout", () => socket.destroy(new Error("it does not answer")));
    socket.once("error", (error) => reject(unreachable(control.href, error)));
  });
}

async function remember({ state }: Layout, joined: Joined): Promise<void> {
  const file = joinedFile(state);
  await writeFile(`${file}.part`, `${JSON.stringify(joined, undefined, 2)}\n`, { mode: 0o644 });
  await rename(`${file}.part`, file);
}

/** The host reads its settings when it starts. Its VMs run on. */
async function stopChanged(before: Layout, joined: Joined): Promise<void> {
  const running = await runningSupervisor(before);
  if (running === undefined || JSON.stringify(before.joined) === JSON.stringify(joined)) return;
  await step("Stop the host for its new settings", () => stopProcess(running.supervisor, DOWN_DEADLINE_MS));
}

async function askControl<T>(control: string, path: string, body: unknown): Promise<T> {
  const response = await fetch(`${control}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(CONTROL_DEADLINE_MS),
    redirect: "error",
  }).catch((error: unknown) => {
    throw unreachable(control, error);
  });
  const answer: unknown = await response.json().catch(() => undefined);
  // What is in it is checked where it is used: by the fingerprint, and by the host.
  if (response.ok) return answer as T;
  const { code, message, remediation } = errorFromBody(answer, `${control} answered ${response.status}.`);
  throw new CliError(code, message, remediation === undefined ? {} : { remediation });
}

function unreachable(control: string, error: unknown): CliError {
  const { cause } = error as { cause?: unknown };
  const why = cause instanceof Error ? cause.message : String(error);
  return new CliError("control_unreachable", `${control} cannot be reached: ${why}.`, {
    remediation: "Give the address of the control plane's API with --control.",
  });
}

function foreignAuthority(control: string): CliError {
  return new CliError(
    "wrong_authority",
    `What answers at ${control} is not the control plane that made the token.`,
    {
      remediation:
        "The connection may be intercepted, or the address is another installation's. Nothing was given away.",
    },
  );
}

function hasControl({ state }: Layout): CliError {
  return new CliError("has_control", `In ${state} a control plane of its own is set up.`, {
    remediation: "Choose another folder for the host, for example SKERRY_STATE=/var/lib/skerry-host.",
  });
}

function usage(message: string): CliError {
  return new CliError("invalid_input", message, { exitCode: exitCodes.usage });
}
