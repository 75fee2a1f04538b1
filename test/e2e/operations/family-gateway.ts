// The real gateway with one provider of each wire family behind it, all of them one scripted server in this process.
import { generateKeyPairSync } from "node:crypto";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { type FakeUpstream, startUpstream } from "../../harness/servers/upstream.ts";
import { familiesConfig, WIRE_FAMILIES, type Wire } from "./families.ts";
import { scriptOf } from "./scripted-answers.ts";
import type { WireFamily } from "./wire-family.ts";

export interface FamilyGateway {
  readonly gateway: GatewayProcess;
  readonly upstream: FakeUpstream;
  /** Google's service of access tokens. */
  readonly tokens: FakeUpstream;
  /** `<gateway>/api/v1`, as clients want it. */
  readonly baseUrl: string;
  readonly token: string;
  /** Lets the stream that tells an error do so: not before the client has read what was said. */
  goOn(): void;
  /** Resolves, with the time of it, when the next upstream call that hangs has been ended by the gateway. */
  nextEnded(): Promise<number>;
  stop(): Promise<void>;
}

/** What the providers that count tokens before a call say. */
export const COUNTED_TOKENS = 1234;

/** `config`: further text of the configuration. */
export async function startFamilyGateway(config = ""): Promise<FamilyGateway> {
  let goOn = (): void => {};
  let ended: (atMs: number) => void = () => {};
  const upstream = startUpstream(({ path, text, body }, raw) => {
    const family: WireFamily = WIRE_FAMILIES[/^\/(\w+)\//.exec(path)![1] as Wire];
    if (path.endsWith("/count_tokens")) return Response.json({ input_tokens: COUNTED_TOKENS });
    const script = scriptOf(text);
    if (typeof script === "string") {
      const { status, headers, body: error } = family.failures[script];
      return Response.json(error, { status, headers });
    }
    const isStream = body["stream"] === true || /:streamGenerateContent|\/converse-stream$/.test(path);
    if (script.afterwards === "silence")
      raw.signal.addEventListener("abort", () => ended(performance.now()), { once: true });
    if (!isStream) return script.afterwards === undefined ? Response.json(family.whole(script, body)) : NEVER;
    const rest = {
      silence: NEVER,
      error: new Promise<string | Uint8Array>((resolve) => (goOn = () => resolve(family.errorEvent))),
      end: "",
    }[script.afterwards ?? "end"];
    return new Response(streamBody(family.stream(script, body), rest), {
      headers: { "content-type": family.contentType ?? "text/event-stream" },
    });
  });
  const tokens = startTokenService();
  const gateway = await startGateway({
    config: `${familiesConfig(upstream.url, tokens.url, serviceAccount())}\n${config}`,
  });
  return {
    gateway,
    upstream,
    tokens,
    baseUrl: `${gateway.url}/api/v1`,
    token: gateway.firstToken!,
    goOn: () => goOn(),
    nextEnded: () => new Promise((resolve) => (ended = resolve)),
    async stop() {
      await gateway.stop();
      await Promise.all([upstream.stop(), tokens.stop()]);
    },
  };
}

/** What a request holds, without the quotes of JSON: the schema stands in it as an object, or as a text (Bedrock). */
export function saidTo(upstream: FakeUpstream): string {
  return upstream.last().text.replaceAll("\\", "").replaceAll('"', "");
}

/** What never comes, as a piece of a stream and as an answer. */
const NEVER = new Promise<never>(() => {});

function streamBody(
  begin: string | Uint8Array,
  rest: string | Uint8Array | Promise<string | Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from(begin));
      controller.enqueue(Buffer.from(await rest));
      controller.close();
    },
  });
}

/** Each token is another one. https://developers.google.com/identity/protocols/oauth2/service-account#httprest */
function startTokenService(): FakeUpstream {
  let made = 0;
  return startUpstream(() =>
    Response.json({ access_token: `token-of-vertex-${++made}`, expires_in: 3600, token_type: "Bearer" }),
  );
}

function serviceAccount(): object {
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  return {
    type: "service_account",
    project_id: "scripted-project",
    private_key_id: "1",
    private_key: privateKey,
    client_email: "gateway@scripted-project.iam.gserviceaccount.com",
    token_uri: "https://oauth2.googleapis.com/token",
  };
}
