// The part of the host API by which templates are built and kept. A build runs in a VM of a template that serves builds only: it has a second
// disk, the target (/dev/vdb), on which the build writes the root file system of the template to be.
//
//   PUT    /vms/{id}            VmSpec with `build` Vm; its target stands on what `build` names
//   POST   /vms/{id}/seal       SealVm              Sealed; what the target holds now, as an image of layers. The VM goes on over it. Twice is one seal
//   GET    /templates                               HostTemplateList: those that were put here, not the built-in ones
//   PUT    /templates/{id}      TemplateImage       TemplatePut: the layers that this host lacks. An id always means the same image. Before any VM of
//                                                   it is put here, also one that begins at a snapshot or boots from its disk: it has its environment from it
//   POST   /templates/{id}/freeze  FreezeTemplate   204 once VMs of this size can be cloned from it; the same call twice waits for one freeze
//   DELETE /templates/{id}                          204, also where it is not there. VMs that were made of it go on
//   POST   /built-in/{name}/prepare                 204; the image of a built-in template is there, or is being made: the heartbeat tells how that goes
//   POST   /layers/send         SendLayers          204; this host has sent them to another one, which lacked them. It ends with the call
//
// From that host, with the ticket in `x-skerry-ticket`:
//
//   PUT    /templates/{id}/layers/{digest}          a layer in the form of `layerStream`; 204
//
// A layer stays on a host as long as a template or a VM there stands on it. One that nothing stands on is removed some time after it was last used:
// who finds that it is gone takes it from another host, or builds it again.

import { Type, type Static } from "typebox";
import { Env, Nullable } from "../fields.ts";
import { idPattern } from "../ids.ts";

const closed = { additionalProperties: false } as const;

const Digest = Type.String({ pattern: "^[0-9a-f]{64}$" });
const ExecutionId = Type.String({ pattern: "^[a-z0-9_]{1,64}$" });
const Ticket = Type.String({ pattern: "^[0-9a-f]{64}$" });

/** A disk is read whole, and written as a layer. */
export const SEAL_WITHIN_MS = 600_000;
/** A guest boots and gets ready, and its memory is written. */
export const FREEZE_WITHIN_MS = 900_000;
/** All layers of an image between slow machines. */
export const SEND_LAYERS_WITHIN_MS = 60 * 60_000;

/** Size of every target disk as its guest sees it, GiB. It is sparse. A file system on it is as large as `disk_gib` says, and nothing can be written
 *  beyond that. */
export const TARGET_GIB = 64;

export const DiskLayer = Type.Object(
  {
    digest: Digest,
    /** What it takes on a disk: holes cost nothing. The database counts in 64 bits. */
    bytes: Type.Integer({ minimum: 0, maximum: 2 ** 50 }),
  },
  closed,
);
export type DiskLayer = Static<typeof DiskLayer>;

/** A root file system. The lowest layer is raw, those above are qcow2. */
export const DiskImage = Type.Object(
  {
    /** The lowest first. */
    layers: Type.Array(DiskLayer, { minItems: 1, maxItems: 16 }),
    disk_gib: Type.Integer({ minimum: 1, maximum: TARGET_GIB }),
  },
  closed,
);
export type DiskImage = Static<typeof DiskImage>;

/** What a build's target holds at first. */
const TargetOrigin = Type.Union([
  /** The root file system of a built-in template, as this host has it. */
  Type.Object({ kind: Type.Literal("template"), template: Type.String({ maxLength: 100 }) }, closed),
  /** Of a template or a step that was built before. All its layers are on this host, or the answer is `layer_missing`. */
  Type.Object({ kind: Type.Literal("image"), image: DiskImage }, closed),
  /** The disk of a snapshot that is on this host, as it was saved: what its guest had in memory alone is not there. */
  Type.Object(
    { kind: Type.Literal("snapshot"), snapshot_id: Type.String({ pattern: idPattern("snapshot") }) },
    closed,
  ),
  /** Nothing, not even a file system. */
  Type.Object({ kind: Type.Literal("empty") }, closed),
]);

