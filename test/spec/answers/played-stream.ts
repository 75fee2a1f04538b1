// A provider's stream played through the whole gateway, and a strict reader: it names every violation of the stream
// grammar (promises 8.1 to 8.3, 8.7), independently of the gateway's own code.
import { FINISH_REASONS } from "../../../src/core/chat.ts";
import {
  cannedUpstream,
  type CannedAnswer,
  type Stub,
  stubGateway,
  type StubOptions,
} from "../../harness/in-process.ts";
import { readStream, type ReadStream } from "../../harness/sse.ts";
import { eventStream } from "../../harness/servers/upstream.ts";

export const ASK = { model: "openai:m", messages: [{ role: "user", content: "Say it." }] } as const;

export interface Played extends ReadStream {
  readonly response: Response;
  readonly text: string;
  readonly stub: Stub;
  /** What is against the grammar; empty when nothing is. */
  readonly faults: readonly string[];
  readonly choices: readonly PlayedChoice[];
  readonly usage: Record<string, any> | null;
}

export interface PlayOptions {
  /** Fields of the request beside model, messages and stream. */
  readonly ask?: Readonly<Record<string, unknown>>;
  readonly answer?: Partial<CannedAnswer>;
  readonly stub?: StubOptions;
}

/** Streams `data` (chunks of the provider, or the text of its whole stream) to a client. */
export async function play(
  data: readonly object[] | string,
  { ask = {}, answer = {}, stub: options = {} }: PlayOptions = {},
): Promise<Played> {
  const body = typeof data === "string" ? data : eventStream(...data);
  const stub = stubGateway({
    upstream: cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk: "event", ...answer }),
    ...options,
  });
  const response = await stub.chat({ ...ASK, stream: true, ...ask });
  const text = await response.text();
  if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true)
    throw new Error(`no stream came but ${response.status} ${text}`);
  const read = readStream(text);
  const includeUsage = (ask["stream_options"] as { include_usage?: boolean } | undefined)?.include_usage === true;
  return {
    ...read,
    response,
    text,
    stub,
    faults: grammarFaults(read, includeUsage),
    choices: assembled(read.events),
    usage: read.events.find((event) => event["choices"]?.length === 0)?.["usage"] ?? null,
  };
}

/** A chunk of an OpenAI-shaped provider with one choice. */
export function chunk(
  delta: object | null,
  finish: string | null = null,
  { index = 0, ...extra }: { readonly index?: number } & Readonly<Record<string, unknown>> = {},
): object {
  return {
    id: "chatcmpl-p",
    object: "chat.completion.chunk",
    created: 1_767_000_000,
    model: "m",
    choices: [{ index, ...(delta && { delta }), finish_reason: finish }],
    ...extra,
  };
}

/** The same with fields of the choice. */
export function choiceChunk(choice: object, extra: object = {}): object {
  return {
    id: "chatcmpl-p",
    object: "chat.completion.chunk",
    created: 1_767_000_000,
    model: "m",
    choices: [choice],
    ...extra,
  };
}

export const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 } as const;
export const usageChunk = (usage: object = USAGE): object => ({
  id: "chatcmpl-p",
  object: "chat.completion.chunk",
  created: 1_767_000_000,
  model: "m",
  choices: [],
  usage,
});

export interface PlayedChoice {
  readonly index: number;
  text: string;
  reasoning: string;
  refusal: string;
  readonly calls: { id: string; name: string; arguments: string }[];
  /** Of the deprecated form. */
  functionCall: { name: string; arguments: string } | null;
  finish: string | null;
}

/** What a client makes of the events, by index. */
export function assembled(events: readonly Record<string, any>[]): readonly PlayedChoice[] {
  const byIndex = new Map<number, PlayedChoice>();
  for (const event of events)
    for (const { index, delta, finish_reason } of event["choices"] ?? []) {
      const choice = byIndex.get(index) ?? {
        index,
        text: "",
        reasoning: "",
        refusal: "",
        calls: [],
        functionCall: null,
        finish: null,
      };
      byIndex.set(index, choice);
      choice.text += delta.content ?? "";
      choice.reasoning += delta.reasoning_content ?? "";
      choice.refusal += delta.refusal ?? "";
      for (const call of delta.tool_calls ?? []) {
        choice.calls[call.index] ??= { id: call.id, name: call.function.name, arguments: "" };
        choice.calls[call.index]!.arguments += call.function.arguments;
      }
      if (delta.function_call) {
        choice.functionCall ??= { name: delta.function_call.name, arguments: "" };
        choice.functionCall.arguments += delta.function_call.arguments ?? "";
      }
      choice.finish = finish_reason ?? choice.finish;
    }
  return [...byIndex.values()].toSorted((a, b) => a.index - b.index);
}

const KINDS = [
  "content",
  "refusal",
  "reasoning_content",
  "reasoning_details",
  "tool_calls",
  "function_call",
  "annotations",
];

interface Seen {
  deltas: number;
  finished: boolean;
  calls: number;
}

