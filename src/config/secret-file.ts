// Reads a secret from a file of its own, as Docker and Kubernetes mount them (/run/secrets/name). The read blocks, like
// that of the configuration.
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { isAbsolute } from "node:path";
import { FOLDER_INSTEAD, pathFault } from "./path-fault.ts";

export const MAX_SECRET_FILE_BYTES = 64 * 1024;

/** The file's text without the line break at its end. A problem names the path, never the content. */
export function readSecretFile(path: string): { readonly text: string } | { readonly problem: string } {
  // A relative path would depend on the folder in which the gateway is started.
  if (!isAbsolute(path)) return { problem: "the path of a secret must be absolute, such as /run/secrets/name" };
  const bytes = boundedBytes(path);
  if (typeof bytes === "string") return { problem: `the file ${path} cannot be read: ${bytes}` };
  if (bytes.length > MAX_SECRET_FILE_BYTES)
    return { problem: `the file ${path} is larger than ${MAX_SECRET_FILE_BYTES} bytes` };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/[\r\n]+$/, "");
    return text === "" ? { problem: `the file ${path} is empty` } : { text };
  } catch {
    return { problem: `the file ${path} is not UTF-8` };
  }
}

function boundedBytes(path: string): Uint8Array | string {
  try {
    // Without O_NONBLOCK a named pipe would block the process until something is written to it.
    const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const found = fstatSync(descriptor);
      if (found.isDirectory()) return FOLDER_INSTEAD;
      if (!found.isFile()) return "it is not a file";
      const buffer = Buffer.alloc(MAX_SECRET_FILE_BYTES + 1);
      let length = 0;
      for (let count = -1; count !== 0 && length < buffer.length; length += count)
        count = readSync(descriptor, buffer, length, buffer.length - length, null);
      return buffer.subarray(0, length);
    } finally {
      closeSync(descriptor);
    }
  } catch (thrown) {
    return pathFault(thrown, path);
  }
}
