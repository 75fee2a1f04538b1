// Reads a path that somebody has named, which may be of any size, or no file at all. The read blocks.
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/**
 * Returns the first `mostBytes + 1` bytes of a file, or all if there are fewer: more than `mostBytes` mean that the file is
 * too large, even if its size changes during the read. Returns `null` for what is neither a file nor a folder. Throws the
 * system's error.
 */
export function boundedBytes(path: string, mostBytes: number): Uint8Array | null {
  // Without O_NONBLOCK a named pipe would block the process until something is written to it.
  const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const found = fstatSync(descriptor);
    // opening a folder to read it is no error of the system
    if (found.isDirectory()) throw Object.assign(new Error("it is a folder"), { code: "EISDIR" });
    if (!found.isFile()) return null;
    const buffer = Buffer.alloc(mostBytes + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length < buffer.length; length += count)
      count = readSync(descriptor, buffer, length, buffer.length - length, null);
    return buffer.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}
