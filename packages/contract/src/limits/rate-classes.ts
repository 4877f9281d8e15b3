/** What rate limits count apart. `expensive`: what makes something that costs, such as a sandbox or a token. */
export const rateClasses = ["read", "write", "expensive"] as const;
export type RateClass = (typeof rateClasses)[number];
