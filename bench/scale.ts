// How much of each measure is taken: enough for a p99 on an idle machine, or enough for a look within ten minutes.

export interface Scale {
  readonly idleMs: number;
  readonly lifeRounds: number;
  readonly coldRounds: number;
  readonly executeRounds: number;
  readonly bulkRounds: number;
  readonly streamRounds: number;
  readonly forkRounds: number;
  readonly buildRounds: number;
  /** A build of a Dockerfile takes a minute or two where guests are emulated. */
  readonly dockerfileRounds: number;
  readonly burst: { readonly vms: number; readonly repeats: number };
  readonly requestRuns: number;
  readonly sustainedS: number;
  /** `dense` VMs are weighed, `all` run at once. */
  readonly fleet: { readonly dense: number; readonly all: number; readonly idleS: number };
  readonly growth: { readonly passes: number; readonly rounds: number };
  /** Each turn is five creations with, and five without. */
  readonly events: { readonly changes: number; readonly turns: number };
  /** Pages that are loaded, changes that are waited for, and seconds of many changes. */
  readonly dashboard: { readonly rounds: number; readonly changes: number; readonly changingS: number };
  readonly hosts: { readonly rounds: number; readonly placements: number };
  readonly move: { readonly rounds: number };
  readonly appDeploys: number;
  readonly egress: {
    readonly takes: number;
    readonly loads: number;
    readonly slots: number;
    readonly streams: number;
  };
}

export const full: Scale = {
  idleMs: 15_000,
  lifeRounds: 100,
  coldRounds: 100,
  executeRounds: 50,
  bulkRounds: 10,
  streamRounds: 100,
  forkRounds: 10,
  buildRounds: 10,
  dockerfileRounds: 3,
  burst: { vms: 100, repeats: 3 },
  requestRuns: 5,
  sustainedS: 600,
  fleet: { dense: 100, all: 200, idleS: 10 },
  growth: { passes: 12, rounds: 5 },
  events: { changes: 100, turns: 20 },
  dashboard: { rounds: 20, changes: 40, changingS: 32 },
  hosts: { rounds: 6, placements: 500 },
  move: { rounds: 20 },
  appDeploys: 100,
  egress: { takes: 30, loads: 20, slots: 200, streams: 5 },
};

export const quick: Scale = {
  idleMs: 2_000,
  lifeRounds: 8,
  coldRounds: 8,
  executeRounds: 10,
  bulkRounds: 2,
  streamRounds: 20,
  forkRounds: 3,
  buildRounds: 3,
  dockerfileRounds: 1,
  burst: { vms: 20, repeats: 1 },
  requestRuns: 2,
  sustainedS: 20,
  fleet: { dense: 20, all: 30, idleS: 3 },
  growth: { passes: 6, rounds: 5 },
  events: { changes: 40, turns: 4 },
  dashboard: { rounds: 4, changes: 8, changingS: 8 },
  hosts: { rounds: 1, placements: 200 },
  move: { rounds: 4 },
  appDeploys: 3,
  egress: { takes: 8, loads: 8, slots: 30, streams: 1 },
};
