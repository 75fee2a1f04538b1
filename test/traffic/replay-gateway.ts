// Recorded exchanges through a real gateway with several workers (DRAGOMAN_TEST_WORKERS=2 npm test -- traffic), in place of
// the gateway in the process of the tests: a server on loopback answers as the provider did.
import type { CannedAnswer } from "../harness/in-process.ts";
import { type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";

/** A request as it reached the provider. */
export interface SentRequest {
  readonly url: string;
  readonly body: string;
}

export interface ReplayedCall {
  readonly gateway: { readonly sent: readonly SentRequest[] };
  readonly answer: Promise<Response>;
}

export interface ReplayGateway {
  /** `base` is what the provider's address looks like to the test. */
  call(body: object, answer: CannedAnswer, base: string): ReplayedCall;
  close(): Promise<void>;
}

/** Headers of a recording that say how its bytes were sent then. */
const OF_CONNECTION = new Set(["connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"]);

export async function openReplayGateway(workers: string): Promise<ReplayGateway> {
  const answers = new Map<
    string,
    { readonly answer: CannedAnswer; readonly base: string; readonly sent: SentRequest[] }
  >();
  const upstream = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const [, id = "", rest = ""] = /^\/(\d+)(.*)$/s.exec(pathname) ?? [];
      const { answer, base, sent } = answers.get(id)!;
      sent.push({ url: `${base}${rest}${search}`, body: await request.text() });
      const headers = Object.entries(answer.headers ?? {}).filter(([name]) => !OF_CONNECTION.has(name.toLowerCase()));
      return new Response(answer.body as Uint8Array<ArrayBuffer>, { status: answer.status ?? 200, headers });
    },
  });
  const gateway: GatewayProcess = await startGateway({
    environment: { DRAGOMAN_ALLOW_PRIVATE_ADDRESSES: "1" },
    flags: ["--workers", workers],
  });
  const token = await gateway.createToken("--permission", "byo_endpoint");
  let calls = 0;
  return {
    call(body, answer, base) {
      const id = String(calls++);
      const sent: SentRequest[] = [];
      answers.set(id, { answer, base, sent });
      const call = gateway.chat(
        { ...body, base_url: `http://127.0.0.1:${upstream.port}/${id}` },
        { token, headers: { connection: "close" } },
      );
      return { gateway: { sent }, answer: call };
    },
    async close() {
      await gateway.stop("SIGTERM");
      await upstream.stop(true);
      if (calls === 0) throw new Error("no recorded exchange went through the gateway");
    },
  };
}
