// Carriers of reasoning (promise 12.9): what is sealed for one place opens there alone, and whole.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { openCarrier, isCarrier, reasoningCarriers } from "../../src/engine/carriers/reasoning-carrier.ts";
import { carrierEdits } from "../../src/engine/carriers/native-carriers.ts";
import {
  extrasOf,
  sealedDetails,
  sealedExtras,
  withOpenedCarriers,
} from "../../src/engine/carriers/sealed-reasoning.ts";
import type { CarrierPlace, Message, ReasoningDetail } from "../../src/core/chat.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { parseJson } from "../../src/wire/json/json.ts";
import { drawCount } from "../harness/time/long-run.ts";

const KEY = new Uint8Array(32).fill(7);
const PLACE: CarrierPlace = { tenantId: "t", projectId: "p", provider: "anthropic", model: "claude-sonnet-5" };
const carriers = reasoningCarriers(() => [KEY]);
const opened = (text: string, place = PLACE, from = carriers) => openCarrier(text, from.keysOf(place.tenantId), place);
const RUNS = drawCount(300, 3_000);

/** What a model says of its reasoning: signed text, encrypted blocks, summaries before them, raw text. */
const details: fc.Arbitrary<readonly ReasoningDetail[]> = fc
  .array(
    fc.oneof(
      fc.record({ type: fc.constant("reasoning.text" as const), text: fc.string(), signature: fc.base64String() }),
      fc.record({ type: fc.constant("reasoning.text" as const), text: fc.string({ unit: "binary" }) }),
      fc
        .tuple(fc.array(fc.string(), { maxLength: 3 }), fc.base64String({ minLength: 1 }))
        .map(([summaries, data]) => [
          ...summaries.map((summary) => ({ type: "reasoning.summary" as const, summary })),
          { type: "reasoning.encrypted" as const, data, id: "rs_1", format: "openai-responses-v1" },
        ]),
    ),
    { maxLength: 5 },
  )
  .map((groups) => groups.flat().map((detail, index) => ({ ...detail, index })));

