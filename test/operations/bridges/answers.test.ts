// What a client reads of answers that were translated: every turn that a model can make, over four forms of providers,
// through both fronts, plain and streamed. The readers refuse whatever the strictest client library refuses.
import { describe, expect, test } from "bun:test";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { asked, bridge, type Front, FRONTS, type Told } from "./fronts.ts";
import type { End, Said, Vendor } from "./said.ts";
import { VENDORS } from "./vendors.ts";

const THOUGHT: Said = { thinking: "Let me see: twice ä.", signature: "EqQBCkYIBxgC" };
const TEXT: Said = { text: "Hello there, ünï 👋." };
const LOOK: Said = { call: "call_a", name: "look", input: { at: [1, 2], why: 'say "x"\n' } };
const SEE: Said = { call: "call_b", name: "see", input: {} };
const AGAIN: Said = { call: "call_c", name: "look", input: { at: null } };

const TURNS: readonly (readonly [what: string, said: readonly Said[]])[] = [
  ["text", [TEXT]],
  ["reasoning and text", [THOUGHT, TEXT]],
  ["a call", [LOOK]],
  ["reasoning and a call", [THOUGHT, LOOK]],
  ["text and a call without arguments", [TEXT, SEE]],
  ["three calls in parallel, two of one function", [LOOK, SEE, AGAIN]],
  ["reasoning, text and calls in parallel", [THOUGHT, TEXT, LOOK, SEE]],
];

const FORMS = Object.entries(FRONTS).flatMap(([front, by]) =>
  Object.entries(VENDORS).map(([vendor, at]) => [`${front} over ${vendor}`, by, at] as const),
);

async function told(
  front: Front,
  vendor: Vendor,
  stream: boolean,
  said: readonly Said[],
  end: End = "done",
): Promise<Told> {
  const answer = stream ? vendor.stream(said, end) : vendor.answer(said, end);
  const { response, text } = await asked(front, vendor, { answer, stream });
  expect([response.status, text]).toEqual([200, text]);
  return front.read(text, stream);
}

/** What a client reads has neither signatures nor counters that it has no word for. */
const readable = (said: readonly Said[]): readonly Said[] =>
  said.map((one) => ("thinking" in one ? { thinking: one.thinking } : one));
const countedBy = ({ counted }: Vendor): Told["counted"] => ({
  ...counted,
  written: counted.written ?? 0,
  thinking: counted.thinking ?? 0,
});

describe.each(FORMS)("%s", (_name, front, vendor) => {
  for (const stream of [false, true])
    for (const [what, said] of TURNS)
      test(`[d12.4 d12.5 d12.7] ${what}, ${stream ? "streamed" : "plain"}: pieces in order, each once, with the reason of the end and every counter once`, async () => {
        expect(await told(front, vendor, stream, said)).toEqual({
          said: readable(said),
          end: said.some((one) => "call" in one) ? "calls" : "done",
          counted: countedBy(vendor),
        });
      });

  test("[d12.5] an answer that met its bound, or that the vendor filtered, says so", async () => {
    for (const stream of [false, true])
      for (const end of ["length", "refusal"] as const)
        expect(await told(front, vendor, stream, [TEXT], end)).toMatchObject({ said: [TEXT], end });
  });

  test("[d12.5] a stream that breaks off after any of its events is told as failed", async () => {
    const whole = vendor.stream([THOUGHT, TEXT, LOOK]);
    const bytes = typeof whole.body === "string" ? Buffer.from(whole.body) : Buffer.from(whole.body);
    const parts = 12;
    let begun = 0;
    for (let part = 1; part < parts; part++) {
      const body = bytes.subarray(0, Math.floor((bytes.length * part) / parts));
      const { response, text } = await asked(front, vendor, { answer: { ...whole, body }, stream: true });
      // what fails before its first content has a status of its own
      if (response.status !== 200) expect(response.status).toBe(502);
      else {
        begun++;
        expect([part, front.read(text, true).end]).toEqual([part, "failed"]);
      }
    }
    expect(begun).toBeGreaterThan(4);
  });
});

test("[d12.7] no counter that the vendor did not tell is told: one that the form requires is 0, another is left out", async () => {
  const answer = VENDORS["gemini"]!.answer([TEXT]);
  const message = JSON.parse((await asked(FRONTS["Messages"]!, VENDORS["gemini"]!, { answer })).text);
  expect(message.usage).toEqual({
    input_tokens: 70,
    cache_read_input_tokens: 30,
    output_tokens: 20,
    output_tokens_details: { thinking_tokens: 5 },
  });
});

test("[d12.7] more cached tokens than the input has do not make a negative counter", async () => {
  const openai = VENDORS["openai"]!;
  const { body } = openai.answer([TEXT]);
  const odd = { ...JSON.parse(body as string) };
  odd.usage = { ...odd.usage, prompt_tokens_details: { cached_tokens: 130, cache_write_tokens: 10 } };
  for (const front of Object.values(FRONTS)) {
    const { text } = await asked(front, openai, { answer: { body: JSON.stringify(odd) } });
    for (const counter of Object.values(front.read(text, false).counted!)) expect(counter).toBeGreaterThanOrEqual(0);
  }
});

test("[d12.7] of a counter that comes twice in a stream the last value counts, at a provider that speaks the form as well", async () => {
  const vendor = VENDORS["anthropic"]!;
  const whole = vendor.stream([TEXT]);
  // some servers count the whole prompt at first, and its parts at the end
  const body = (whole.body as string)
    .replace('"input_tokens":60,"cache_read_input_tokens":30,"cache_creation_input_tokens":10', '"input_tokens":100')
    .replace(
      '"usage":{"output_tokens":20}',
      '"usage":{"input_tokens":60,"cache_read_input_tokens":30,"cache_creation_input_tokens":10,"output_tokens":20}',
    );
  const front = FRONTS["Messages"]!;
  for (const gateway of [bridge({ ...whole, body }), stubGateway({ upstream: cannedUpstream({ ...whole, body }) })]) {
    const request = { model: vendor.model, ...front.asking([{ role: "user", text: "?" }]), stream: true };
    const text = await (await gateway.call(front.operation, request)).text();
    expect(text.match(/event: message_delta/g)).toHaveLength(1);
    const [, ending] = /^data: (\{"type":"message_delta".*)$/m.exec(text)!;
    expect(JSON.parse(ending!).usage).toMatchObject({
      input_tokens: 60,
      cache_read_input_tokens: 30,
      cache_creation_input_tokens: 10,
      output_tokens: 20,
    });
    expect(gateway.records[0]!.usage).toMatchObject({
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 10 },
    });
  }
});
