import { expect } from "vitest";
import type { Skerry } from "@skerry/sdk";
import { FRIENDLY_PORT } from "../support/fake-ports.ts";
import { leftOut, ofNoClient, type ClientCall } from "./client-call.ts";

type Rows = Readonly<Record<string, ClientCall>>;
type Group = "sandboxes" | "machines";

const nounOf = { sandboxes: "sandbox", machines: "machine" } as const;
const noTerminal = leftOut("terminals and forwarded ports are not among this client's abilities");
const untilInterrupted = leftOut("it goes on until Ctrl-C: packages/cli/tests/exec.test.ts has its commands");

/** Output of the fake host's `true`: its own name, and a warning. */
const ran = { exit_code: 0, stdout: "true", stderr: "warned", timed_out: false, truncated: false };

/** Rows that sandboxes and machines have alike. */
export function vmClientCalls(group: Group) {
  return { ...networkOf(group), ...commandsOf(group), ...filesOf(group), ...archivesOf(group) };
}

function networkOf(group: Group) {
  const noun = nounOf[group];
  return {
    setEgress: {
      sdk: (skerry, { id }) => skerry[group].setEgress(id, { mode: "deny_all" }),
      python: `skerry.${group}.set_egress({id}, mode="deny_all")`,
      cli: `${noun} egress {id} --egress-mode deny_all --json`,
    },
    getEgress: {
      sdk: (skerry, { id }) => skerry[group].egress(id),
      python: `skerry.${group}.egress({id})`,
      cli: `${noun} egress {id} --json`,
    },
    listEvents: {
      sdk: (skerry, { id }) => skerry[group].events(id),
      python: `skerry.${group}.events({id})`,
      cli: `${noun} events {id} --json`,
    },
    getMetrics: {
      sdk: (skerry, { id }) => skerry[group].metrics(id),
      python: `skerry.${group}.metrics({id})`,
      cli: `${noun} metrics {id} --json`,
    },
    listPorts: {
      sdk: (skerry, { id }) => skerry[group].ports(id),
      python: `skerry.${group}.ports({id})`,
      cli: `${noun} ports {id} --json`,
    },
    setPortAccess: {
      sdk: (skerry, { id }) => skerry[group].setPortPublic(id, 3000, true),
      python: `skerry.${group}.set_port_public({id}, 3000, public=True)`,
      cli: `${noun} ports {id} --public 3000 --json`,
      gives: {
        cli: expect.objectContaining({ items: [expect.objectContaining({ port: 3000, public: true })] }),
      },
    },
    signUrl: {
      sdk: (skerry, { id }) => skerry[group].signPortUrl(id, 3000),
      python: `skerry.${group}.sign_port_url({id}, 3000)`,
      cli: `${noun} url {id} 3000 --json`,
    },
    requestPort: ofNoClient("a browser or a program of the user's own asks a port"),
    forwardPort: {
      sdk: (skerry, { id }) => helloThrough(skerry, group, id),
      python: noTerminal,
      cli: untilInterrupted,
      gives: { sdk: "hello" },
    },
  } satisfies Rows;
}

async function helloThrough(skerry: Skerry, group: Group, id: string): Promise<string> {
  await using forward = await skerry[group].forward(id, FRIENDLY_PORT, { localPort: 0 });
  return (await fetch(`http://127.0.0.1:${forward.localPort}/`, { headers: { connection: "close" } })).text();
}

