// Reads the streams of the Messages API, and is as strict as the strictest of the client libraries.
export interface Event extends Record<string, any> {
  readonly type: string;
}

/** Reads a stream as strictly as the vendor describes it. Throws where blocks overlap or events are out of order. */
export function readEvents(text: string): {
  readonly events: readonly Event[];
  readonly content: readonly Record<string, any>[];
} {
  const events: Event[] = [];
  const content: Record<string, any>[] = [];
  let open = -1;
  for (const block of text.split("\n\n").slice(0, -1)) {
    const [name, data, ...more] = block.split("\n");
    const event = JSON.parse(data!.slice("data: ".length)) as Event;
    if (name !== `event: ${event.type}` || more.length > 0) throw new Error(`not an event: ${block}`);
    events.push(event);
    switch (event.type) {
      case "content_block_start":
        if (open !== -1 || event["index"] !== content.length)
          throw new Error(`block ${event["index"]} begins at ${content.length}`);
        open = event["index"] as number;
        content.push({ ...event["content_block"], pieces: "" });
        break;
      case "content_block_delta": {
        if (event["index"] !== open) throw new Error(`a delta for block ${event["index"]}, but ${open} is open`);
        const { type, signature, ...piece } = event["delta"];
        if (type === "signature_delta") content[open]!["signature"] = signature;
        else content[open]!["pieces"] += Object.values(piece).join("");
        break;
      }
      case "content_block_stop":
        if (event["index"] !== open) throw new Error(`block ${event["index"]} ends, but ${open} is open`);
        open = -1;
        break;
      default:
        if (event.type !== "ping" && event.type !== "error" && open !== -1)
          throw new Error(`${event.type} within a block`);
    }
  }
  return { events, content };
}
