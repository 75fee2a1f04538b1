// `npm run drill:upstream`: two tenants of a real gateway call one upstream that frames its answers wrongly in every
// way of misbehaviours.ts, each tenant going first in turn. Exits with code 1 when a client received a byte of another
// tenant or an operator's key. `--short` plays each once, half of it with the tenants' own keys, and `--only` selects by
// beginnings of ids. `--proxy` makes the upstream the operator's proxy too. `--control` lets the tenants share
// connections, and has to find leaks.
import { parseArgs } from "node:util";
import { type GatewayProcess, startGateway } from "../../../test/harness/processes/gateway-process.ts";
import { type HostileUpstream, MARK, type Misbehaviour, startHostileUpstream } from "./hostile-upstream.ts";
import { MISBEHAVIOURS, SPELLINGS } from "./misbehaviours.ts";
import { OPERATORS_KEY } from "../../subjects/operators-key.ts";

const { values: flags } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    control: { type: "boolean", default: false },
    proxy: { type: "boolean", default: false },
    only: { type: "string" },
    rounds: { type: "string" },
  },
});

const ROUNDS = Number(flags.rounds ?? (flags.short ? 1 : 5));
const AT_ONCE = flags.short ? 16 : 6;
/** The delays of the calls after the first answer: at once, while late bytes arrive, and after them. */
const FOLLOWING_MS = [0, 0, 2, 6, 20];
const TENANTS = ["ALPHA", "BRAVO"] as const;
type Name = (typeof TENANTS)[number];

interface Tenant {
  readonly name: Name;
  readonly token: string;
  /** The tenant's own provider key, which half of its calls send. */
  readonly key: string;
}

interface Row {
  answers: number;
  whole: number;
  faults: number;
  /** What reached a client for which it was not meant. */
  readonly leaks: string[];
}

function configuration(port: number): string {
  const patience = "timeouts: { connect_ms: 2000, first_byte_ms: 500, first_token_ms: 500, between_chunks_ms: 500 }";
  return `${flags.proxy ? `server: { upstream_proxy: "http://127.0.0.1:${port}" }\n` : ""}route_defaults: { retries: 0, ${patience}, breaker: { failures: 10000 } }
providers:
  allow_private_addresses: true
  hostile: { type: custom, base_url: "http://127.0.0.1:${port}/v1", api_key: "${OPERATORS_KEY}"${flags.control ? ", shared_connections: true" : ""} }
`;
}

async function openTenants(gateway: GatewayProcess): Promise<readonly Tenant[]> {
  const owner = await gateway.createToken("--personal", "--role", "owner");
  const made = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${gateway.url}/api/v1/admin${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, unknown>;
  };
  const tenants: Tenant[] = [];
  for (const name of TENANTS) {
    const id = name.toLowerCase();
    await made("/tenants", { id });
    await made("/projects", { id: `${id}-project`, tenant_id: id });
    const { token } = await made(`/projects/${id}-project/tokens`, { name: "drill", permissions: ["byo_endpoint"] });
    tenants.push({ name, token: token as string, key: `sk-brought-by-${name}-0123456789abcdef` });
  }
  return tenants;
}

let marks = 0;
/** The marks of requests that get no answer at all, so that what comes for them later may reach no other call. */
const unanswered = new Set<string>();
/** A request that the upstream answers as it should. */
const WELL: Pick<Misbehaviour, "id" | "isNone"> = { id: "well" };

/** Makes one call, and notes in the row what is wrong with its answer. */
async function callOnce(
  gateway: GatewayProcess,
  tenant: Tenant,
  { id, isNone }: Pick<Misbehaviour, "id" | "isNone">,
  { stream, brings }: { readonly stream: boolean; readonly brings: boolean },
  row: Row,
): Promise<void> {
  const mark = `MARK-${tenant.name}-${(marks++).toString(36)}`;
  const body = {
    model: `hostile:${id}`,
    messages: [{ role: "user", content: mark }],
    timeout: 3,
    ...(stream && { stream: true }),
    ...(brings && { api_key: tenant.key }),
  };
  if (isNone === true) unanswered.add(mark);
  let text: string;
  try {
    const answer = await gateway.chat(body, { token: tenant.token });
    text = JSON.stringify([...answer.headers]) + (await answer.text());
    if (answer.status === 200 && text.includes(mark)) row.whole++;
    else row.faults++;
  } catch (thrown) {
    text = String(thrown);
    row.faults++;
  }
  row.answers++;
  for (const [found, name] of text.matchAll(MARK))
    if (name !== tenant.name || (found !== mark && unanswered.has(found)))
      row.leaks.push(`${tenant.name} got ${found}`);
  if (spells(text, OPERATORS_KEY)) row.leaks.push(`${tenant.name} got the operator's key`);
  for (const name of TENANTS)
    if (name !== tenant.name && text.includes(`sk-brought-by-${name}`))
      row.leaks.push(`${tenant.name} got the key of ${name}`);
}

