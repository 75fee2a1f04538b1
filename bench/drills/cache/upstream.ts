// A provider that says in each answer what it was asked and with which serial number it answers, again and again over the
// whole answer, so that a client sees whose answer it has, and whether all of it is there. Some requests fail, and some
// streams break off.
const PIECES = 6;
const MAX_PAUSE_MS = 12;

export interface EchoUpstream {
  readonly port: number;
  /** The serial number of the latest request. */
  serial(): number;
  /** The requests that were not refused with an error. */
  accepted(): number;
  stop(): Promise<void>;
}

/** What an answer consists of: `[<serial> <what was asked>]`, so many times. */
export interface Said {
  readonly serial: number;
  readonly asked: string;
}

/** What a client asks that may make a difference; the order is that of the echo. */
export function askedText(body: Readonly<Record<string, unknown>>): string {
  const { model, messages, temperature = null, seed = null, stream = false } = body;
  const content = (messages as readonly { readonly content: string }[] | undefined)?.at(-1)?.content ?? "";
  return [String(model).split(":").at(-1), content, temperature, seed, stream].join("/");
}

/** Returns what a text says, if it says the same throughout; `null` for a text that mixes answers. */
export function saidIn(text: string): { readonly said: Said; readonly isWhole: boolean } | null {
  const pieces = [...text.matchAll(/\[(\d+) ([^\]]*)\]/g)];
  const [first] = pieces;
  if (first === undefined || pieces.some(([piece]) => piece !== first[0])) return null;
  return { said: { serial: Number(first[1]), asked: first[2]! }, isWhole: pieces.length === PIECES };
}

export function startEchoUpstream(): EchoUpstream {
  let serials = 0;
  let accepted = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const body = (await request.json()) as Record<string, unknown>;
      const serial = ++serials;
      if (serial % 23 === 0)
        return Response.json({ error: { message: "Not now.", type: "server_error" } }, { status: 500 });
      accepted += 1;
      const piece = `[${serial} ${askedText(body)}]`;
      const pause = (): Promise<void> => Bun.sleep(Math.random() * MAX_PAUSE_MS);
      if (body["stream"] !== true) {
        await pause();
        return Response.json({
          id: `chatcmpl-${serial}`,
          choices: [{ index: 0, message: { role: "assistant", content: piece.repeat(PIECES) }, finish_reason: "stop" }],
          usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
        });
      }
      const breaksOff = serial % 11 === 0;
      return new Response(
        async function* () {
          const event = (delta: object, finish: string | null, more: object = {}): string =>
            `data: ${JSON.stringify({ id: `chatcmpl-${serial}`, choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
          for (let sent = 0; sent < PIECES; sent++) {
            if (breaksOff && sent === 3) return;
            yield event({ content: piece }, null);
            await pause();
          }
          yield event({}, "stop", { usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 } });
          yield "data: [DONE]\n\n";
        },
        { headers: { "content-type": "text/event-stream" } },
      );
    },
    error: () => new Response(null, { status: 500 }),
  });
  return {
    port: server.port!,
    serial: () => serials,
    accepted: () => accepted,
    stop: () => server.stop(true),
  };
}
