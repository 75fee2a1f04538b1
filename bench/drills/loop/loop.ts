// `npm run drill:loop`: the real gateway under requests and answers of the largest allowed size, and larger. Prints for
// each shape the longest wait of another caller, by the clock and in CPU time of the serving thread, which on a quiet
// machine are equal. A shape above the bound of promise 5.8 is measured again (bench/README.md says why). Exits with
// code 1 when one was above it each time, or was answered in another way than it has to be. `--only` selects shapes by
// words of their titles, and `--times` sets how often each is sent.
import { parseArgs } from "node:util";
import { type GatewayProcess, runCli, startGateway } from "../../../test/harness/processes/gateway-process.ts";
import { startEverything } from "../../../test/harness/tools/everything.ts";
import { type LongAnswers, startLongAnswers } from "./answers.ts";
import { failedShapes, isLate, type Measured, OtherCaller } from "../other-caller.ts";
import { ADMINISTERED } from "./admin-shapes.ts";
import { NATIVE } from "./native-shapes.ts";
import { ANSWERED, type LoopShape, type Prepare, REQUESTS } from "./shapes.ts";
import { OPERATORS_KEY } from "../../subjects/operators-key.ts";

const { values: flags } = parseArgs({ options: { only: { type: "string" }, times: { type: "string", default: "3" } } });

interface Row extends Measured {
  readonly title: string;
  readonly megabytes: number;
  readonly said: string;
}

/** What is measured: one shape, which can be sent again. */
interface Sent {
  readonly title: string;
  /** What it has to be answered with. */
  readonly answer: string;
  /** What has to be there first. */
  readonly before?: (() => Promise<void>) | undefined;
  readonly send: () => Promise<{ readonly said: string; readonly bytes: number }>;
}

function configuration({ port }: LongAnswers, toolServers: string): string {
  const address = `http://127.0.0.1:${port}`;
  return `providers:
  up: { type: custom, base_url: "${address}/v1", api_key: ${OPERATORS_KEY} }
  native: { type: custom, base_url: "${address}/v1", api_key: ${OPERATORS_KEY}, native: [responses] }
  claude: { type: anthropic, base_url: "${address}", api_key: ${OPERATORS_KEY} }
  gemini: { base_url: "${address}/v1beta", api_key: ${OPERATORS_KEY} }
  cohere: { base_url: "${address}/v2", api_key: ${OPERATORS_KEY} }
  ollama: { base_url: "${address}" }
  prompts: { type: vllm-generate, base_url: "${address}/v1", api_key: ${OPERATORS_KEY} }
  aws: { type: bedrock, base_url: "${address}", region: us-east-1, aws: { access_key_id: AKIAEXAMPLE, secret_access_key: x } }
policies:
  guarded: { scope: { user: guarded }, guard: { on: both, action: mask, classes: [email, card] } }
  asked: { scope: { user: asked }, guard: { on: input, action: mask, classes: [email, card] } }
tenants:
  default: { settings: { content_log: { enabled: true, projects: [kept] } } }
${toolServers}`;
}

async function personalToken(gateway: GatewayProcess): Promise<string> {
  const made = await runCli([
    "token",
    "create",
    "--data",
    gateway.dataFolder,
    "--json",
    "--name",
    "drill",
    "--personal",
  ]);
  return (JSON.parse(made.stdout) as { token: string }).token;
}

