// What a build does, decided before it begins. Data alone, so that control can carry it out, and the command line can show it without a server.

/** A step of a request: exactly one of these. */
export interface RequestedStep {
  /** Shell command line, run in the template by its own `/bin/sh`. */
  readonly run?: string;
  /** `from` is a path in the context, `to` one in the template: a folder's content goes into `to`, a file becomes it (into it: with `/` at its end). */
  readonly copy?: { readonly from: string; readonly to: string };
  /** For the steps that follow, and for what runs in the template. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder is made where it is missing. */
  readonly workdir?: string;
  readonly user?: string;
}

export interface ReadyCondition {
  readonly port?: number;
  readonly http?: string;
  readonly command?: string;
  readonly file?: string;
}

export interface PlannedStart {
  readonly command: string;
  readonly ready?: ReadyCondition;
}

/** Of a request for a build, what its plan depends on. At most one of `steps`, `dockerfile`, `image` and `archive`. */
export interface PlanRequest {
  /** The template that `steps` stand on, or that a Dockerfile means where it says `FROM` this name. */
  readonly from?: string;
  readonly steps?: readonly RequestedStep[];
  readonly dockerfile?: {
    readonly path?: string;
    readonly target?: string;
    /** What it says, in place of the file in the context: the way to more than one step. */
    readonly text?: string;
    readonly args?: Readonly<Record<string, string>>;
  };
  readonly image?: string;
  /** The context is an archive of an image. */
  readonly archive?: boolean;
  /** Where the context comes from, `URL[#REF[:FOLDER]]`. With neither `steps` nor `dockerfile` it is detected what it is. */
  readonly git?: string;
  /** That it was cloned at; absent: whatever it is now. */
  readonly commit?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly workdir?: string;
  readonly start?: PlannedStart;
}

/** The context, as far as detection looks at it. */
export interface ContextFiles {
  /** Paths of all files, relative, with `/` between names. */
  readonly files: readonly string[];
  /** What is in those of `DETECTED_FILES` that are there and have at most `DETECTED_FILE_MAX_BYTES`. */
  readonly texts: Readonly<Record<string, string>>;
}

/** What holds for that which runs in VMs of the template. Null: the platform's default, which is root and `/root`. */
export interface PlannedConfig {
  readonly env: Readonly<Record<string, string>>;
  readonly user: string | null;
  readonly workdir: string | null;
  readonly start?: PlannedStart;
}

export type StepKind =
  | "git"
  | "run"
  | "copy"
  | "workdir"
  | "dockerfile"
  | "image"
  | "archive"
  | "seal"
  | "pack"
  | "push";

/** A step as it is carried out: one shell command line in the builder, whose input is its environment. */
export interface PlannedStep {
  readonly kind: StepKind;
  /** One line of at most 200 characters. */
  readonly name: string;
  /** All that it does, as a person reads it; it may have several lines. */
  readonly shown: string;
  /** Run as root in the builder, by `/bin/sh -c`. It exits with what the step exits with; `step-fault.ts` reads that. */
  readonly command: string;
  /** For `command`, and nothing else. */
  readonly env: Readonly<Record<string, string>>;
  /** What the step itself sees: where it runs, as whom, with which variables beside the platform's. */
  readonly sees: PlannedConfig;
  /** Paths of the context that it reads. */
  readonly inputs: readonly string[];
}

export interface BuildPlan {
  /** What the steps begin on; null: an empty disk. */
  readonly on: { readonly template: string } | null;
  readonly steps: readonly PlannedStep[];
  readonly config: PlannedConfig;
}

/** A process that the app has beside the one that its template starts. */
export interface PlannedProcess {
  readonly name: string;
  readonly command: string;
}

/** What a folder is, as the request that builds it. */
export interface DetectedApp {
  readonly request: PlanRequest;
  readonly processes: readonly PlannedProcess[];
  /** Sentences: what was found, and what follows from it. */
  readonly why: readonly string[];
}
