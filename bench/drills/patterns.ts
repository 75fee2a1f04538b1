// `npm run drill:patterns`: one caller has hostile guards and sends hostile texts, while another caller makes small
// calls one after the other. Prints for each pattern the longest wait of the other caller, by the clock and in CPU time
// of the serving thread, and the result of the attack. A pattern above the bound of promise 5.8 is measured again
// (bench/README.md says why). Exits with code 1 when one was above it each time, or when an attack had a result that it
// must not have. `--only` selects patterns by words of their names.
import { parseArgs } from "node:util";
import { stringify } from "yaml";
import { startGateway } from "../../test/harness/processes/gateway-process.ts";
import { failedShapes, type Measured, OtherCaller } from "./other-caller.ts";

const { values: flags } = parseArgs({ options: { only: { type: "string" } } });
const ATTACK_MS = 2500;
const AT_ONCE = 3;
/** A search has 2 s (docs/policies.md), so a text that is refused sooner was not searched as long as it has to be. */
const SOON_MS = 1000;

interface Attack {
  readonly name: string;
  readonly guard: object;
  readonly text: string;
  /** Members of the request that replace a message with the text. */
  readonly fields?: (text: string) => object;
  /** Whether the search ends within its limit of time, on every machine. Nothing is found that would block. */
  readonly ends?: true;
}

const letters = "a".repeat(60_000);
const groups = "4111 1111 1111 1112 ".repeat(3000);
const blocks = (...patterns: readonly string[]): object => ({ on: "both", action: "block", patterns });
const slow = (more: number): string => `(?:a?){${500 - more}}a{500}b`;
const FIFTY = Array.from({ length: 50 }, (_, index) => slow(index));
const conversation = (text: string): object => ({
  messages: Array.from({ length: 200 }, () => ({ role: "user", content: text.slice(0, text.length / 200) })),
});

const ATTACKS: readonly Attack[] = [
  { name: "optional letters, then as many", guard: blocks(slow(0)), text: letters },
  { name: "fifty such patterns", guard: blocks(...FIFTY), text: letters },
  { name: "fifty such patterns, a short text", guard: blocks(...FIFTY), text: letters.slice(0, 500) },
  { name: "fifty such patterns, masked", guard: { on: "both", action: "mask", patterns: FIFTY }, text: letters },
  { name: "fifty such patterns, 200 messages", guard: blocks(...FIFTY), text: letters, fields: conversation },
  {
    name: "fifty such patterns, many parts",
    guard: blocks(...FIFTY),
    text: letters,
    fields: (text) => ({
      messages: [
        {
          role: "user",
          content: Array.from({ length: 600 }, (_, index) => ({
            type: "text",
            text: text.slice(index * 100, index * 100 + 100),
          })),
        },
      ],
    }),
  },
  {
    name: "fifty such patterns, arguments of calls",
    guard: blocks(...FIFTY),
    text: letters,
    fields: (text) => ({
      messages: [
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: JSON.stringify({ a: text }) } }],
        },
        { role: "tool", tool_call_id: "c", content: "x" },
      ],
    }),
  },
  {
    name: "fifty such patterns, an unknown field",
    guard: blocks(...FIFTY),
    text: letters,
    fields: (text) => ({ messages: [{ role: "user", content: "x" }], note: { text } }),
  },
  { name: "fifty such patterns, on the answer", guard: { ...blocks(...FIFTY), on: "output" }, text: letters },
  {
    name: "fifty such patterns, on a stream",
    guard: { ...blocks(...FIFTY), on: "output" },
    text: letters,
    fields: (text) => ({ messages: [{ role: "user", content: text }], stream: true }),
  },
  {
    name: "one such pattern, on a stream",
    guard: { ...blocks(slow(0)), on: "output" },
    text: letters,
    fields: (text) => ({ messages: [{ role: "user", content: text }], stream: true }),
  },
  {
    name: "many alternatives",
    guard: blocks(
      `(?:${Array.from({ length: 140 }, (_, index) => `a*${String.fromCodePoint(98 + (index % 24))}?`).join("|")})z`,
    ),
    text: letters,
  },
  {
    name: "counted words",
    guard: blocks("(?:[a-z]{1,60} ?){1,16}\\d"),
    text: "lorem ipsum dolor ".repeat(3500),
    ends: true,
  },
  { name: "stars in a row", guard: blocks(`${"a*".repeat(400)}b`), text: letters },
  { name: "any character, a thousand times", guard: blocks("x.{999}y"), text: "x".repeat(60_000) },
  {
    name: "beginnings of words",
    guard: blocks("(?:\\b\\w{1,30}\\W{1,3}){30}!"),
    text: "ab cd ".repeat(10_000),
    ends: true,
  },
  { name: "letters of all scripts", guard: blocks("(?:\\pL?){300}\\pL{300}!"), text: "é".repeat(60_000) },
  { name: "cases folded", guard: blocks("(?i)(?:ß?k?){250}ſ{250}x"), text: "Kk".repeat(30_000) },
  {
    name: "groups of digits, all classes",
    guard: { on: "both", action: "mask", classes: ["email", "phone", "card", "iban", "national_id", "secret"] },
    text: groups,
    ends: true,
  },
  {
    name: "digits alone, all classes",
    guard: { on: "both", action: "mask", classes: ["email", "phone", "card", "iban", "national_id", "secret"] },
    text: "1".repeat(60_000),
    ends: true,
  },
  {
    name: "beginnings of accounts",
    guard: { on: "both", action: "mask", classes: ["iban"] },
    text: "DE89 ".repeat(12_000),
    ends: true,
  },
  {
    name: "addresses without end",
    guard: { on: "both", action: "mask", classes: ["email"] },
    text: "a@b.c.d.".repeat(7500),
    ends: true,
  },
  {
    name: "beginnings of keys",
    guard: { on: "both", action: "mask", classes: ["secret"] },
    text: "-----BEGIN PRIVATE KEY-----".repeat(2200),
    ends: true,
  },
  {
    name: "3 MB of digits, all classes",
    guard: { on: "both", action: "mask", classes: ["email", "phone", "card", "iban", "national_id", "secret"] },
    text: groups.repeat(50),
  },
];