describe("[d12.9] a carrier", () => {
  const seal = (carried: JsonObject): string => carriers.seal(carried, PLACE)!;
  const open = (text: string): JsonObject | null => {
    const found = opened(text);
    return "carried" in found ? found.carried : null;
  };

  test("keeps everything: what is sealed in an answer is what the next request has", () => {
    fc.assert(
      fc.property(
        details,
        fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
        fc.option(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), { nil: undefined }),
        (own, extra, ofCall) => {
          const call = { id: "call_1", type: "function" as const, function: { name: "f", arguments: "{}" } };
          const message = {
            role: "assistant",
            content: "Hello",
            ...(own.length > 0 && { reasoning_details: own }),
            ...(Object.keys(extra).length > 0 && { extra_content: extra }),
            tool_calls: [{ ...call, ...(ofCall !== undefined && { extra_content: ofCall }) }],
          } as unknown as Message;
          const sealed = [
            ...sealedDetails(own, () => seal),
            ...sealedExtras(extrasOf(message["extra_content"], message["tool_calls"]), seal),
          ];
          const sent = { role: "assistant", content: "Hello", reasoning_details: sealed, tool_calls: [call] };
          const back = withOpenedCarriers(JSON.parse(JSON.stringify(sent)) as Message, open);
          expect(back).toEqual(JSON.parse(JSON.stringify(message)) as Message);
          for (const { signature, data } of sealed) expect(isCarrier(signature ?? data)).toBe(true);
        },
      ),
      { numRuns: RUNS },
    );
  });
  test("keeps all digits of numbers, such as those of a call in a vendor's own turn", () => {
    const text = '{"extra":{"google":{"turn":{"args":{"id":12345678901234567890}}}}}';
    expect(JSON.stringify(open(seal(parseJson(text) as JsonObject)))).toBe(text);
  });

  test("with a character changed, cut off or added is not opened, and is still known as ours", () => {
    const text = seal({ details: [{ type: "reasoning.text", text: "Hm.", signature: "c2ln" }] });
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.integer({ min: 33, max: 126 }), (at, code) => {
        const bent = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1);
        if (bent === text) return;
        expect([isCarrier(bent), "fault" in opened(bent)]).toEqual([true, true]);
      }),
      { numRuns: RUNS },
    );
    for (let length = 0; length < text.length; length++) {
      expect("fault" in opened(text.slice(0, length))).toBe(true);
      expect("fault" in opened(`${text.slice(0, length)}A${text.slice(length)}`)).toBe(true);
    }
  });
  test("of another tenant, project, provider, model or installation is not opened", () => {
    const text = seal({ details: [] });
    expect(opened(text)).toEqual({ carried: { details: [] } });
    expect(opened(text, { ...PLACE, tenantId: "other" })).toEqual({ fault: "damaged" });
    for (const other of [{ projectId: "x" }, { provider: "bedrock" }, { model: "claude-opus-5" }])
      expect(opened(text, { ...PLACE, ...other })).toEqual({ fault: "elsewhere" });
    expect(
      opened(
        text,
        PLACE,
        reasoningCarriers(() => [new Uint8Array(32)]),
      ),
    ).toEqual({ fault: "damaged" });
    expect(opened(text.replace("dragoman1", "dragoman2"))).toEqual({ fault: "version" });
  });
  test("is opened by all replicas with the same master keys, and after the key was changed", () => {
    const text = seal({ details: [] });
    expect(
      opened(
        text,
        PLACE,
        reasoningCarriers(() => [KEY]),
      ),
    ).toEqual({ carried: { details: [] } });
    expect(
      opened(
        text,
        PLACE,
        reasoningCarriers(() => [new Uint8Array(32), KEY]),
      ),
    ).toEqual({ carried: { details: [] } });
  });
  test("is opened by a replica that was started before the key was changed", () => {
    let keys = [KEY];
    const running = reasoningCarriers(() => keys);
    expect(opened(running.seal({ details: [] }, PLACE)!)).toEqual({ carried: { details: [] } });
    keys = [new Uint8Array(32), KEY];
    const later = reasoningCarriers(() => keys).seal({ details: [] }, PLACE)!;
    expect(opened(later, PLACE, running)).toEqual({ carried: { details: [] } });
    expect(opened(running.seal({ details: [] }, PLACE)!)).toEqual({ fault: "damaged" });
  });
  test("holds no more than a bound, and reveals nothing", () => {
    expect(carriers.seal({ text: "x".repeat(2 * 1024 * 1024) }, PLACE)).toBeNull();
    expect(reasoningCarriers(() => []).seal({}, PLACE)).toBeNull();
    const [one, other] = [seal({ text: "the same" }), seal({ text: "the same" })];
    expect(one).not.toBe(other);
    expect(Buffer.from(one, "base64url").toString("latin1")).not.toContain("same");
  });
  test("is turned back in what goes to a vendor as the client wrote it, or left out", () => {
    const carrier = seal({ details: [] });
    const text = { type: "text", text: "Hi" };
    const said = (...content: readonly JsonObject[]) => ({ messages: [{ role: "assistant", content }] });
    const thinking = { type: "thinking", thinking: "Hm.", signature: carrier };
    const own = { type: "thinking", thinking: "Hm.", signature: "vendors" };
    const edits = (body: JsonObject, back: JsonObject | null) =>
      carrierEdits(body, { opened: () => back, isForeign: ({ type }) => type === "redacted_thinking" });
    const path = ["messages", 0, "content", 0];
    expect(edits(said(thinking, text), own)).toEqual([{ path, value: own }]);
    expect(edits(said(thinking, text), null)).toEqual([{ path, value: undefined }]);
    const redacted = { type: "redacted_thinking", data: "elsewhere" };
    expect(edits(said(redacted, text), own)).toEqual([{ path, value: undefined }]);
    expect(edits(said(redacted, thinking), null)).toEqual([{ path: ["messages", 0], value: undefined }]);
    const input = [{ type: "reasoning", encrypted_content: carrier, summary: [] }, { role: "user" }];
    expect(edits({ input }, null)).toEqual([{ path: ["input", 0], value: undefined }]);
  });
});
