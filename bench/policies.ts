// `node bin/run.mjs bench/policies.ts`: the cost of three rules for a call, in CPU time, alone and beside 1,000
// policies of other projects; the time to load those policies; and the cost of guards per KiB of text. It takes a few
// seconds; the figures are meaningful only on an idle machine.
import { DETECTOR_CLASSES } from "../src/guards/detector-classes.ts";
import { GuardedText, guardText } from "../src/guards/guarded-text.ts";
import { compilePolicies } from "../src/policies/compile-policies.ts";
import { type PolicyDocument, policySchema } from "../src/policies/policy-settings.ts";
import { CallPolicies } from "../src/engine/policies/call-policies.ts";
import { parseChatRequest } from "../src/engine/request/parse.ts";
import type { Configured } from "../src/core/configured/configured.ts";
import type { Principal } from "../src/core/identity.ts";
import type { PolicySet, GuardPolicy } from "../src/core/configured/policy.ts";

const CALLS = 100_000;
const ROUNDS = 5;
const KIB = 1024;

const configured = (name: string, projectId: string | null, document: object): Configured<PolicyDocument> => ({
  id: name,
  name,
  tenantId: "default",
  projectId,
  origin: "store",
  setBy: null,
  version: 1,
  document: policySchema.parse(document),
});

const RULES = [
  'request.tools.exists(tool, tool == "web")',
  "has(request.parameters.max_tokens) && request.parameters.max_tokens > 4000",
  'target.provider != "local" && token.role == "viewer"',
];
const own = RULES.map((rule, index) => configured(`rule${index}`, "default", { rule }));
const foreign = (): readonly Configured<PolicyDocument>[] =>
  Array.from({ length: 1000 }, (_, index) =>
    configured(`other${index}`, `project${index % 200}`, {
      rule: `request.model == "m${index}" && ${RULES[index % 2]!}`,
    }),
  );

const sent = parseChatRequest(
  JSON.stringify({
    model: "local:m",
    max_tokens: 100,
    messages: [{ role: "user", content: "x".repeat(900) }],
    tools: [{ type: "function", function: { name: "f" } }],
  }),
);
const principal: Principal = {
  tokenId: "t",
  tokenKind: "project",
  tenantId: "default",
  projectId: "default",
  userId: null,
  role: "developer",
  permissions: new Set(),
  restrictions: null,
};
const place = { provider: "local", model: "m", route: "direct" };

/** Everything that a call evaluates of its policies. */
function asked(policies: PolicySet): void {
  const call = new CallPolicies(policies.of("default", "default")!, {
    sent,
    principal,
    operation: "chat.completions",
    clientIp: () => "",
    now: () => 0,
    outcomes: [],
    scheduler: null,
  });
  void call.admit(() => null);
  call.rules.at(place, sent);
  call.requests.translated(sent, place);
  call.answers.of(place);
}

/** Returns the CPU time per run in microseconds, of the best of some rounds. */
function cpuUs(times: number, work: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    for (let time = 0; time < times; time++) work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / times);
  }
  return best;
}

const say = (what: string, figure: number, unit: string): void =>
  void process.stdout.write(`${what.padEnd(64)} ${figure.toFixed(2).padStart(8)} ${unit}\n`);

const alone = compilePolicies(own);
say(
  "three rules, a call",
  cpuUs(CALLS, () => asked(alone)),
  "µs",
);
const before = performance.now();
const among = compilePolicies([...foreign(), ...own]);
say("1,000 policies of other projects: checked and compiled", performance.now() - before, "ms");
say(
  "three rules beside them, a call",
  cpuUs(CALLS, () => asked(among)),
  "µs",
);

const prose = "The quick brown fox jumps over the lazy dog, then writes 12 notes about it in 2026. "
  .repeat(200)
  .slice(0, 10 * KIB);
const json = JSON.stringify({ a: [1, 2, 3], b: "some_value", at: "2026-11-20T00:00:00Z", n: 1_234_567 })
  .repeat(200)
  .slice(0, 10 * KIB);
const guardsOf = (guard: object): readonly GuardPolicy[] =>
  compilePolicies([configured("guard", null, { guard: { ...guard, action: "mask" } })]).of("default", "default")!
    .all as readonly GuardPolicy[];
const nothing = (): void => {};
for (const classes of [...DETECTOR_CLASSES.map((name) => [name]), [...DETECTOR_CLASSES]]) {
  const guards = guardsOf({ classes });
  const name = classes.length === 1 ? classes[0]! : "all classes";
  for (const [kind, text] of [
    ["prose", prose],
    ["JSON full of digits", json],
  ] as const)
    say(`${name}, a KiB of ${kind}`, cpuUs(100, () => void guardText(text, guards, nothing)) / 10, "µs");
}
say(
  "a pattern, a KiB of prose",
  cpuUs(100, () => void guardText(prose, guardsOf({ patterns: ["(?i)project\\s+falcon"] }), nothing)) / 10,
  "µs",
);
const all = guardsOf({ classes: [...DETECTOR_CLASSES] });
const pieces = Array.from({ length: prose.length / 5 }, (_, index) => prose.slice(index * 5, index * 5 + 5));
say(
  "all classes, a chunk of five characters of a stream",
  cpuUs(10, () => {
    const guarded = new GuardedText(all, nothing);
    for (const piece of pieces) guarded.push(piece);
    guarded.end();
  }) / pieces.length,
  "µs",
);
