// Which system an executable is for, by its header.
import { expect, test } from "bun:test";
import { systemOf } from "../../release/file-header.ts";
import { ownTarget, TARGETS } from "../../release/targets.ts";

/** The first bytes of an executable, with these values at these places. */
function header(values: readonly (readonly [offset: number, hex: string])[]): Uint8Array {
  const file = new Uint8Array(256);
  for (const [offset, hex] of values) file.set(Buffer.from(hex, "hex"), offset);
  return file;
}
const PE = [
  [0, "4d5a"],
  [0x3c, "80000000"],
  [0x80, "50450000"],
] as const;

test("[d15.1] the header of an executable says its system and processor", async () => {
  const ELF = [0, "7f454c46"] as const;
  const read = [
    header([ELF, [18, "3e00"]]),
    header([ELF, [18, "b700"]]),
    header([[0, "cffaedfe07000001"]]),
    header([[0, "cffaedfe0c000001"]]),
    header([...PE, [0x84, "6486"]]),
  ].map(systemOf);
  expect(read).toEqual(["linux-x64", "linux-arm64", "macos-x64", "macos-arm64", "windows-x64"]);
  expect(read.filter((system) => !TARGETS.some(({ name }) => name === system))).toEqual([]);
  const own = systemOf(await Bun.file(process.execPath).bytes());
  expect(own).toBe(ownTarget()?.replace("-musl", "") ?? null);
});

test.each([
  ["a text", new Uint8Array(256).fill(0x20)],
  ["nothing", new Uint8Array()],
  [
    "a processor for which nothing is built",
    header([
      [0, "7f454c46"],
      [18, "f300"],
    ]),
  ],
  [
    "a header beyond the end of the file",
    header([
      [0, "4d5a"],
      [0x3c, "ffffff7f"],
    ]),
  ],
])("[d15.1] %s is no such executable", (_, file) => {
  expect(systemOf(file)).toBeNull();
});

test("[d15.1] the bundler is told the system of each target", () => {
  for (const { name, compiled, runtime } of TARGETS) {
    expect<string>(compiled).toBe(`bun-${name.replace("macos", "darwin")}`);
    expect<string>(`@oven/${compiled}`.replace("arm64", "aarch64")).toBe(runtime);
  }
});
