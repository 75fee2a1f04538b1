// Streams of OpenAI-shaped providers with all their quirks, generated together with what a client has to make of them.
import fc from "fast-check";
import type { PlayedChoice } from "./answers/played-stream.ts";

export interface QuirkyStream {
  /** The provider's whole stream. */
  readonly text: string;
  readonly n: number;
  /** Without the ids of calls, which are free where the provider gives none. */
  readonly expected: readonly Expected[];
  readonly usage: Readonly<Record<string, number>> | null;
}
export type Expected = Omit<PlayedChoice, "calls" | "functionCall"> & {
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
};

type Delta = Record<string, unknown>;

/** How the provider says calls; `first` is what opens one, `more` what goes on with it. */
const CALL_STYLES = ["plain", "repeated", "late-name", "no-index", "always-0", "whole"] as const;
type CallStyle = (typeof CALL_STYLES)[number];

interface Quirks {
  readonly role: "first" | "every" | "never";
  readonly withoutIndex: boolean;
  readonly merged: boolean;
  readonly calls: CallStyle;
  readonly reasoning: "reasoning_content" | "reasoning" | "both";
  readonly usage: "end" | "every" | "first" | "finish" | "none";
  readonly lineEnd: "\n" | "\r\n";
  readonly noise: boolean;
  readonly done: boolean;
}

const quirks: fc.Arbitrary<Quirks> = fc.record({
  role: fc.constantFrom("first", "every", "never"),
  withoutIndex: fc.boolean(),
  merged: fc.boolean(),
  calls: fc.constantFrom(...CALL_STYLES),
  reasoning: fc.constantFrom("reasoning_content", "reasoning", "both"),
  usage: fc.constantFrom("end", "every", "first", "finish", "none"),
  lineEnd: fc.constantFrom("\n", "\r\n"),
  noise: fc.boolean(),
  done: fc.boolean(),
});

const piece = fc.oneof(
  fc.string({ minLength: 1, maxLength: 8 }),
  fc.constantFrom("é", "漢字", "🎈", "\n\n", "data: ", '"}', "\u2028", "[DONE]", "0"),
);
const pieces = fc.array(piece, { maxLength: 4 });
const calledFunction = fc.record({
  input: fc.dictionary(fc.string({ maxLength: 4 }), fc.oneof(fc.integer(), fc.string({ maxLength: 6 })), {
    minKeys: 1,
    maxKeys: 3,
  }),
  cut: fc.integer({ min: 1, max: 5 }),
});
const content = fc.record({
  reasoning: pieces,
  text: pieces,
  refusal: fc.array(piece, { maxLength: 1 }),
  calls: fc.array(calledFunction, { maxLength: 3 }),
  finish: fc.constantFrom("stop", "length", "tool_calls", "content_filter"),
});
type Content = typeof content extends fc.Arbitrary<infer T> ? T : never;

const split = (text: string, length: number): readonly string[] =>
  text.match(new RegExp(`[\\s\\S]{1,${length}}`, "gu")) ?? [];

function callDeltas(
  style: CallStyle,
  index: number,
  name: string,
  id: string,
  text: string,
  cut: number,
): readonly Delta[] {
  const delta = (number: number | undefined, head: object, said: object): Delta => ({
    tool_calls: [{ ...(number !== undefined && { index: number }), ...head, function: said }],
  });
  const opened = { id, type: "function" };
  const parts = split(text, cut);
  switch (style) {
    case "repeated":
      return parts.map((part) => delta(index, opened, { name, arguments: part }));
    case "late-name":
      return [
        delta(index, opened, { name: null, arguments: parts[0] }),
        delta(index, {}, { name, arguments: "" }),
        ...parts.slice(1).map((part) => delta(index, {}, { arguments: part })),
      ];
    case "no-index":
      return [
        delta(undefined, opened, { name, arguments: parts[0] }),
        ...parts.slice(1).map((part) => delta(undefined, {}, { arguments: part })),
      ];
    case "always-0":
      return [
        delta(0, opened, { name, arguments: parts[0] }),
        ...parts.slice(1).map((part) => delta(0, { id: "" }, { arguments: part })),
      ];
    case "whole":
      return [delta(index, {}, { name, arguments: JSON.parse(text) as object })];
    default:
      return [
        delta(index, opened, { name, arguments: "" }),
        ...parts.map((part) => delta(index, {}, { arguments: part })),
      ];
  }
}