export function grammarFaults({ events, done, error }: ReadStream, includeUsage: boolean): readonly string[] {
  const faults: string[] = [];
  const check = (holds: boolean, fault: string): void => void (holds || faults.push(fault));
  const seen = new Map<number, Seen>();
  const ids = new Set<string>();
  const frames = new Set<string>();
  check(done, "S1: the stream does not end with [DONE]");
  const errors = events.filter((event) => "error" in event);
  check(
    errors.length === 0 || (errors.length === 1 && events.at(-1) === errors[0]),
    "S19: an error event is not the one last event",
  );
  for (const event of events) {
    if ("error" in event) {
      check(!("choices" in event), "S19: an error event has choices");
      check(
        event["error"] !== null &&
          typeof event["error"].message === "string" &&
          typeof event["error"].code === "string",
        "S18: an error without words",
      );
      continue;
    }
    checkFrame(event, check);
    frames.add(JSON.stringify([event["id"], event["created"], event["model"]]));
    const isUsage = event["choices"]?.length === 0;
    check(
      !isUsage || (includeUsage && event === events.at(-1)),
      "S14, S15: a chunk without choices that is not the last one, or was not asked for",
    );
    check(
      isUsage || (includeUsage ? event["usage"] === null : !("usage" in event)),
      "S14, S15: usage on an ordinary chunk",
    );
    if (isUsage)
      check(
        ["prompt_tokens", "completion_tokens", "total_tokens"].every((name) =>
          Number.isInteger(event["usage"]?.[name]),
        ),
        "S16: usage that is not whole",
      );
    check((event["choices"]?.length ?? 0) <= 1, "one choice a chunk");
    for (const choice of event["choices"] ?? []) checkChoice(choice, seen, ids, check);
  }
  check(frames.size <= 1, "S4: id, created or model change");
  checkOuterMembers(events, error === null, check);
  if (error === null)
    check(
      [...seen.keys()].toSorted((a, b) => a - b).every((index, position) => index === position),
      "S5: indexes with holes",
    );
  if (error === null)
    check(
      seen.size > 0 && [...seen.values()].every((choice) => choice.finished),
      "S12: a choice without its finish reason",
    );
  if (error === null && includeUsage) check(events.at(-1)?.["choices"]?.length === 0, "S14: no usage chunk");
  return faults;
}

function checkFrame(event: Record<string, any>, check: (holds: boolean, fault: string) => void): void {
  check(Array.isArray(event["choices"]), "S3: no choices");
  check(typeof event["id"] === "string" && event["id"] !== "", "S3: no id");
  check(event["object"] === "chat.completion.chunk", "S3: object");
  check(Number.isInteger(event["created"]) && event["created"] < 1e11, "S3: created is not in seconds");
  check(/^[^:]+:.+/.test(String(event["model"])), "8.1: model");
}

/** The first chunk and the last one of a stream have the same route and trace id, and the others have neither. */
export function checkOuterMembers(
  events: ReadStream["events"],
  isWhole: boolean,
  check: (holds: boolean, fault: string) => void,
): void {
  const chunks = events.filter((event) => !("error" in event));
  const [first, last] = [chunks[0], isWhole ? chunks.at(-1) : chunks[0]];
  for (const one of chunks) {
    const { route, x_gateway_trace_id: traceId } = one;
    if (one !== first && one !== last)
      check(route === undefined && traceId === undefined, "8.1: route or trace id in the middle of a stream");
    else
      check(
        typeof route === "string" &&
          typeof traceId === "string" &&
          route === first?.["route"] &&
          traceId === first["x_gateway_trace_id"],
        "8.1: route and trace id of the first and the last chunk",
      );
  }
}

function checkChoice(
  choice: Record<string, any>,
  seen: Map<number, Seen>,
  ids: Set<string>,
  check: (holds: boolean, fault: string) => void,
): void {
  const { index, delta, finish_reason: finish } = choice;
  check(Number.isInteger(index) && index >= 0 && index < 128, "S5: index");
  const known = seen.get(index) ?? { deltas: 0, finished: false, calls: 0 };
  seen.set(index, known);
  check(!known.finished, "S12: something after the finish reason");
  check(typeof delta === "object" && delta !== null && !Array.isArray(delta), "S5: delta");
  check("logprobs" in choice, "8.1: logprobs is missing");
  check(finish === null || FINISH_REASONS.includes(finish), "S13: an unknown finish reason");
  if (known.deltas++ === 0)
    check(
      delta.role === "assistant" && delta.content === "" && Object.keys(delta).length === 2,
      "S6: the first delta is not the role alone",
    );
  else {
    check(!("role" in delta), "S6: role again");
    check(KINDS.filter((kind) => kind in delta).length <= 1, "S8: several kinds in one delta");
  }
  for (const kind of ["content", "reasoning_content", "refusal"])
    check(!(kind in delta) || typeof delta[kind] === "string", `S7: ${kind} is no string`);
  if ("tool_calls" in delta) checkCalls(delta.tool_calls, known, ids, check);
  if (finish !== null) known.finished = true;
}

function checkCalls(calls: any, known: Seen, ids: Set<string>, check: (holds: boolean, fault: string) => void): void {
  check(Array.isArray(calls) && calls.length > 0, "S9: tool_calls is empty or no list");
  for (const call of calls) {
    check(typeof call.function?.arguments === "string", "S9: arguments are not in every delta");
    if (call.index === known.calls) {
      known.calls++;
      check(
        typeof call.id === "string" && call.id !== "" && !ids.has(call.id),
        "S11: a call has no id, or one that is not unique",
      );
      ids.add(call.id);
      check(
        call.type === "function" && typeof call.function.name === "string" && call.function.name !== "",
        "S9: a call opens without type and name",
      );
    } else {
      check(
        Number.isInteger(call.index) && call.index >= 0 && call.index < known.calls,
        "S9: indexes of calls are not dense and in order",
      );
      check(!("id" in call) && !("type" in call) && !("name" in call.function), "S9: id, type or name again");
    }
  }
}
