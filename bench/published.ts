// What others say about theirs. Other machines, other networks, other ends of the clock: never in one column with ours.

interface Published {
  readonly who: string;
  readonly figure: string;
  readonly conditions: string;
  readonly source: string;
}

const COMPUTESDK =
  "median from the API call to the answer of `node -v`, 100 in turn, over the Internet from a CI runner, 27 April 2026";
const COMPUTESDK_SOURCE =
  "[computesdk/benchmarks](https://github.com/computesdk/benchmarks/blob/0b282a10173c60454226bf1d102cd862a783cb42/sequential_tti.svg)";

const published: readonly Published[] = [
  { who: "Daytona", figure: "200 ms", conditions: COMPUTESDK, source: COMPUTESDK_SOURCE },
  { who: "E2B", figure: "400 ms", conditions: COMPUTESDK, source: COMPUTESDK_SOURCE },
  { who: "Vercel Sandbox", figure: "420 ms", conditions: COMPUTESDK, source: COMPUTESDK_SOURCE },
  { who: "Modal", figure: "1,470 ms", conditions: COMPUTESDK, source: COMPUTESDK_SOURCE },
  {
    who: "Fly Machines",
    figure: "about 300 ms",
    conditions: "their own words for booting a VM that exists; first command not included",
    source: "[fly.io](https://fly.io/blog/fly-machines/)",
  },
];

export const publishedTable: readonly string[] = [
  "Their servers have hardware virtualization (or containers), and a network lies between client and server; ours above has neither.",
  "So these say what is usual, and not who is faster.",
  "",
  "| who | figure | conditions | source |",
  "| --- | --- | --- | --- |",
  ...published.map(
    ({ who, figure, conditions, source }) => `| ${who} | ${figure} | ${conditions} | ${source} |`,
  ),
];
