// The real gateway with one provider of each wire family behind it, all of them one scripted server in this process.
import { type GatewayProcess, startGateway } from "../harness/gateway-process.ts";
import { type FakeUpstream, startUpstream } from "../harness/upstream.ts";
import { scriptOf } from "./scripted-answers.ts";
import { WIRE_FAMILIES } from "./wire-families.ts";

/** The wire form of a target, and what a client sends as `model` to reach it. */
export const FAMILIES = [
  { wire: "openai", model: "scripted:scripted-model" },
  { wire: "anthropic", model: "anthropic:claude-sonnet-4-5" },
  { wire: "gemini", model: "gemini:gemini-2.5-flash" },
] as const;
export type Family = (typeof FAMILIES)[number];

export interface FamilyGateway {
  readonly gateway: GatewayProcess;
  readonly upstream: FakeUpstream;
  /** `<gateway>/api/v1`, as clients want it. */
  readonly baseUrl: string;
  readonly token: string;
  /** Lets the stream that tells an error do so: not before the client has read what was said. */
  goOn(): void;
  /** Resolves, with the time of it, when the next upstream call that hangs has been ended by the gateway. */
  nextEnded(): Promise<number>;
  stop(): Promise<void>;
}

export async function startFamilyGateway(): Promise<FamilyGateway> {
  let goOn = (): void => {};
  let ended: (atMs: number) => void = () => {};
  const upstream = startUpstream(({ path, text, body }, raw) => {
    const wire = /^\/(openai|anthropic|gemini)\//.exec(path)![1] as keyof typeof WIRE_FAMILIES;
    const family = WIRE_FAMILIES[wire];
    const script = scriptOf(text);
    if (typeof script === "string") {
      const { status, headers, body: error } = family.failures[script];
      return Response.json(error, { status, headers });
    }
    const isStream = body["stream"] === true || path.includes(":streamGenerateContent");
    if (script.afterwards === "silence") raw.signal.addEventListener("abort", () => ended(performance.now()), { once: true });
    if (!isStream) return script.afterwards === undefined ? Response.json(family.whole(script, body)) : NEVER;
    const rest = { silence: NEVER, error: new Promise<string>((resolve) => (goOn = () => resolve(family.errorEvent))), end: "" }[script.afterwards ?? "end"];
    return new Response(streamBody(family.stream(script, body), rest), { headers: { "content-type": "text/event-stream" } });
  });
  const gateway = await startGateway({
    config: `providers:
  scripted: {type: custom, base_url: "${upstream.url}/openai/v1", api_key: key-of-scripted, models: [scripted-model]}
  anthropic: {base_url: "${upstream.url}/anthropic", api_key: key-of-anthropic}
  gemini: {base_url: "${upstream.url}/gemini", api_key: key-of-gemini}
`,
  });
  return {
    gateway,
    upstream,
    baseUrl: `${gateway.url}/api/v1`,
    token: gateway.firstToken!,
    goOn: () => goOn(),
    nextEnded: () => new Promise((resolve) => (ended = resolve)),
    async stop() {
      await gateway.stop();
      await upstream.stop();
    },
  };
}

/** What never comes, as a piece of a stream and as an answer. */
const NEVER = new Promise<never>(() => {});

function streamBody(begin: string, rest: string | Promise<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(encoder.encode(begin));
      controller.enqueue(encoder.encode(await rest));
      controller.close();
    },
  });
}
