/** Port of hosts for requests to apps, where no setting says another one. */
export const EDGE_PORT = 7_080;
/** The same for requests that other hosts pass on. */
export const EDGE_INNER_PORT = 7_072;

/** Instances of one backend, with those of the release before while a deploy goes on. */
export const EDGE_INSTANCES_MAX = 64;
export const EDGE_BACKENDS_MAX = 10_000;
export const EDGE_ROUTES_MAX = 20_000;

/** Ports of hosts for services of plain TCP, in one platform and in one organization. */
export const TCP_PORTS_MAX = 1_000;
export const ORGANIZATION_TCP_PORTS_MAX = 10;

export const APP_NAME_PATTERN = "^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$";
export const GROUP_PATTERN = "^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$";
/** Groups of an app. */
export const GROUPS_MAX = 10;
/** Instances of a group. A deploy may have as many of each release. */
export const SCALE_MAX = 20;

/** MicroVMs of an app for commands by hand, at once. */
export const ONE_OFFS_MAX = 10;

/** Routes of an app, beside its own address. */
export const ROUTES_MAX = 50;
/** Ways of an app's routes to reach its instances, each of which is a backend of the proxy. */
export const ROUTE_MANNERS_MAX = 8;
/** Segments of a path prefix: the proxy has a rule for each that it can take away. */
export const PREFIX_SEGMENTS_MAX = 4;
export const RATE_LIMIT_MAX = 10_000;
/** Requests of one instance at once. */
export const CONCURRENCY_MAX = 500;

/** Bounds of the times that answers are counted by, in milliseconds; the last count is of those beyond. */
export const ANSWER_TIME_BOUNDS_MS = [10, 50, 100, 250, 500, 1_000, 2_500, 10_000] as const;

export const CANARY_PERCENT_DEFAULT = 10;
export const CANARY_HOLD_DEFAULT_MS = 60_000;
export const DRAIN_TIMEOUT_DEFAULT_MS = 30_000;
export const DRAIN_TIMEOUT_MAX_MS = 3_600_000;
export const WATCH_DEFAULT_MS = 60_000;
export const WATCH_MAX_MS = 3_600_000;
export const DEPLOY_TIMEOUT_DEFAULT_MS = 300_000;
export const DEPLOY_TIMEOUT_MAX_MS = 3_600_000;
