// The systems for which there is an executable: those for which npm has a package of the runtime.
import type { Build } from "bun";
import { isMusl } from "../bin/runtime.mjs";

export interface Target {
  /** As it stands in the name of the executable. */
  readonly name: string;
  /** The package of the runtime for this system. */
  readonly runtime: string;
  /** What Bun's bundler calls this system. */
  readonly compiled: Build.CompileTarget;
  readonly ending: "" | ".exe";
  /** Whether the project's tests have run against it. Others are built, and their contents are listed. */
  readonly isTested: boolean;
}

/** https://www.npmjs.com/package/bun lists the packages as its optional dependencies. */
export const TARGETS: readonly Target[] = [
  { name: "linux-x64", runtime: "@oven/bun-linux-x64", compiled: "bun-linux-x64", ending: "", isTested: true },
  {
    name: "linux-x64-musl",
    runtime: "@oven/bun-linux-x64-musl",
    compiled: "bun-linux-x64-musl",
    ending: "",
    isTested: false,
  },
  { name: "linux-arm64", runtime: "@oven/bun-linux-aarch64", compiled: "bun-linux-arm64", ending: "", isTested: false },
  {
    name: "linux-arm64-musl",
    runtime: "@oven/bun-linux-aarch64-musl",
    compiled: "bun-linux-arm64-musl",
    ending: "",
    isTested: false,
  },
  { name: "macos-x64", runtime: "@oven/bun-darwin-x64", compiled: "bun-darwin-x64", ending: "", isTested: false },
  {
    name: "macos-arm64",
    runtime: "@oven/bun-darwin-aarch64",
    compiled: "bun-darwin-arm64",
    ending: "",
    isTested: false,
  },
  {
    name: "windows-x64",
    runtime: "@oven/bun-windows-x64",
    compiled: "bun-windows-x64",
    ending: ".exe",
    isTested: false,
  },
];

/** Throws when there is no such target. */
export function targetNamed(name: string): Target {
  const target = TARGETS.find((one) => one.name === name);
  if (target === undefined)
    throw new Error(`There is no target "${name}". The targets are ${TARGETS.map((one) => one.name).join(", ")}.`);
  return target;
}

/** The name of the target of this machine, or null when there is none. */
export function ownTarget(): string | null {
  const system = { linux: "linux", darwin: "macos", win32: "windows" }[process.platform as string];
  const name = `${system}-${process.arch}${process.platform === "linux" && isMusl() ? "-musl" : ""}`;
  return TARGETS.some((one) => one.name === name) ? name : null;
}