const asked = ATTACKS.filter(
  ({ name }) => flags.only === undefined || flags.only.split(",").some((word) => name.includes(word)),
);
const policies = Object.fromEntries(
  asked.map(({ guard }, index) => [`attack-${index}`, { scope: { user: `attacker-${index}` }, guard }]),
);
const gateway = await startGateway({ config: stringify({ policies }) });
const small = { model: "sandbox:echo", messages: [{ role: "user", content: "hello" }] };
const CALM = "nothing beside other callers";

/** How often each answer came. */
type Outcomes = ReadonlyMap<string, number>;

async function attack(
  { text, fields = (content) => ({ messages: [{ role: "user", content }] }) }: Attack,
  index: number,
): Promise<Outcomes> {
  const endMs = performance.now() + ATTACK_MS;
  const outcomes = new Map<string, number>();
  const one = async (): Promise<void> => {
    do {
      const sentMs = performance.now();
      const response = await gateway.chat({ model: "sandbox:echo", user: `attacker-${index}`, ...fields(text) });
      const isBlocked = (await response.text()).includes("policy_violation");
      const block = performance.now() - sentMs < SOON_MS ? " blocked too soon" : " blocked";
      const outcome = `${response.status}${isBlocked ? block : ""}`;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    } while (performance.now() < endMs);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return outcomes;
}

const isAllowed = ({ ends }: Attack, outcome: string): boolean =>
  outcome === "200" || (ends === undefined && /^(?:200|403) blocked$/.test(outcome));

const line = (name: string, processor: string, clock: string, outcome: string): void =>
  void process.stdout.write(`${name.padEnd(44)} ${processor.padStart(12)} ${clock.padStart(10)}  ${outcome}\n`);
let failed = 0;
try {
  for (let call = 0; call < 300; call++) await (await gateway.chat(small)).text();
  const body = JSON.stringify(small);
  const other = new OtherCaller(
    gateway,
    (host) =>
      `POST /api/v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${gateway.firstToken!}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  line("longest wait of the other caller", "on processor", "by clock", "what became of the attack");
  const measure = async (one: Attack | null, index: number): Promise<Measured> => {
    let outcomes: Outcomes = new Map();
    const waits = await other.waitsDuring(async () => {
      if (one === null) await Bun.sleep(ATTACK_MS);
      else outcomes = await attack(one, index);
    });
    const isAnswered = one === null || [...outcomes.keys()].every((outcome) => isAllowed(one, outcome));
    const words = [...outcomes].map(([outcome, count]) => `${count} x ${outcome}`).join(", ");
    line(
      one?.name ?? CALM,
      `${waits.processorMs.toFixed(1)} ms`,
      `${waits.clockMs.toFixed(1)} ms`,
      isAnswered ? words : `${words}: this must not be`,
    );
    return { waits, isAnswered };
  };
  const shapes: readonly (Attack | null)[] = [null, ...asked];
  failed = await failedShapes(shapes.entries(), ([place, one]) => measure(one, place - 1));
  await other.stop();
} finally {
  await gateway.stop();
}
process.exitCode = failed === 0 ? 0 : 1;
