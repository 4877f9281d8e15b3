// Builds everything that runs into dist/: the programs, and the native pieces beside them.

import { join } from "node:path";
import { buildInto } from "./build-into.ts";

await buildInto(join(import.meta.dirname, "../dist"));
