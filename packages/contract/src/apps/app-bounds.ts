/** Instances of one group, with those of the release before while a deploy goes on. */
export const EDGE_INSTANCES_MAX = 64;
export const EDGE_BACKENDS_MAX = 5_000;
export const EDGE_ROUTES_MAX = 20_000;
