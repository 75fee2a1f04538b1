// Promise 16.2 with the real process and a vendor that keeps prompts as Claude's does: the marks that it is sent, the one key
// of a session, what usage tells of it, why a call missed, and a configuration that changes meanwhile.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { cachingVendor } from "../harness/servers/caching-vendor.ts";
import { runCli, startGateway } from "../harness/processes/gateway-process.ts";
import { untilFound } from "../harness/time/until.ts";
import { startUpstream } from "../harness/servers/upstream.ts";

const SYSTEM = "Be brief, and say what you did. ".repeat(200);
const turnsOf = (count: number, task: string) =>
  Array.from({ length: count }, (_, at) =>
    at % 2 === 0
      ? { role: "user", content: `${task} ${at}: ${"look at the file. ".repeat(30)}` }
      : { role: "assistant", content: `Done ${at}.` },
  );
const hasMarks = (body: object): boolean => JSON.stringify(body).includes("cache_control");

const configOf = (url: string, promptCache: string): string => {
  const provider = (id: string): string => `
  ${id}:
    type: anthropic
    base_url: "${url}"
    api_keys: [${id}-first, ${id}-second]`;
  return `
providers:${provider("one")}${provider("two")}
prices:
  claude: { model: "*:claude-sonnet-5", prompt: "3.00", completion: "15.00", cache_read: "0.30", cache_write: "3.75" }
routes:
  coding:
    targets: ["one:claude-sonnet-5", "two:claude-sonnet-5"]
    strategy: weighted
    prompt_cache: ${promptCache}
`;
};

interface Sums {
  readonly calls: number;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly cache_write_tokens: number;
  readonly cache_hit_rate: number;
  readonly cache_saved_usd: string;
}

test("[d16.2] from the marks to the money, over a reload", async () => {
  const vendor = cachingVendor();
  const upstream = startUpstream((request) => {
    const { status, body } = vendor.answer(request);
    return Response.json(body, { status });
  });
  const gateway = await startGateway({ config: configOf(upstream.url, "false") });
  const ask = async (turns: number, { session = "one", task = "Step", path = "/messages" } = {}): Promise<string> => {
    const messages = turnsOf(turns, task);
    const answer = await gateway.chat(
      path === "/messages"
        ? { model: "coding", max_tokens: 9, system: SYSTEM, messages }
        : { model: "coding", max_tokens: 9, messages: [{ role: "system", content: SYSTEM }, ...messages] },
      { path: `/api/v1${path}`, headers: { "x-claude-code-session-id": session } },
    );
    expect({ status: answer.status, text: await answer.text() }).toMatchObject({ status: 200 });
    return answer.headers.get("x-gateway-trace-id")!;
  };

  await ask(3);
  expect(hasMarks(upstream.last().body)).toBe(false);
  expect(vendor.billed).toMatchObject({ read: 0, written: 0 });

  writeFileSync(join(gateway.folder, "dragoman.yaml"), configOf(upstream.url, "auto"));
  await untilFound(async () => {
    await ask(1, { session: "waits for the reload", task: `Look ${Math.random()}` });
    return hasMarks(upstream.last().body);
  });

  const from = upstream.seen.length;
  for (const turns of [3, 5, 7, 9]) await ask(turns);
  for (const turns of [3, 5, 7, 9]) await ask(turns, { session: "two", task: "Other", path: "/chat/completions" });
  const keys = upstream.seen.slice(from).map(({ headers }) => headers["x-api-key"]);
  expect(new Set(keys.slice(0, 4)).size).toBe(1);
  expect(new Set(keys.slice(4)).size).toBe(1);
  for (const { body } of upstream.seen.slice(from)) expect(hasMarks(body)).toBe(true);

  const missed = await ask(11, { task: "Changed" });
  const owner = await gateway.createToken("--personal", "--role", "owner");
  const asAdmin = async (path: string): Promise<any> => {
    const answer = await fetch(`${gateway.url}/api/v1/admin${path}`, { headers: { authorization: `Bearer ${owner}` } });
    return answer.ok ? answer.json() : null;
  };
  const call = await untilFound(() => asAdmin(`/calls/${missed}`));
  expect(call.record.attempts[0].prompt_cache_miss).toEqual({ why: "prompt_changed", at: 1 });

  const { prompt, read, written } = vendor.billed;
  expect(read).toBeGreaterThan(0);
  const totals = await untilFound<Sums | false>(async () => {
    const { totals: sums } = (await asAdmin("/usage?group_by=project,route,model")) as { readonly totals: Sums };
    return sums.calls === upstream.seen.length && sums;
  });
  expect(totals).toMatchObject({
    prompt_tokens: prompt,
    cached_tokens: read,
    cache_write_tokens: written,
    cache_hit_rate: Math.floor((read * 10_000) / prompt) / 10_000,
  });
  expect(Math.round(Number(totals.cache_saved_usd) * 1e9)).toBe(read * 2700 - written * 750);

  const { stdout } = await runCli(["usage", "--all", "--by", "route", "--url", gateway.url, "--token", owner]);
  expect(stdout).toContain("CACHE HITS");
  expect(stdout).toContain(totals.cache_saved_usd);
  expect(await gateway.stop()).toBe(0);
  await upstream.stop();
});
