// The kernel of JavaScript and TypeScript: `node kernel.js REQUESTS_FD MESSAGES_FD LANGUAGE`. Requests are lines of JSON.
//
//   cell.js     a cell as a script, whose declarations are global variables
//   modules.js  what cells import and require
//   output.js   messages to the server, and what is printed as such

"use strict";

const { createReadStream } = require("fs");
const { createInterface } = require("readline");
const { inspect } = require("util");
const vm = require("vm");
const { scriptOf } = require("./cell.js");
const { installModules } = require("./modules.js");
const { errorMessage, installOutput, send } = require("./output.js");
const { reseed } = require("./random.js");

const [requestsFd, messagesFd, language] = process.argv.splice(2);

/** Rejects what a cell waits for; undefined where no cell runs. */
let interruptCell;
let count = 0;

function main() {
  installOutput(Number(messagesFd));
  installModules();
  process.on("SIGINT", () => interruptCell?.());
  // Of what a cell left running.
  process.on("uncaughtException", (error) => process.stderr.write(`${errorMessage(error).traceback}\n`));
  // Node's own never returns where a script runs that a signal may interrupt.
  process.reallyExit = () => process.kill(process.pid, "SIGKILL");
  const requests = createInterface({
    input: createReadStream(null, { fd: Number(requestsFd) }),
    crlfDelay: Infinity,
  });
  let turn = Promise.resolve();
  requests.on("line", (line) => {
    turn = turn.then(() => answer(JSON.parse(line)));
  });
  requests.on("close", () => process.exit());
}

async function answer(request) {
  if (request.environment !== undefined) changeEnvironment(request.environment);
  if (request.reseed !== undefined) reseed();
  if (request.code !== undefined) await runCell(request.code);
  send({ type: "end" });
}

function changeEnvironment(changes) {
  // oxlint-disable-next-line node/no-process-env -- it is the environment of the cells
  const { env } = process;
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete env[name];
    else env[name] = value;
  }
}

async function runCell(code) {
  count += 1;
  try {
    const value = await run(scriptOf(code, language));
    if (value !== undefined)
      send({ type: "result", text: typeof value === "string" ? value : inspect(value) });
  } catch (error) {
    send(errorMessage(error));
  }
}

async function run({ source, names }) {
  for (const name of names) declare(name);
  const interrupted = new Promise((_, reject) => {
    interruptCell = () => reject(new Error("The cell was interrupted."));
  });
  interrupted.catch(() => {});
  try {
    // What it does before it first waits is interrupted by the signal itself.
    const options = { filename: `cell ${count}`, breakOnSigint: true };
    return await Promise.race([new vm.Script(source, options).runInThisContext(options), interrupted]);
  } finally {
    interruptCell = undefined;
  }
}

/** A global variable that takes any value, also where node has one of this name. */
function declare(name) {
  const known = Object.getOwnPropertyDescriptor(globalThis, name);
  if (known?.writable) return;
  const value = globalThis[name];
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
}

main();
