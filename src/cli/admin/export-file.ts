// Writes what the gateway exports: to standard output, or to a new file that only its owner can read.
import { open, rm } from "node:fs/promises";
import { messageOf } from "../../core/thrown.ts";

/**
 * Throws Error when the file is there already or cannot be written, and when the export breaks off: the beginning of one
 * would look like a whole one, and would be in the way of the next.
 */
export async function writeExport(text: ReadableStream<Uint8Array>, out: string | undefined): Promise<void> {
  if (out === undefined) {
    for await (const part of text) process.stdout.write(part);
    return;
  }
  const file = await open(out, "wx", 0o600).catch((thrown: unknown) => {
    throw new Error(`${out} cannot be written: ${messageOf(thrown)}. An existing file is not replaced.`, {
      cause: thrown,
    });
  });
  try {
    for await (const part of text) await file.writeFile(part);
  } catch (thrown) {
    await rm(out, { force: true });
    throw new Error(`The export broke off, so there is no ${out}: ${messageOf(thrown)}`, { cause: thrown });
  } finally {
    await file.close();
  }
}
