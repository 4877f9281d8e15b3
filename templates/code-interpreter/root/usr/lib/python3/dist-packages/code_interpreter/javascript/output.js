// Messages to the server, one line of JSON each, and what is printed as such.

"use strict";

const { writeSync } = require("fs");
const { StringDecoder } = require("string_decoder");
const { inspect } = require("util");

let messages;

function send(message) {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let sent = 0; sent < bytes.length;) sent += writeSync(messages, bytes, sent);
}

/** Each write is one message. What programs of a cell write goes past this, to the pipes themselves. */
function installOutput(messagesFd) {
  messages = messagesFd;
  for (const name of ["stdout", "stderr"]) {
    const decoder = new StringDecoder("utf8");
    process[name].write = (chunk, encoding, callback) => {
      const text = typeof chunk === "string" ? chunk : decoder.write(Buffer.from(chunk));
      if (text !== "") send({ type: name, text });
      const done = typeof encoding === "function" ? encoding : callback;
      if (done !== undefined) process.nextTick(done);
      return true;
    };
  }
}

/** Anything may be thrown. */
function errorMessage(error) {
  if (!(error instanceof Error) && !(error?.name && error?.stack))
    return { type: "error", name: "Error", value: textOf(error), traceback: `Uncaught ${inspect(error)}` };
  return {
    type: "error",
    name: String(error.name),
    value: String(error.message),
    traceback: tracebackOf(error),
  };
}

function textOf(value) {
  return typeof value === "string" ? value : inspect(value);
}

/** Without the frames of the kernel. */
function tracebackOf(error) {
  const lines = String(error.stack).split("\n");
  const kept = lines.filter(
    (line) => !/^\s+at .*(node:vm|code_interpreter\/javascript|node:internal)/.test(line),
  );
  return kept.join("\n");
}

module.exports = { errorMessage, installOutput, send };
