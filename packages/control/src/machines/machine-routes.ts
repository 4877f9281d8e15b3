import { Type } from "typebox";
import { NoFields } from "@skerry/contract/common";
import {
  Machine,
  MachineCreateRequest,
  MachineList,
  MachineListQuery,
  MachineStartRequest,
} from "@skerry/contract/machines";
import type { Context } from "../context.ts";
import { machineCreation } from "./machine-create.ts";
import { destroyMachine } from "./machine-destroy.ts";
import { carryOutWish, type MachineAct } from "./machine-power-actions.ts";
import { getMachine, listMachinesOf, machineOf } from "./machine-service.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { emptyBodyIsObject } from "../http/json-bodies.ts";
import { created } from "../api/idempotent-create.ts";
import { withLabels } from "../http/metadata-filter.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";
import { vmParams } from "../vms/vm-resource.ts";

const MachineParams = vmParams("machine");

export function machineRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.post(
      "/v1/machines",
      {
        schema: {
          operationId: "createMachine",
          tags: ["machines"],
          summary: "Create a machine; it runs when the answer comes",
          body: ref(MachineCreateRequest),
          response: { 201: ref(Machine) },
        },
      },
      // A client that goes away stops nothing: the row is a wish, and is carried out.
      async (request, reply) =>
        reply
          .code(201)
          .send(
            await created(
              context,
              { request, reply },
              machineCreation(context, callerOf(request), request.body),
            ),
          ),
    );
    app.get(
      "/v1/machines",
      {
        schema: {
          operationId: "listMachines",
          tags: ["machines"],
          summary: "The machines of the organization, newest first; `metadata.KEY=VALUE` filters by a label",
          querystring: MachineListQuery,
          response: { 200: ref(MachineList) },
        },
      },
      (request) => listMachinesOf(context, callerOf(request), withLabels(request.query)),
    );
    app.get(
      "/v1/machines/:id",
      {
        schema: {
          operationId: "getMachine",
          tags: ["machines"],
          summary: "One machine",
          params: MachineParams,
          response: { 200: ref(Machine) },
        },
      },
      async (request) => machineOf(await getMachine(context, callerOf(request), request.params.id)),
    );
    app.delete(
      "/v1/machines/:id",
      {
        schema: {
          operationId: "destroyMachine",
          tags: ["machines"],
          summary: "Destroy a machine and its disk, whatever its status; a second time does nothing",
          params: MachineParams,
          response: { 204: Type.Null({ description: "It is destroyed." }) },
        },
      },
      async (request, reply) => {
        await destroyMachine(context, callerOf(request), request.params.id);
        return reply.code(204).send(null);
      },
    );
    done();
  };
}

const wishes: readonly {
  readonly act: MachineAct;
  readonly operationId: string;
  readonly summary: string;
  /** What it has come to when nothing is left to do. */
  readonly settled: "running" | "stopped";
}[] = [
  {
    act: "start",
    operationId: "startMachine",
    summary: "Start a machine that does not run, from its own disk; one that runs is left as it is",
    settled: "running",
  },
  {
    act: "stop",
    operationId: "stopMachine",
    summary:
      "Stop a machine: SIGTERM to its main process, SIGKILL after its `stop_timeout`; its disk is kept, and nothing starts it again",
    settled: "stopped",
  },
  {
    act: "restart",
    operationId: "restartMachine",
    summary: "Stop a machine and start it again; one that does not run is started",
    settled: "running",
  },
];

/** Whether a machine runs. */
export function machineLifeRoutes(context: Context): Routes {
  return (app, _options, done) => {
    for (const { act, operationId, summary, settled } of wishes) {
      app.post(
        `/v1/machines/:id/${act}`,
        {
          preValidation: emptyBodyIsObject,
          schema: {
            operationId,
            tags: ["machines"],
            summary,
            params: MachineParams,
            body: ref(act === "start" ? MachineStartRequest : NoFields),
            response: { 200: ref(Machine), 202: ref(Machine) },
          },
        },
        async (request, reply) => {
          const { new_disk: newDisk = false } = request.body as MachineStartRequest;
          const row = await carryOutWish(context, callerOf(request), { id: request.params.id, act, newDisk });
          // Somebody else is at work on it, or its host is away: the wish is stored and will be carried out.
          const isSettled = row.status === settled && row.desired === settled;
          return reply.code(isSettled ? 200 : 202).send(machineOf(row));
        },
      );
    }
    done();
  };
}
