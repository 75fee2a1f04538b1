// The commit of the checkout from which a release is made.
import { join } from "node:path";
import { run } from "./command.ts";

export const PROJECT = join(import.meta.dir, "..");

export interface Source {
  readonly commit: string;
  /** Whether the checkout has changes that are not in that commit. */
  readonly isChanged: boolean;
  /** Of the commit, in seconds since 1970. */
  readonly madeAt: number;
}

export async function readSource(): Promise<Source> {
  return {
    commit: await run(["git", "rev-parse", "HEAD"], PROJECT),
    isChanged: (await run(["git", "status", "--porcelain"], PROJECT)) !== "",
    madeAt: Number(await run(["git", "log", "-1", "--format=%ct"], PROJECT)),
  };
}
