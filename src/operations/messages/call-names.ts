// Ids of tool calls and names of tools, as this form takes them. Both maps are reversible, so that a client sends back
// what leads to the provider's own id, and no state has to be kept for the ids.
// https://platform.claude.com/docs/en/api/messages (tool_use.id: ^[a-zA-Z0-9_-]+$)
import { hash } from "node:crypto";

const FITS = /^[a-zA-Z0-9_-]+$/;
/** Begins every id that stands for another. An id of a provider that begins so is written in this way as well. */
const PREFIX = "gwid_";

/** Returns the id that the client gets for a provider's id. Different ids never become the same. */
export function clientCallId(id: string): string {
  return FITS.test(id) && !id.startsWith(PREFIX) ? id : PREFIX + Buffer.from(id, "utf8").toString("base64url");
}

/** Returns the provider's id for what the client sends back. */
export function providerCallId(id: string): string {
  if (!id.startsWith(PREFIX)) return id;
  const decoded = Buffer.from(id.slice(PREFIX.length), "base64url").toString("utf8");
  return clientCallId(decoded) === id ? decoded : id;
}

/** Chat completions bound names of functions at this length, this form at 128. */
const MAX_NAME = 64;
const DIGEST = 16;

/** Returns the name of a tool in a chat completion: a longer one keeps its beginning, and gets a digest of the whole. */
export function chatToolName(name: string): string {
  if (name.length <= MAX_NAME) return name;
  const digest = hash("sha256", name, "hex").slice(0, DIGEST);
  return `${name.slice(0, MAX_NAME - DIGEST - 1)}_${digest}`;
}
