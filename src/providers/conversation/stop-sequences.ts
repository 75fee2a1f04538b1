// The stop sequences of a request, for providers that take a list. An empty one, which most refuse, stops nothing.
import type { ChatParams } from "../../core/chat.ts";

export function stopSequences(stop: ChatParams["stop"]): readonly string[] {
  return (typeof stop === "string" ? [stop] : (stop ?? [])).filter((sequence) => sequence !== "");
}
