// Going back to an earlier version of an object: the request, which is shown and sent.
import type { ShownRequest } from "../api/command-of.ts";

/** `path` is that of the object. */
export function goingBack(path: string, number: number): ShownRequest {
  const note = new URLSearchParams({ note: `Back to version ${number}` }).toString();
  return { method: "POST", path: `${path}/rollback?${note}`, body: { to: number } };
}
