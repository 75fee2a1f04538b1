// Writes what the gateway exports: to standard output, or to a new file that only its owner can read.
import { existsSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { codeOf, messageOf } from "../../core/thrown.ts";
import { printJson, printLine } from "../output.ts";
import { placeAs, unfinishedPath } from "../../store/copies/unfinished-file.ts";

/**
 * Throws Error when the file is there already or cannot be written, and when the export breaks off. The file gets its name
 * at the end: the beginning of an export would look like a whole one, and would be in the way of the next. `hint` follows
 * what is said of a file that is written.
 */
export async function writeExport(
  text: ReadableStream<Uint8Array>,
  { out, json }: { readonly out?: string; readonly json?: true },
  hint = "",
): Promise<void> {
  if (out === undefined) return await pipeline(text, process.stdout, { end: false });
  const cannotWrite = (thrown: unknown): Error =>
    new Error(`${out} cannot be written: ${messageOf(thrown)}. An existing file is not replaced.`, { cause: thrown });
  if (existsSync(out)) throw cannotWrite("it is there already");
  const unfinished = unfinishedPath(out);
  const file = await open(unfinished, "wx", 0o600).catch((thrown: unknown) => {
    throw cannotWrite(thrown);
  });
  try {
    for await (const part of text) await file.writeFile(part);
    placeAs(unfinished, out);
  } catch (thrown) {
    await rm(unfinished, { force: true });
    if (codeOf(thrown) === "EEXIST") throw cannotWrite(thrown);
    throw new Error(`The export broke off, so there is no ${out}: ${messageOf(thrown)}`, { cause: thrown });
  } finally {
    await file.close();
  }
  if (json === true) printJson({ file: out });
  else printLine(`The export is in ${out}.${hint}`);
}