function deltasOf(said: Content, quirk: Quirks, choice: number): readonly Delta[] {
  const reasoned = (text: string): Delta =>
    quirk.reasoning === "both" ? { reasoning: text, reasoning_content: text } : { [quirk.reasoning]: text };
  const all: Delta[] = [
    ...said.reasoning.map(reasoned),
    ...said.text.map((text) => ({ content: text })),
    ...said.refusal.map((refusal) => ({ refusal })),
  ];
  said.calls.forEach(({ input, cut }, index) =>
    all.push(...callDeltas(quirk.calls, index, `f${index}`, `call_${choice}_${index}`, JSON.stringify(input), cut)),
  );
  const merged = quirk.merged ? mergeNeighbours(all) : all;
  return merged.map((delta, position) =>
    quirk.role === "every" || (quirk.role === "first" && position === 0) ? { role: "assistant", ...delta } : delta,
  );
}

/** Pairs of deltas that say different things become one. */
function mergeNeighbours(deltas: readonly Delta[]): readonly Delta[] {
  const merged: Delta[] = [];
  for (const delta of deltas) {
    const last = merged.at(-1);
    // text stands before calls in the one order that a client can see
    if (
      last !== undefined &&
      Object.keys(last).length === 1 &&
      !("tool_calls" in last) &&
      !Object.keys(delta).some((key) => key in last)
    )
      merged[merged.length - 1] = { ...last, ...delta };
    else merged.push({ ...delta });
  }
  return merged;
}

/** Deals the choices' deltas out in a mixed order that keeps each choice's own. */
function mixed(lists: readonly (readonly object[])[], order: readonly number[]): readonly object[] {
  const waiting = lists.map((list) => [...list]);
  const out: object[] = [];
  for (let turn = 0; waiting.some((list) => list.length > 0); turn++) {
    const open = waiting.filter((list) => list.length > 0);
    out.push(open[(order[turn % order.length] ?? 0) % open.length]!.shift()!);
  }
  return out;
}

const FIGURES = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function streamText(said: readonly Content[], quirk: Quirks, order: readonly number[]): string {
  const alone = said.length === 1 && quirk.withoutIndex;
  const choicesOf = (choice: Content, index: number): readonly object[] => [
    ...deltasOf(choice, quirk, index).map((delta) => ({ ...(!alone && { index }), delta, finish_reason: null })),
    { ...(!alone && { index }), delta: {}, finish_reason: choice.finish },
  ];
  const events = mixed(said.map(choicesOf), order).map((choice, position, all): object => {
    const isFinish = (choice as { finish_reason: string | null }).finish_reason !== null;
    const withUsage =
      quirk.usage === "every" ||
      (quirk.usage === "first" && position === 0) ||
      (quirk.usage === "finish" && position === all.length - 1);
    return {
      id: "chatcmpl-q",
      object: "chat.completion.chunk",
      created: 1_767_000_000,
      model: "m",
      choices: [choice],
      ...(withUsage && { usage: FIGURES }),
      ...(quirk.noise && isFinish && { error: null, x_vendor: position }),
    };
  });
  if (quirk.usage === "end") events.push({ id: "chatcmpl-q", choices: [], usage: FIGURES });
  const data = events.map((event) => `data: ${JSON.stringify(event)}${quirk.lineEnd}${quirk.lineEnd}`);
  const noisy = quirk.noise ? data.flatMap((line) => [`: ping${quirk.lineEnd}${quirk.lineEnd}`, line]) : data;
  return noisy.join("") + (quirk.done ? `data: [DONE]${quirk.lineEnd}${quirk.lineEnd}` : "");
}

export const quirkyStream: fc.Arbitrary<QuirkyStream> = fc
  .tuple(fc.array(content, { minLength: 1, maxLength: 3 }), quirks, fc.array(fc.nat(5), { minLength: 1, maxLength: 6 }))
  .map(([said, quirk, order]) => ({
    text: streamText(said, quirk, order),
    n: said.length,
    usage: quirk.usage === "none" ? null : FIGURES,
    expected: said.map((choice, index) => ({
      index,
      text: choice.text.join(""),
      reasoning: choice.reasoning.join(""),
      refusal: choice.refusal.join(""),
      calls: choice.calls.map(({ input }, number) => ({ name: `f${number}`, arguments: JSON.stringify(input) })),
      finish: choice.finish,
    })),
  }));
