// The clients of the drill of replicas. Each calls one gateway after the other, as behind a load balancer, and
// continues with the next one when a gateway is gone.
import type { GatewayProcess } from "../../../test/harness/processes/gateway-process.ts";
import type { Clients } from "../clients.ts";

export interface Answer {
  /** 0 when the connection was cut. */
  readonly status: number;
  readonly code: string | null;
  readonly tookMs: number;
}

/** The codes of refusals that the configuration intends: status 429, and 503 where a limit says `closed`. */
const SAID_BY_SETTINGS = new Set(["rate_limit_exceeded", "insufficient_quota", "limit_store_unavailable"]);
/**
 * Makes the prompt longer than any usage that the provider reports, so that a reservation is never smaller than what is
 * used.
 */
const PADDING = "word ".repeat(200);

export function newClients(): Clients {
  return { asked: 0, seen: new Map(), cut: new Set(), refused: [], turnedAway: 0 };
}

/** Makes a call and records that its last byte was seen, or that it was cut. With `isFree`, no limit may refuse it. */
export async function callOnce(
  gateway: Pick<GatewayProcess, "chat">,
  token: string,
  clients: Clients,
  { route, stream, isFree = false }: { readonly route: string; readonly stream: boolean; readonly isFree?: boolean },
): Promise<Answer> {
  const call = clients.asked++;
  const startedMs = performance.now();
  try {
    const body = {
      route,
      messages: [{ role: "user", content: `${call} ${PADDING}` }],
      max_completion_tokens: 100,
      metadata: { call: String(call) },
      stream,
    };
    const response = await gateway.chat(body, { token });
    const text = await response.text();
    const tookMs = performance.now() - startedMs;
    const code = codeOf(text);
    const isWhole = response.status !== 200 || !stream ? text.endsWith("}") : text.endsWith("data: [DONE]\n\n");
    if (!isWhole) clients.cut.add(call);
    else if (response.status !== 200 || code !== null) {
      // an error in a stream that has begun is not an answer either
      if (response.status === 200) clients.cut.add(call);
      if (isFree || !SAID_BY_SETTINGS.has(code ?? ""))
        clients.refused.push(`${call} on ${route}: ${response.status} ${text.slice(0, 300)}`);
    } else clients.seen.set(call, response.headers.get("x-gateway-trace-id")!);
    return { status: isWhole ? response.status : 0, code, tookMs };
  } catch {
    clients.cut.add(call);
    return { status: 0, code: null, tookMs: performance.now() - startedMs };
  }
}

function codeOf(text: string): string | null {
  return /"error":\{.*?"code":"(\w+)"/.exec(text)?.[1] ?? null;
}

export interface Load {
  /** Starts no further calls, and resolves when those in flight have ended. */
  end(): Promise<void>;
}

/** Starts `workers` clients that pause for `paceMs` between calls. */
export function startLoad(
  { workers, paceMs }: { readonly workers: number; readonly paceMs: number },
  call: (gateway: GatewayProcess, turn: number) => Promise<unknown>,
  gateways: readonly (GatewayProcess | null)[],
): Load {
  let goesOn = true;
  let turn = 0;
  const worker = async (): Promise<void> => {
    while (goesOn) {
      const gateway = gateways[++turn % gateways.length] ?? null;
      if (gateway === null) await Bun.sleep(2);
      else await call(gateway, turn);
      if (paceMs > 0) await Bun.sleep(paceMs);
    }
  };
  const working = Array.from({ length: workers }, worker);
  return {
    async end() {
      goesOn = false;
      await Promise.all(working);
    },
  };
}
