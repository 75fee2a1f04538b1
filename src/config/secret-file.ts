// Reads a secret from a file of its own, as Docker and Kubernetes mount them (/run/secrets/name). The read blocks, like
// that of the configuration.
import { isAbsolute } from "node:path";
import { boundedBytes } from "./bounded-file.ts";
import { pathFault } from "./path-fault.ts";

export const MAX_SECRET_FILE_BYTES = 64 * 1024;

/** The file's text without the line break at its end. A problem names the path, never the content. */
export function readSecretFile(path: string): { readonly text: string } | { readonly problem: string } {
  // A relative path would depend on the folder in which the gateway is started.
  if (!isAbsolute(path)) return { problem: "the path of a secret must be absolute, such as /run/secrets/name" };
  let bytes: Uint8Array | null;
  try {
    bytes = boundedBytes(path, MAX_SECRET_FILE_BYTES);
  } catch (thrown) {
    return { problem: `the file ${path} cannot be read: ${pathFault(thrown, path)}` };
  }
  if (bytes === null) return { problem: `the file ${path} cannot be read: it is not a file` };
  if (bytes.length > MAX_SECRET_FILE_BYTES)
    return { problem: `the file ${path} is larger than ${MAX_SECRET_FILE_BYTES} bytes` };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/[\r\n]+$/, "");
    return text === "" ? { problem: `the file ${path} is empty` } : { text };
  } catch {
    return { problem: `the file ${path} is not UTF-8` };
  }
}
