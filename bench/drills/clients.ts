// The clients of the ledger drills. Each call has a number, by which the provider's books and the ledger's rows
// identify it, and the clients keep what they saw of it.
import type { GatewayProcess } from "../../test/harness/processes/gateway-process.ts";
import { type BookkeepingUpstream, usageOf } from "./ledger/upstream.ts";
import type { KeptRow } from "./ledger-rows.ts";

/** What the clients saw of their calls. */
export interface Clients {
  asked: number;
  /** Calls whose last byte reached a client, with the trace id from the answer. */
  readonly seen: Map<number, string>;
  /** Calls whose connection was cut. */
  readonly cut: Set<number>;
  /** Complete answers that were not a success. */
  readonly refused: string[];
  /** The number of calls that arrived at a gateway that was shutting down. */
  turnedAway: number;
}

export interface Load {
  readonly clients: Clients;
  /** Resolves when all calls that have begun by now have ended. */
  settled(): Promise<void>;
  /** Starts no further calls, and resolves when those in flight have ended. */
  end(): Promise<void>;
}

export interface LoadOptions {
  readonly workers: number;
  readonly paceMs: number;
  /** The model of a call, by its number. */
  readonly modelOf?: (call: number) => string;
  /** Each call opens a connection, so that the gateway's workers share them. */
  readonly isAlone?: boolean;
  /** Whether a refusal with this status breaks no promise. */
  readonly mayRefuse?: (call: number, status: number) => boolean;
}

/** Starts `workers` clients that pause for `paceMs` between calls. `gateway` returns null while no gateway is running. */
export function startLoad(options: LoadOptions, token: string, gateway: () => GatewayProcess | null): Load {
  const clients: Clients = { asked: 0, seen: new Map(), cut: new Set(), refused: [], turnedAway: 0 };
  const { workers, paceMs } = options;
  const inFlight = new Set<Promise<void>>();
  let goesOn = true;
  const worker = async (): Promise<void> => {
    while (goesOn) {
      const now = gateway();
      if (now === null) await Bun.sleep(2);
      else {
        const call = callOnce(now, token, clients, options);
        inFlight.add(call);
        await call;
        inFlight.delete(call);
      }
      if (paceMs > 0) await Bun.sleep(paceMs);
    }
  };
  const working = Array.from({ length: workers }, worker);
  return {
    clients,
    settled: async () => void (await Promise.all(inFlight)),
    async end() {
      goesOn = false;
      await Promise.all(working);
    },
  };
}

async function callOnce(
  gateway: GatewayProcess,
  token: string,
  clients: Clients,
  { modelOf = () => "books:m", isAlone = false, mayRefuse = () => false }: LoadOptions,
): Promise<void> {
  const call = clients.asked++;
  const stream = call % 2 === 0;
  try {
    const response = await gateway.chat(
      {
        model: modelOf(call),
        messages: [{ role: "user", content: String(call) }],
        metadata: { call: String(call) },
        stream,
      },
      { token, ...(isAlone && { headers: { connection: "close" } }) },
    );
    const text = await response.text();
    // A call that is refused has no stream.
    const isWhole = stream && response.status === 200 ? text.endsWith("data: [DONE]\n\n") : text.endsWith("}");
    if (!isWhole) clients.cut.add(call);
    else if (response.status === 503 && text.includes('"shutting_down"')) clients.turnedAway += 1;
    else if (mayRefuse(call, response.status)) return;
    else if (response.status !== 200 || text.includes('"error"'))
      clients.refused.push(`${call}: ${response.status} ${text.slice(0, 300)}`);
    else clients.seen.set(call, response.headers.get("x-gateway-trace-id")!);
  } catch {
    clients.cut.add(call);
  }
}

/** Returns every violation of promise 11.2. */
export function faultsOf(rows: readonly KeptRow[], clients: Clients, upstream: BookkeepingUpstream): readonly string[] {
  const faults = clients.refused.map((told) => `a call was refused: ${told}`);
  const byCall = new Map<number, KeptRow[]>();
  for (const row of rows) byCall.set(row.call, [...(byCall.get(row.call) ?? []), row]);
  for (const [call, of] of byCall) if (of.length > 1) faults.push(`call ${call} has ${of.length} rows`);
  for (const [call, traceId] of clients.seen) {
    const row = byCall.get(call)?.[0];
    const { promptTokens, completionTokens } = usageOf(call);
    if (row === undefined) faults.push(`call ${call} was answered to its last byte and has no row`);
    else if (
      row.traceId !== traceId ||
      !row.settled ||
      row.status !== 200 ||
      row.promptTokens !== promptTokens ||
      row.completionTokens !== completionTokens
    )
      faults.push(`call ${call} was answered to its last byte, and its row says ${JSON.stringify(row)}`);
    if (!upstream.served.has(call)) faults.push(`call ${call} was answered and not served`);
  }
  for (const call of upstream.asked)
    if (!byCall.has(call)) faults.push(`the provider was asked call ${call}, which has no row`);
  for (const row of rows) {
    if (row.settled && row.status === 200 && !upstream.served.has(row.call))
      faults.push(`call ${row.call} has a row of a success and was not served`);
    if (!row.settled && !clients.cut.has(row.call)) faults.push(`call ${row.call} is unsettled and was not cut`);
  }
  return faults;
}

/** Prints the first faults and how many there are, and returns the exit code. */
export function tellFaults(faults: readonly string[]): number {
  for (const fault of faults.slice(0, 20)) process.stdout.write(`BROKEN: ${fault}\n`);
  process.stdout.write(`${faults.length} broken promises\n`);
  return faults.length === 0 ? 0 : 1;
}
