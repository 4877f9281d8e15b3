// This machine's own addresses, as a guest may not reach them.

import { networkInterfaces } from "node:os";

/** Links of a Skerry host (`lo:` and what follows is the label of its resolver's address) and of the tests' own world. */
const COMES_AND_GOES = /^(lo:)?sk/;

/** IPv4, loopback among them. Without those that another test or a pool of slots takes away at any moment: what is sent to an address
 *  that has just gone leaves the machine, and whoever answers there is not the machine. */
export function machineAddresses(): string[] {
  return Object.entries(networkInterfaces())
    .filter(([name]) => !COMES_AND_GOES.test(name))
    .flatMap(([, addresses]) => addresses ?? [])
    .filter(({ family }) => family === "IPv4")
    .map(({ address }) => address);
}
