// A strict reader of the gateway's event streams, like a client's.
import type { Json } from "../../src/core/json.ts";

export interface ReadStream {
  readonly events: readonly Record<string, any>[];
  readonly comments: number;
  /** `[DONE]` came, and came last. */
  readonly done: boolean;
  readonly error: Record<string, any> | null;
  /** Text of choice 0. */
  readonly content: string;
}

/** Throws when a line is neither data, comment nor blank, or data is not one line of JSON. */
export function readStream(text: string): ReadStream {
  const events: Record<string, any>[] = [];
  let comments = 0;
  let done = false;
  for (const block of text.split("\n\n")) {
    if (block === "") continue;
    if (block.startsWith(":")) {
      comments++;
      continue;
    }
    if (!block.startsWith("data: ") || block.includes("\n"))
      throw new Error(`not a one-line data event: ${block.slice(0, 200)}`);
    if (done) throw new Error(`an event after [DONE]: ${block.slice(0, 200)}`);
    if (block === "data: [DONE]") done = true;
    else events.push(JSON.parse(block.slice(6)) as Record<string, any>);
  }
  const content = events
    .flatMap((event) => event["choices"] ?? [])
    .filter((choice) => choice.index === 0)
    .map((choice) => choice.delta.content ?? "")
    .join("");
  return { events, comments, done, error: events.find((event) => event["error"])?.["error"] ?? null, content };
}

/** Returns the data of all events as JSON, without `[DONE]`, however the stream writes its lines. */
export function dataOf(text: string): readonly Json[] {
  return text.split(/\r?\n\r?\n/).flatMap((block) => {
    const lines = block.split(/\r?\n/).filter((line) => line.startsWith("data:"));
    const data = lines.map((line) => line.slice("data:".length).trim()).join("\n");
    return data === "" || data === "[DONE]" ? [] : [JSON.parse(data) as Json];
  });
}
