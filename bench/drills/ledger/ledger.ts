// `npm run drill:ledger`: the real gateway under load is killed with SIGKILL at random moments, stopped cleanly in
// between, and started again on its data folder. At the end its ledger has to equal the provider's books (promise
// 11.2). `--short` kills less often, and `--kills` sets how often. Exits with code 1 when a promise was broken.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type GatewayProcess, startGateway } from "../../../test/harness/processes/gateway-process.ts";
import { faultsOf, startLoad, tellFaults } from "../clients.ts";
import { startBookkeepingUpstream } from "./upstream.ts";
import { countedCalls, keptRows } from "../ledger-rows.ts";

const { values: flags } = parseArgs({
  options: { short: { type: "boolean", default: false }, kills: { type: "string" } },
});
const KILLS = Number(flags.kills ?? (flags.short ? 4 : 50));
/**
 * The number of kills between two clean stops. Rows of the run after a clean stop have to reach the database as well.
 */
const KILLS_BETWEEN_STOPS = 2;
/** The short form shares its machine with tests, so its clients pause. */
const LOAD = flags.short ? { workers: 10, paceMs: 10 } : { workers: 32, paceMs: 0 };
const MIN_LIFE_MS = 60;
const MAX_LIFE_MS = 500;
/** Calls that a gateway answers at least before it ends, however busy the machine is. */
const LEAST_ANSWERS = 20;

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-drill-"));
  const dataFolder = join(folder, "data");
  const upstream = startBookkeepingUpstream();
  const config = `providers:\n  books: { type: custom, base_url: "http://127.0.0.1:${upstream.port}/v1" }\n`;
  const start = () => startGateway({ dataFolder, config });
  let gateway: GatewayProcess | null = await start();
  const load = startLoad(LOAD, gateway.firstToken!, () => gateway);
  const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    const { size: answered } = load.clients.seen;
    await Bun.sleep(MIN_LIFE_MS + Math.random() * (MAX_LIFE_MS - MIN_LIFE_MS));
    while (load.clients.seen.size < answered + LEAST_ANSWERS) await Bun.sleep(1);
    const ended: GatewayProcess = gateway!;
    gateway = null;
    await ended.stop(signal);
    rmSync(ended.folder, { recursive: true, force: true });
    gateway = await start();
  };
  let stops = 0;
  for (let kill = 1; kill <= KILLS; kill++) {
    await end("SIGKILL");
    if (kill % KILLS_BETWEEN_STOPS !== 0) continue;
    await end("SIGTERM");
    stops += 1;
  }
  await Bun.sleep(MAX_LIFE_MS);
  await load.end();
  await gateway.stop("SIGTERM");
  rmSync(gateway.folder, { recursive: true, force: true });
  await upstream.stop();
  const { clients } = load;
  const rows = keptRows(dataFolder);
  const faults = [...faultsOf(rows, clients, upstream)];
  const { calls, inSums } = countedCalls(dataFolder);
  rmSync(folder, { recursive: true, force: true });
  if (calls !== inSums) faults.push(`the database has ${calls} calls, and ${inSums} in its sums`);
  const unsettled = rows.filter(({ settled }) => !settled).length;
  // a drill without load proves nothing
  if (clients.seen.size < KILLS * LEAST_ANSWERS) faults.push(`only ${clients.seen.size} calls were answered`);
  if (unsettled < KILLS) faults.push("hardly any call was under way at a kill");
  process.stdout.write(
    `${KILLS} kills and ${stops} clean stops, ${clients.asked} calls: ${clients.seen.size} answered to the last byte, ${clients.cut.size} cut, ${clients.turnedAway} turned away by a gateway that was going down. The provider was asked ${upstream.asked.size} times and served ${upstream.served.size} answers.\n`,
  );
  process.stdout.write(
    `The ledger has ${rows.length} rows, ${unsettled} of them of calls that were under way at a kill.\n`,
  );
  return tellFaults(faults);
}

process.exit(await main());
