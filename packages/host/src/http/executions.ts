// Executions of a guest. Their output is passed on as it comes; a reader that is slow makes the guest wait, and no memory here grows.

import type { ServerResponse } from "node:http";
import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import {
  InputQuery,
  OutputQuery,
  ResizeExecution,
  SignalExecution,
  StartExecution,
} from "@skerry/contract/host-api/executions";
import { ExecutionQuery, FRAMES_CONTENT_TYPE } from "@skerry/contract/host-api/vm";
import { SkerryError } from "@skerry/contract/errors";
import { Type } from "typebox";
import type { GuestChannel } from "../guest/channel.ts";
import {
  askExecution,
  ExecutionReader,
  inputTaken,
  listExecutions,
  startExecution,
  startInput,
} from "../guest/executions.ts";
import type { Host } from "../app/host.ts";
import { writeBodyPiece } from "./body.ts";
import { asSkerryError, VmParams, type HostServer } from "./conventions.ts";
import { STREAM, withPings } from "./pings.ts";

const ExecutionParams = Type.Object({
  ...VmParams.properties,
  execution: Type.String({ pattern: "^[a-z0-9_]{1,63}$" }),
});

/** A guest that says nothing for so many pings is asked whether it is there. */
const PINGS_PER_QUESTION = 3;

export function registerExecutions(server: HostServer, host: Host): void {
  registerOutput(server, host);
  registerQuestions(server, host);
  const { engine } = host;
  server.post(
    "/vms/:id/executions/:execution/input",
    { schema: { params: ExecutionParams, querystring: InputQuery } },
    async (request, reply) => {
      const { id, execution } = request.params;
      const { execution_id, end } = request.query;
      const leaver = new Leaver();
      using guest = await engine.useUntilHeld(id, execution_id, () => leaver.leave());
      const stream = startInput(guest.channel, { execution, end });
      // What the command has not read by then is lost, and the answer says that it broke off.
      leaver.set(() => stream.cancel());
      reply.raw.once("close", () => stream.cancel());
      for await (const chunk of request.raw.iterator({ destroyOnReturn: false })) {
        await stream.write(chunk as Buffer);
        if (stream.ended) break; // refused: the result says why
      }
      request.raw.resume();
      stream.end();
      await inputTaken(stream);
      return reply.status(204).send();
    },
  );
}

/** A move may want the guest before there is something that can leave it. */
class Leaver {
  #leave: (() => void) | undefined;
  #isWanted = false;

  set(leave: () => void): void {
    this.#leave = leave;
    if (this.#isWanted) leave();
  }

  leave(): void {
    this.#isWanted = true;
    this.#leave?.();
  }
}

function registerOutput(server: HostServer, { engine }: Host): void {
  server.put(
    "/vms/:id/executions/:execution",
    { schema: { params: ExecutionParams, body: StartExecution } },
    async (request, reply) => {
      const { id, execution } = request.params;
      const { execution_id, workdir, follow, ...command } = request.body;
      const leaver = new Leaver();
      using guest = await engine.useUntilHeld(id, execution_id, () => leaver.leave());
      const { channel } = guest;
      const started = startExecution(channel, {
        execution,
        ...command,
        ...(workdir === null ? {} : { workdir }),
      });
      if (!follow) return await started;
      // At once: the agent takes one after the other.
      const opened = ExecutionReader.open(channel, { execution, after: 0, hold: true });
      opened.catch(() => undefined); // where it could not be started, that is the reason
      await started;
      const reader = await opened;
      leaver.set(() => reader.leave());
      reply.hijack();
      await relay(channel, reader, reply.raw);
      return reply;
    },
  );

  server.get(
    "/vms/:id/executions/:execution/output",
    { schema: { params: ExecutionParams, querystring: OutputQuery } },
    async (request, reply) => {
      const { id, execution } = request.params;
      const { execution_id, ...from } = request.query;
      const leaver = new Leaver();
      using guest = await engine.useUntilHeld(id, execution_id, () => leaver.leave());
      const reader = await ExecutionReader.open(guest.channel, { execution, ...from });
      leaver.set(() => reader.leave());
      reply.hijack();
      await relay(guest.channel, reader, reply.raw);
    },
  );
}

function registerQuestions(server: HostServer, { engine }: Host): void {
  server.get(
    "/vms/:id/executions",
    { schema: { params: VmParams, querystring: ExecutionQuery } },
    async (request) => {
      using guest = await engine.use(request.params.id, request.query.execution_id);
      return { items: await listExecutions(guest.channel) };
    },
  );

  server.get(
    "/vms/:id/executions/:execution",
    { schema: { params: ExecutionParams, querystring: ExecutionQuery } },
    async (request) => {
      const { id, execution } = request.params;
      using guest = await engine.use(id, request.query.execution_id);
      return await askExecution(guest.channel, { op: "execution", execution });
    },
  );

  server.post(
    "/vms/:id/executions/:execution/signal",
    { schema: { params: ExecutionParams, body: SignalExecution } },
    async (request) => {
      const { id, execution } = request.params;
      const { execution_id, signal } = request.body;
      using guest = await engine.use(id, execution_id);
      return await askExecution(guest.channel, { op: "signal", execution, signal });
    },
  );

  server.post(
    "/vms/:id/executions/:execution/resize",
    { schema: { params: ExecutionParams, body: ResizeExecution } },
    async (request) => {
      const { id, execution } = request.params;
      const { execution_id, ...size } = request.body;
      using guest = await engine.use(id, execution_id);
      return await askExecution(guest.channel, { op: "resize", execution, ...size });
    },
  );
}

async function relay(
  channel: GuestChannel,
  reader: ExecutionReader,
  response: ServerResponse,
): Promise<void> {
  response.once("close", () => reader.cancel());
  response.writeHead(200, { "content-type": FRAMES_CONTENT_TYPE });
  response.write(encodeJson(frameTypes.head, STREAM, reader.state));
  try {
    // A command may be silent for as long as it likes; its caller gets pings, and its agent is asked now and then whether it is there.
    const { execution } = reader.state;
    const ask = async (pings: number) =>
      pings % PINGS_PER_QUESTION === 0 && askExecution(channel, { op: "execution", execution });
    for await (const records of withPings(() => reader.read(), response, ask)) {
      if (!(await writeBodyPiece(response, encodeFrame(frameTypes.data, STREAM, records)))) return;
    }
    const state = await reader.end();
    if (state.exit === null) throw moving();
    response.end(encodeJson(frameTypes.close, STREAM, state));
  } catch (error) {
    response.end(encodeJson(frameTypes.reset, STREAM, asSkerryError(error as Error).toBody()));
  }
}

/** A move holds the guest: what runs in it goes on elsewhere. */
function moving(): SkerryError {
  return new SkerryError("vm_moving", "The microVM is being moved to another host.", {
    remediation: "Follow the execution again from the position that was reached.",
    retryAfterS: 1,
  });
}
