import { callerOf } from "../../api/authenticate-hook.ts";
import type { Handler } from "../../api/routes.ts";
import type { Context } from "../../context.ts";
import { toSkerryError } from "../../http/errors.ts";
import { EventStream } from "../../http/event-stream.ts";
import { fileParams } from "../files/file-routes.ts";
import type { VmKind } from "../vm-kind.ts";
import { watchFiles } from "./watch-files.ts";
import type { watchOperation } from "./watch-operations.ts";

export function watchHandler(context: Context, kind: VmKind): Handler<ReturnType<typeof watchOperation>> {
  return async (request, reply) => {
    const recursive = request.query.recursive ?? false;
    const params = { ...fileParams(kind, request, reply), recursive };
    const caller = callerOf(request);
    using _open = context.openStreams.take(caller, params);
    const events = await watchFiles(context, caller, params);
    await using stream = new EventStream(reply, () => ({ event: "keepalive", data: {} }));
    try {
      for await (const event of events) await stream.send(event.event, event);
      await stream.send("end", {});
    } catch (error) {
      const known = toSkerryError(error);
      if (known.code === "internal") request.log.error({ err: error }, "a watch failed unexpectedly");
      await stream.send("error", known.toBody(request.id));
    }
    return reply;
  };
}