function commandsOf(group: Group) {
  const noun = nounOf[group];
  return {
    execute: {
      sdk: (skerry, { id }) => skerry[group].execute(id, "true"),
      python: `skerry.${group}.execute({id}, "true")`,
      cli: `${noun} exec {id} -- true`,
      gives: { sdk: expect.objectContaining(ran), python: expect.objectContaining(ran), cli: "true" },
    },
    exec: {
      sdk: (skerry, { id }) => printedIn(skerry, group, id),
      python: noTerminal,
      cli: leftOut("it needs a terminal: packages/cli/tests/terminal.test.ts"),
      gives: { sdk: { printed: "truewarned", exitCode: 0 } },
    },
    createExecution: {
      sdk: (skerry, { id }) => skerry[group].startExecution(id, "true"),
      python: `skerry.${group}.start_execution({id}, "true")`,
      cli: `${noun} exec {id} --detach -- true`,
      gives: { cli: expect.stringMatching(/^exe_[0-9a-z]{26}\n$/) },
    },
    listExecutions: {
      sdk: (skerry, { id }) => skerry[group].listExecutions(id),
      python: `skerry.${group}.list_executions({id})`,
      cli: `${noun} executions {id} --json`,
    },
    getExecution: {
      sdk: (skerry, { id, execution }) => skerry[group].getExecution(id, execution),
      python: `skerry.${group}.get_execution({id}, {execution})`,
      cli: leftOut("`executions` lists all that there is of each"),
    },
    streamExecution: {
      sdk: (skerry, { id, execution }) => skerry[group].followExecution(id, execution),
      python: `skerry.${group}.follow_execution({id}, {execution})`,
      cli: leftOut("`attach` reads it over a terminal: packages/cli/tests/terminal.test.ts"),
      gives: { sdk: followed, python: followed },
    },
    sendExecutionStdin: {
      sdk: (skerry, { id, execution }) => skerry[group].sendInput(id, execution, "x"),
      python: `skerry.${group}.send_execution_stdin({id}, {execution}, "x")`,
      cli: leftOut("`attach` sends it from a terminal: packages/cli/tests/terminal.test.ts"),
    },
    killExecution: {
      sdk: (skerry, { id, execution }) => skerry[group].killExecution(id, execution),
      python: `skerry.${group}.kill_execution({id}, {execution})`,
      cli: `${noun} kill {id} {execution}`,
      gives: { cli: "" },
    },
  } satisfies Rows;
}

const followed = [
  expect.objectContaining({ type: "stdout", data: "true", position: 4 }),
  expect.objectContaining({ type: "stderr", data: "warned", position: 10 }),
  expect.objectContaining({ type: "exit", exit_code: 0 }),
];

async function printedIn(skerry: Skerry, group: Group, id: string): Promise<unknown> {
  await using shell = await skerry[group].shell(id, { command: "true" });
  let printed = "";
  for await (const { data } of shell) printed += Buffer.from(data).toString();
  return { printed, exitCode: shell.exitCode };
}

function filesOf(group: Group) {
  const noun = nounOf[group];
  return {
    uploadFile: {
      sdk: (skerry, { id, path }) => skerry[group].upload(id, path, "x"),
      python: `skerry.${group}.upload({id}, {path}, "x")`,
      cli: `${noun} upload {id} - {path}`,
      input: "x",
      gives: { cli: "/tmp/a 1 byte\n" },
    },
    downloadFile: {
      sdk: (skerry, { id, path }) => skerry[group].download(id, path),
      python: `skerry.${group}.download({id}, {path})`,
      cli: `${noun} download {id} {path} -`,
    },
    changeFile: {
      sdk: (skerry, { id, path }) => skerry[group].files(id).setMode(path, "0600"),
      python: `skerry.${group}.files({id}).set_mode({path}, "0600")`,
      cli: `${noun} file chmod {id} 0600 {path} --json`,
    },
    removeFile: {
      sdk: (skerry, { id, path }) => skerry[group].files(id).remove(path),
      python: `skerry.${group}.files({id}).remove({path})`,
      cli: `${noun} file rm {id} {path}`,
      gives: { cli: "" },
    },
    statFile: {
      sdk: (skerry, { id, path }) => skerry[group].files(id).stat(path),
      python: `skerry.${group}.files({id}).stat({path})`,
      cli: `${noun} file stat {id} {path} --json`,
    },
    makeDirectory: {
      sdk: (skerry, { id, path }) => skerry[group].files(id).makeDirectory(path),
      python: `skerry.${group}.files({id}).make_directory({path})`,
      cli: `${noun} file mkdir {id} {path} --json`,
    },
    watchDirectory: {
      sdk: (skerry, { id, path }) => skerry[group].files(id).watch(path),
      python: `skerry.${group}.files({id}).watch({path})`,
      cli: `${noun} watch {id} {path}`,
      gives: { sdk: watched, python: watched, cli: "start /\n" },
    },
  } satisfies Rows;
}

/** The directory goes away as soon as it is watched. */
const watched = [{ event: "start", path: "", type: "directory" }];

function archivesOf(group: Group) {
  const copies = leftOut("`skerry cp` packs and unpacks: packages/cli/tests/copy.test.ts");
  return {
    downloadDirectory: {
      sdk: (skerry, { id, path }) => skerry[group].files(id).pack(path),
      python: `skerry.${group}.files({id}).pack({path})`,
      cli: copies,
    },
    uploadDirectory: {
      sdk: (skerry, { id, path }) => skerry[group].files(id).unpack(path, "x"),
      python: `skerry.${group}.files({id}).unpack({path}, "x")`,
      cli: copies,
    },
  } satisfies Rows;
}
