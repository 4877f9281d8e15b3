// The generation of the control plane that this host obeys (`contract/src/host-api/generation.ts`), kept on disk: after a restart the host
// still refuses one that was replaced. Another cluster, where the machine is another host, counts for itself.

import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

const FILE = "control-generation.json";

interface Obeyed {
  readonly host_id: string;
  readonly generation: number;
}

export class ControlGeneration {
  readonly #file: string;
  #obeyed: Obeyed | undefined;
  #saving: Promise<void> = Promise.resolve();

  private constructor(file: string, obeyed: Obeyed | undefined) {
    this.#file = file;
    this.#obeyed = obeyed;
  }

  static async open(stateFolder: string): Promise<ControlGeneration> {
    const file = join(stateFolder, FILE);
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    // Only this class writes the file, whole.
    return new ControlGeneration(file, text === undefined ? undefined : (JSON.parse(text) as Obeyed));
  }

  /** Whether a control plane of this generation is obeyed. A higher one is remembered before its first call is carried out. */
  async admit(hostId: string, generation: number): Promise<boolean> {
    const highest = this.#obeyed?.host_id === hostId ? this.#obeyed.generation : 0;
    if (generation < highest) return false;
    if (generation > highest) this.#remember({ host_id: hostId, generation });
    await this.#saving;
    return true;
  }

  #remember(obeyed: Obeyed): void {
    this.#obeyed = obeyed;
    // One that could not be stored fails its own call, and not those after the next.
    this.#saving = this.#saving.catch(() => undefined).then(() => this.#save(obeyed));
    this.#saving.catch(() => undefined);
  }

  async #save(obeyed: Obeyed): Promise<void> {
    {
      await using part = await open(`${this.#file}.part`, "w", 0o600);
      await part.writeFile(`${JSON.stringify(obeyed)}\n`);
      await part.sync();
    }
    await rename(`${this.#file}.part`, this.#file);
  }
}
