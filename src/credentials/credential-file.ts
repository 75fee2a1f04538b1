// Reads a file of the operator that a credential names by its path. It is read at each exchange, so that keys or
// assertions can be rotated by rewriting it.
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { ExchangeFault } from "./token-exchange.ts";

const MAX_BYTES = 64 * 1024;

/** Throws ExchangeFault `unusable`, which names the path for the log. */
export async function readCredentialFile(path: string): Promise<string> {
  try {
    // Without O_NONBLOCK a named pipe would block the exchange until something is written to it.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      if (!(await file.stat()).isFile()) throw new ExchangeFault("unusable", `${path} is not a file`);
      const buffer = Buffer.alloc(MAX_BYTES + 1);
      let length = 0;
      for (let count = -1; count !== 0 && length < buffer.length; length += count)
        count = (await file.read(buffer, length, buffer.length - length, null)).bytesRead;
      if (length > MAX_BYTES) throw new ExchangeFault("unusable", `the file ${path} is larger than ${MAX_BYTES} bytes`);
      return buffer.toString("utf8", 0, length);
    } finally {
      await file.close();
    }
  } catch (thrown) {
    if (thrown instanceof ExchangeFault) throw thrown;
    throw new ExchangeFault(
      "unusable",
      `the file ${path} cannot be read (${(thrown as NodeJS.ErrnoException).code ?? "unknown"})`,
      thrown,
    );
  }
}
