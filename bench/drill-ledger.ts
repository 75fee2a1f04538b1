// `npm run drill:ledger`: the real gateway under load, killed with SIGKILL at random moments and started again on its data folder. At the end its ledger has to
// equal the provider's books (decisions 11.2). `--short` kills less often; `--kills` and `--seconds` say how much. Ends with code 1 when a promise was broken.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type GatewayProcess, startGateway } from "../test/harness/gateway-process.ts";
import { type BookkeepingUpstream, startBookkeepingUpstream, usageOf } from "./drill-ledger-upstream.ts";
import { countedCalls, keptRows, type KeptRow } from "./ledger-rows.ts";

const { values: flags } = parseArgs({ options: { short: { type: "boolean", default: false }, kills: { type: "string" } } });
const KILLS = Number(flags.kills ?? (flags.short ? 6 : 50));
const WORKERS = 32;
const MIN_LIFE_MS = 60;
const MAX_LIFE_MS = 500;

/** What clients saw of their calls. */
interface Clients {
  asked: number;
  /** Calls whose last byte a client saw, with the trace id that stood in the answer. */
  readonly seen: Map<number, string>;
  /** Calls that were cut. */
  readonly cut: Set<number>;
  /** Answers that were whole and no success. */
  readonly refused: string[];
}

async function callOnce(gateway: GatewayProcess, token: string, clients: Clients): Promise<void> {
  const call = clients.asked++;
  const stream = call % 2 === 0;
  try {
    const response = await gateway.chat({ model: "books:m", messages: [{ role: "user", content: String(call) }], metadata: { call: String(call) }, stream }, { token });
    const text = await response.text();
    const isWhole = stream ? text.endsWith("data: [DONE]\n\n") : text.endsWith("}");
    if (!isWhole) clients.cut.add(call);
    else if (response.status !== 200 || text.includes('"error"')) clients.refused.push(`${call}: ${response.status} ${text.slice(0, 300)}`);
    else clients.seen.set(call, response.headers.get("x-gateway-trace-id")!);
  } catch {
    clients.cut.add(call);
  }
}

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-drill-"));
  const dataFolder = join(folder, "data");
  const upstream = startBookkeepingUpstream();
  const config = `providers:\n  books: { type: custom, base_url: "http://127.0.0.1:${upstream.port}/v1" }\n`;
  const clients: Clients = { asked: 0, seen: new Map(), cut: new Set(), refused: [] };
  const start = () => startGateway({ dataFolder, config });
  let gateway: GatewayProcess | null = await start();
  const token = gateway.firstToken!;
  const workers = { go: true };
  const worker = async (): Promise<void> => {
    while (workers.go) {
      if (gateway === null) await Bun.sleep(2);
      else await callOnce(gateway, token, clients);
    }
  };
  const working = Array.from({ length: WORKERS }, worker);
  for (let kill = 0; kill < KILLS; kill++) {
    await Bun.sleep(MIN_LIFE_MS + Math.random() * (MAX_LIFE_MS - MIN_LIFE_MS));
    const killed: GatewayProcess = gateway;
    gateway = null;
    await killed.stop("SIGKILL");
    rmSync(killed.folder, { recursive: true, force: true });
    gateway = await start();
  }
  await Bun.sleep(MAX_LIFE_MS);
  workers.go = false;
  await Promise.all(working);
  await gateway.stop("SIGTERM");
  rmSync(gateway.folder, { recursive: true, force: true });
  await upstream.stop();
  const rows = keptRows(dataFolder);
  const faults = [...judge(rows, clients, upstream)];
  const { calls, inSums } = countedCalls(dataFolder);
  if (calls !== inSums) faults.push(`the database has ${calls} calls, and ${inSums} in its sums`);
  rmSync(folder, { recursive: true, force: true });
  const unsettled = rows.filter(({ settled }) => !settled).length;
  process.stdout.write(`${KILLS} kills, ${clients.asked} calls: ${clients.seen.size} answered to the last byte, ${clients.cut.size} cut. The provider was asked ${upstream.asked.size} times and served ${upstream.served.size} answers.\n`);
  process.stdout.write(`The ledger has ${rows.length} rows, ${unsettled} of them of calls that were under way at a kill.\n`);
  for (const fault of faults.slice(0, 20)) process.stdout.write(`BROKEN: ${fault}\n`);
  process.stdout.write(`${faults.length} broken promises\n`);
  return faults.length === 0 ? 0 : 1;
}

function judge(rows: readonly KeptRow[], clients: Clients, upstream: BookkeepingUpstream): readonly string[] {
  const faults = clients.refused.map((told) => `a call was refused: ${told}`);
  const byCall = new Map<number, KeptRow[]>();
  for (const row of rows) byCall.set(row.call, [...(byCall.get(row.call) ?? []), row]);
  for (const [call, of] of byCall) if (of.length > 1) faults.push(`call ${call} has ${of.length} rows`);
  if (new Set(rows.map(({ traceId }) => traceId)).size !== rows.length) faults.push("a trace id stands in two rows");
  for (const [call, traceId] of clients.seen) {
    const row = byCall.get(call)?.[0];
    const { promptTokens, completionTokens } = usageOf(call);
    if (row === undefined) faults.push(`call ${call} was answered to its last byte and has no row`);
    else if (row.traceId !== traceId || !row.settled || row.status !== 200 || row.promptTokens !== promptTokens || row.completionTokens !== completionTokens) faults.push(`call ${call} was answered to its last byte, and its row says ${JSON.stringify(row)}`);
    if (!upstream.served.has(call)) faults.push(`call ${call} was answered and not served`);
  }
  for (const call of upstream.asked) if (!byCall.has(call)) faults.push(`the provider was asked call ${call}, which has no row`);
  for (const row of rows) {
    if (row.settled && row.status === 200 && !upstream.served.has(row.call)) faults.push(`call ${row.call} has a row of a success and was not served`);
    if (!row.settled && !clients.cut.has(row.call)) faults.push(`call ${row.call} is unsettled and was not cut`);
  }
  // a drill that hit nothing shows nothing
  if (clients.seen.size < KILLS * 20) faults.push(`only ${clients.seen.size} calls were answered`);
  if (rows.filter(({ settled }) => !settled).length < KILLS) faults.push("hardly any call was under way at a kill");
  return faults;
}

process.exit(await main());
