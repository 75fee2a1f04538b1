// The stop sequences of a request, for providers that take a list. An empty one, which most refuse, stops nothing, and
// undefined stands for none.
import type { ChatParams } from "../../core/chat.ts";

export function stopSequences(stop: ChatParams["stop"]): readonly string[] | undefined {
  const sequences = (typeof stop === "string" ? [stop] : (stop ?? [])).filter((sequence) => sequence !== "");
  return sequences.length === 0 ? undefined : sequences;
}