/** Whether the text contains the key in any spelling, even if the key arrives in several pieces of a stream. */
function spells(text: string, key: string): boolean {
  const joined = [...text.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, content]) => content).join("");
  return Object.values(SPELLINGS).some((spell) => {
    const spelled = spell(key);
    return text.includes(spelled) || joined.includes(spelled);
  });
}

async function play(gateway: GatewayProcess, tenants: readonly Tenant[], misbehaviour: Misbehaviour): Promise<Row> {
  const row: Row = { answers: 0, whole: 0, faults: 0, leaks: [] };
  const { id } = misbehaviour;
  const stream = misbehaviour.stream === true;
  const quotes = id.startsWith("quotes.") || id.startsWith("repeats.");
  for (let round = 0; round < ROUNDS; round++)
    for (const [first, other] of [
      [0, 1],
      [1, 0],
    ] as const)
      for (const brings of quotes ? [false] : flags.short ? [first === 1] : [false, true]) {
        const [one, two] = [tenants[first]!, tenants[other]!];
        await callOnce(gateway, one, misbehaviour, { stream, brings }, row);
        if (quotes) continue;
        await Promise.all(
          FOLLOWING_MS.map(async (ms, index) => {
            if (ms > 0) await Bun.sleep(ms);
            const played = index % 2 === 0 ? WELL : misbehaviour;
            await callOnce(gateway, two, played, { stream, brings: brings && index !== 3 }, row);
          }),
        );
        await callOnce(gateway, one, WELL, { stream, brings }, row);
      }
  return row;
}

async function playAll(
  gateway: GatewayProcess,
  tenants: readonly Tenant[],
  chosen: readonly Misbehaviour[],
): Promise<ReadonlyMap<string, Row>> {
  const rows = new Map<string, Row>();
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let one = chosen[next++]; one !== undefined; one = chosen[next++])
      rows.set(one.id, await play(gateway, tenants, one));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return rows;
}

/** Returns the rows of a table, one for each way to begin an answer, with the first leak of each form that leaked. */
function table(chosen: readonly Misbehaviour[], rows: ReadonlyMap<string, Row>): string {
  const groups = new Map<string, Misbehaviour[]>();
  for (const one of chosen) {
    const group = one.id.includes(".") ? one.id.slice(0, one.id.lastIndexOf(".")) : one.id;
    groups.set(group, [...(groups.get(group) ?? []), one]);
  }
  const lines = [...groups].map(([group, members]) => {
    const sum = (of: (row: Row) => number): number => members.reduce((total, { id }) => total + of(rows.get(id)!), 0);
    const leaking = members.filter(({ id }) => rows.get(id)!.leaks.length > 0);
    return `| ${group} | ${members.length} | ${sum((row) => row.answers)} | ${sum((row) => row.whole)} | ${sum((row) => row.faults)} | ${sum((row) => row.leaks.length)} | ${leaking.map(({ id }) => `${id}: ${rows.get(id)!.leaks[0]}`).join("; ")} |`;
  });
  return [
    "| misbehaviour | forms | calls | answered with their own text | failed, or without text | leaks | |",
    "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ...lines,
    "",
  ].join("\n");
}

async function main(): Promise<number> {
  const chosen =
    flags.only === undefined
      ? MISBEHAVIOURS
      : MISBEHAVIOURS.filter(({ id }) => flags.only!.split(",").some((start) => id.startsWith(start)));
  const upstream: HostileUpstream = await startHostileUpstream(MISBEHAVIOURS);
  let gateway: GatewayProcess | null = null;
  try {
    gateway = await startGateway({ config: configuration(upstream.port) });
    const rows = await playAll(gateway, await openTenants(gateway), chosen);
    const leaks = [...rows.values()].flatMap((row) => row.leaks);
    const keys = leaks.filter((words) => words.includes("operator's key")).length;
    process.stdout.write(
      `${table(chosen, rows)}\n${chosen.length} misbehaviours, ${upstream.requests()} requests, ${leaks.length - keys} leaks between tenants, ${keys} leaks of the operator's key, ${upstream.mixed()} connections with more than one tenant or key\n`,
    );
    if (flags.control) return leaks.length > keys ? 0 : 1;
    return leaks.length === 0 && upstream.mixed() === 0 ? 0 : 1;
  } finally {
    await gateway?.stop();
    await upstream.stop();
  }
}

process.exit(await main());
