// Questions to the admin API that `npm run drill:loop` asks: they read and play many calls, or many rows of the audit
// log.
import type { LoopShape, Prepare } from "./shapes.ts";

const ADMIN = "/api/v1/admin/tenants/default";
const CALLS = 1000;
const CHANGES = 1500;
const AT_ONCE = 10;
const TESTS = 20;

const PARAMETERS = ["temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "logprobs", "user", "n"];
const VALUES: Readonly<Record<string, unknown>> = { user: "u", logprobs: true };
const TARGETS = ["up:m", "up:n", "claude:claude-sonnet-4-5"];

/** Which parameters a call has is the bits of its number, so that there are 256 kinds of calls. */
function call(index: number): string {
  const parameters = PARAMETERS.filter((_, bit) => ((index >> bit) & 1) === 1);
  return JSON.stringify({
    model: "tried",
    messages: [{ role: "user", content: "Hello" }],
    metadata: { number: String(index) },
    ...Object.fromEntries(parameters.map((name) => [name, VALUES[name] ?? 1])),
  });
}

async function inTurns(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < count; at += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => work(at + index)));
}

const recordedCalls: Prepare = async (ask) => {
  await ask({
    title: "",
    caller: "admin",
    path: `${ADMIN}/routes`,
    body: () => JSON.stringify({ name: "tried", targets: TARGETS }),
  });
  await inTurns(CALLS, (index) => ask({ title: "", body: () => call(index) }));
  // rows reach the database a little later
  for (let found = 0; found < CALLS; await Bun.sleep(100))
    found = ((await ask(read("", `calls?route=tried&limit=${CALLS}`))).answer.match(/"trace_id"/g) ?? []).length;
};

const changes: Prepare = async (ask) => {
  await ask({
    title: "",
    caller: "admin",
    path: `${ADMIN}/routes`,
    body: () => JSON.stringify({ name: "changed", targets: TARGETS }),
  });
  await inTurns(CHANGES, (index) =>
    ask({
      title: "",
      caller: "admin",
      method: "PUT",
      path: `${ADMIN}/routes/changed`,
      body: () => JSON.stringify({ targets: TARGETS, retries: index % 5 }),
    }),
  );
};

const asked = (title: string, path: string, body: object): LoopShape => ({
  title,
  caller: "admin",
  path: `${ADMIN}/${path}`,
  body: () => JSON.stringify(body),
  before: recordedCalls,
});
const read = (title: string, path: string): LoopShape => ({
  ...asked(title, path, {}),
  method: "GET",
  before: changes,
});

export const ADMINISTERED: readonly LoopShape[] = [
  asked("a simulation of 1,000 calls of 256 kinds", "routes/tried/simulate", {}),
  asked("the same with a change", "routes/tried/simulate", { route: { targets: TARGETS.toReversed() } }),
  asked("a policy asked of 1,000 calls", "policies/new/simulate", {
    policy: { rule: `request.metadata.exists(k, k == "number") && has(request.parameters.seed)` },
  }),
  asked("a route with 20 tests, not stored", "routes?dry_run=true", {
    name: "tested",
    targets: TARGETS,
    tests: Array.from({ length: TESTS }, (_, index) => ({
      name: `test ${index}`,
      when: { prompt_tokens: index + 1 },
      expect: { target: TARGETS[0] },
    })),
  }),
  read("a check of the audit log, 1,500 rows", "audit/verify"),
  read("an export of it", "audit/export"),
  read("who could call what before them", `audit/as_of?at=2026-01-01`),
];