export const VmBuild = Type.Object(
  {
    on: TargetOrigin,
    /** Of the image that comes of it: what the build's files may take on the target. A file system that it stands on keeps its size until the
     *  build enlarges it. */
    disk_gib: Type.Integer({ minimum: 1, maximum: TARGET_GIB }),
  },
  closed,
);
export type VmBuild = Static<typeof VmBuild>;

/** Before it, the guest unmounts the target or freezes its file system: what it holds in memory is not in the layer. */
export const SealVm = Type.Object({ execution_id: ExecutionId, seal_id: ExecutionId }, closed);
export type SealVm = Static<typeof SealVm>;

/** The whole image, with what the build stood on. */
export const Sealed = Type.Object({ image: DiskImage }, closed);
export type Sealed = Static<typeof Sealed>;

const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

/** What has to hold before a template is frozen with its command running; asked for from outside of the guest, so it needs no program there. */
const ReadyCondition = Type.Union([
  /** Something listens there. */
  Type.Object({ kind: Type.Literal("port"), port: Port }, closed),
  /** A GET of this path is answered with a status from 200 to 399. */
  Type.Object(
    { kind: Type.Literal("http"), port: Port, path: Type.String({ pattern: "^/[!-~]{0,1000}$" }) },
    closed,
  ),
  /** It ends with 0. */
  Type.Object(
    { kind: Type.Literal("command"), command: Type.String({ minLength: 1, maxLength: 10_000 }) },
    closed,
  ),
  /** It exists. */
  Type.Object({ kind: Type.Literal("file"), path: Type.String({ minLength: 1, maxLength: 4_000 }) }, closed),
]);
export type ReadyCondition = Static<typeof ReadyCondition>;

export const TemplateStart = Type.Object(
  {
    /** Shell command line; it runs on in each clone. */
    command: Type.String({ minLength: 1, maxLength: 10_000 }),
    /** Absent: it is frozen as soon as the command runs. */
    ready: Type.Optional(ReadyCondition),
    /** How long `ready` may take. */
    timeout_ms: Type.Integer({ minimum: 1_000, maximum: 600_000 }),
  },
  closed,
);

/** A template that is not built in: an image, and what holds for the VMs that are made of it. */
export const TemplateImage = Type.Object(
  {
    image: DiskImage,
    env: Env,
    /** Who commands run as, NAME, UID, NAME:GROUP or UID:GID as in a Dockerfile; null for root. */
    user: Nullable(
      Type.String({ pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,31})?$" }),
    ),
    /** Where commands begin; null for /root. */
    workdir: Nullable(Type.String({ pattern: "^/[^\\0]{0,4000}$" })),
    start: Type.Optional(TemplateStart),
    /** Missing layers are taken from another host that shows it. */
    ticket: Type.Optional(Ticket),
  },
  closed,
);
export type TemplateImage = Static<typeof TemplateImage>;

export const TemplatePut = Type.Object({ missing: Type.Array(DiskLayer, { maxItems: 16 }) }, closed);
export type TemplatePut = Static<typeof TemplatePut>;

export const HostTemplateList = Type.Object(
  { items: Type.Array(Type.Object({ id: Type.String(), missing: TemplatePut.properties.missing }, closed)) },
  closed,
);

export type HostTemplateList = Static<typeof HostTemplateList>;

export const FreezeTemplate = Type.Object({ size: Type.String({ maxLength: 100 }) }, closed);

export const SendLayers = Type.Object(
  {
    /** The template on the other host that lacks them. */
    template: Type.String({ pattern: idPattern("template") }),
    /** Where control reaches that host. */
    address: Type.String({ maxLength: 300 }),
    ticket: Ticket,
    layers: Type.Array(Digest, { minItems: 1, maxItems: 16 }),
  },
  closed,
);
export type SendLayers = Static<typeof SendLayers>;

export const BuiltInParams = Type.Object({ name: Type.String({ maxLength: 100 }) });
export const TemplateParams = Type.Object({ id: Type.String({ pattern: idPattern("template") }) });
export const TemplateLayerParams = Type.Object({ ...TemplateParams.properties, digest: Digest });
