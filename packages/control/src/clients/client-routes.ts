import type { FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { takeDownloadTicket } from "../api/enforce-rate-limit.ts";
import { routes } from "../api/routes.ts";
import { AddressTickets } from "../rate-limits/address-tickets.ts";
import { CLIENT_VERSION, fileNameOf, type ClientFile, type ClientName } from "./client-files.ts";
import { clientOperations } from "./client-operations.ts";
import { installScript } from "./install-script.ts";
import { publicAddress } from "../http/public-address.ts";

export const clientRoutes = routes(clientOperations, ({ clients, limits }) => {
  const tickets = new AddressTickets(limits.downloadsPerMinute);
  const built = (client: ClientName): ClientFile => clients[client] ?? notBuilt(client);
  const download = (client: ClientName) => (request: FastifyRequest, reply: FastifyReply) => {
    takeDownloadTicket(tickets, request);
    return sendFile(built(client), request, reply);
  };
  return {
    getSdk: download("sdk"),
    getCli: download("cli"),
    getCliPackage: download("cliPackage"),
    getWheel: (request, reply) => {
      takeDownloadTicket(tickets, request);
      // Relative, so that it also leads there behind a proxy that has put us below a path of its own.
      return reply.header("cache-control", REVALIDATED).redirect(`clients/${built("wheel").name}`);
    },
    getClientFile: (request, reply) => {
      takeDownloadTicket(tickets, request);
      const named = ({ name }: ClientFile) => name === request.params.file;
      const found = downloads.flatMap((client) => clients[client] ?? []).find(named);
      return sendFile(found ?? noSuchFile(), request, reply);
    },
    getInstaller: (request, reply) => {
      takeDownloadTicket(tickets, request);
      const script = installScript(built("installer").content.toString("utf8"), {
        address: publicAddress(request),
        version: CLIENT_VERSION,
        sha256: built("cli").sha256,
      });
      // Not cached, as answers are by default: it names the address that this request was for.
      return reply.type(built("installer").type).send(script);
    },
  };
});

/** What is handed out as it is. */
const downloads = ["sdk", "cli", "cliPackage", "wheel"] as const satisfies readonly ClientName[];

/** Kept, and asked for again before each use: the next version has the same address. */
const REVALIDATED = "public, no-cache";

function sendFile(file: ClientFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const etag = `"${file.sha256}"`;
  void reply.header("etag", etag).header("cache-control", REVALIDATED);
  if (isKnown(request.headers["if-none-match"], etag)) return reply.code(304).send();
  return reply
    .type(file.type)
    .header("content-disposition", `attachment; filename="${file.name}"`)
    .send(file.content);
}

/** Weak tags count: a proxy that compresses makes ours one. */
function isKnown(header: string | undefined, etag: string): boolean {
  const tags = (header ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}

function notBuilt(client: ClientName): never {
  throw new SkerryError(
    "not_found",
    `This installation has no ${fileNameOf(client)}: it was built without it.`,
    {
      remediation:
        "Its operator gets one from `npm run build` or `npm run package`, and then with `skerry up` or `skerry upgrade`.",
    },
  );
}

function noSuchFile(): never {
  throw new SkerryError("not_found", "There is no such client here.", {
    remediation: "The clients are at /sdk.tgz, /cli, /cli.tgz and /skerry.whl.",
  });
}
