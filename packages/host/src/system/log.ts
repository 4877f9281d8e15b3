import { countingRepeats } from "@skerry/contract/repeated-failures";
import { pino, type DestinationStream, type Logger } from "pino";

/** To standard output unless a stream is given. */
export function openLog(level: string, stream?: DestinationStream): Logger {
  const options = { level, base: { process: "host" }, hooks: { logMethod: countingRepeats() } };
  return stream === undefined ? pino(options) : pino(options, stream);
}