/** The status, and the code of the error, which the answer begins with, or a stream ends with. */
function outcomeOf(status: number, text: string): string {
  const code = /"error":\{.*?"code":"(\w+)"/s.exec(status === 200 ? text.slice(-2000) : text.slice(0, 2000))?.[1];
  return `${status} ${code ?? ""}`.trim();
}

async function measured({ title, answer, before, send }: Sent, other: OtherCaller): Promise<Row> {
  await before?.();
  let bytes = 0;
  const outcomes = new Set<string>();
  const waits = await other.waitsDuring(async () => {
    for (let time = 0; time < Number(flags.times); time++) {
      const sent = await send();
      outcomes.add(sent.said);
      ({ bytes } = sent);
    }
  });
  Bun.gc(true);
  const said = [...outcomes].join(", ");
  return { title, megabytes: bytes / 1e6, said, waits, isAnswered: said === answer };
}

async function main(): Promise<number> {
  const wanted = (title: string): boolean =>
    flags.only === undefined || flags.only.split(",").some((word) => title.includes(word));
  const upstream = startLongAnswers();
  const tools = await startEverything();
  const gateway = await startGateway({
    config: configuration(upstream, tools.config),
    environment: { DRAGOMAN_ALLOW_PRIVATE_ADDRESSES: "true" },
  });
  const tokens = {
    developer: gateway.firstToken!,
    viewer: await gateway.createToken("--role", "viewer"),
    endpoint: await gateway.createToken("--permission", "byo_endpoint", "--permission", "debug"),
    admin: await personalToken(gateway),
    keeper: "",
  };
  await runCli(["project", "create", "kept", "--url", gateway.url, "--token", tokens.admin]);
  tokens.keeper = await gateway.createToken("--project", "kept");
  const other = new OtherCaller(gateway, (host) => `GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  const prepared = new Set<Prepare>();
  const ask = async ({
    body,
    method = "POST",
    caller = "developer",
    path = "/api/v1/chat/completions",
    headers = {},
  }: LoopShape) => {
    const text = method === "GET" ? "" : body();
    const answer = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${tokens[caller]}`, "content-type": "application/json", ...headers },
      ...(method !== "GET" && { body: text }),
    });
    const said = await answer.text();
    return { said: outcomeOf(answer.status, said), bytes: Buffer.byteLength(text), answer: said };
  };
  try {
    process.stdout.write(`| ${HEAD.join(" | ")} |\n| --- | ---: | --- | ---: | ---: | --- |\n`);
    for (let warmUp = 0; warmUp < 20; warmUp++)
      await ask({ title: "", body: () => '{"model":"up:m","messages":[{"role":"user","content":"x"}]}' });
    // the first request loads the code of the admin API
    await (
      await fetch(`${gateway.url}/api/v1/admin/tenants`, { headers: { authorization: `Bearer ${tokens.admin}` } })
    ).text();
    const sent: Sent[] = [
      {
        title: "nothing beside other callers",
        answer: "",
        send: async () => {
          await Bun.sleep(500);
          return { said: "", bytes: 0 };
        },
      },
    ];
    for (const shape of [...REQUESTS, ...NATIVE, ...ADMINISTERED]) {
      const { title, before, answer = "200" } = shape;
      const prepare = async (): Promise<void> => {
        if (before === undefined || prepared.has(before)) return;
        await before(ask);
        prepared.add(before);
      };
      if (wanted(title)) sent.push({ title, answer, before: prepare, send: () => ask(shape) });
    }
    for (const { title, model, stream, provider = "up", more = "", caller, answer = "200" } of ANSWERED) {
      const body = (): string =>
        `{"model":"${provider}:${model}","stream":${stream},"messages":[{"role":"user","content":"x"}]${more}}`;
      if (wanted(title)) sent.push({ title, answer, send: () => ask({ title, body, ...(caller && { caller }) }) });
    }
    const failed = await failedShapes(sent, async (one) => {
      const row = await measured(one, other);
      process.stdout.write(`${line(row)}\n`);
      return row;
    });
    return failed === 0 ? 0 : 1;
  } finally {
    await other.stop();
    await gateway.stop("SIGKILL");
    upstream.stop();
    await tools.stop();
  }
}

const HEAD = ["shape", "MB", "answer", "longest wait of others, ms on a processor", "ms by the clock", ""];

function line(row: Row): string {
  const { title, megabytes, said, waits, isAnswered } = row;
  const fault = isAnswered ? (isLate(waits) ? "**late**" : "") : "**not the answer that it has to have**";
  return `| ${[title, megabytes.toFixed(1), said, waits.processorMs.toFixed(1), waits.clockMs.toFixed(1), fault].join(" | ")} |`;
}

process.exit(await main());
