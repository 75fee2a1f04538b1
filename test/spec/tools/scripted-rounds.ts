// A model of OpenAI's form that answers each round as a test scripts it; and the client's answer, plain or streamed, in one form.
import { cannedUpstream, type CannedAnswer } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { checkOuterMembers } from "../answers/played-stream.ts";
import type { UpstreamClient, UpstreamRequest } from "../../../src/wire/upstream.ts";

export interface ScriptedRound {
  readonly text?: string;
  readonly reasoning?: string;
  readonly details?: readonly object[];
  readonly images?: readonly object[];
  readonly calls?: readonly { readonly name: string; readonly args?: string; readonly id?: string }[];
  readonly finish?: string;
  /** No usage is sent, if false. */
  readonly usage?: boolean;
  /** The figures; USAGE, if left out. */
  readonly told?: object;
  readonly id?: string;
  /** In place of an answer. */
  readonly status?: number;
  /** Of a stream: it breaks off before its end. */
  readonly isCut?: boolean;
}

export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** The round that a request is: results that stand in its conversation begin the next. */
export function roundOf({ body }: Pick<UpstreamRequest, "body">): number {
  const { messages } = JSON.parse(body) as {
    readonly messages: readonly { readonly role: string; readonly tool_calls?: readonly unknown[] }[];
  };
  return messages.filter(({ role, tool_calls: calls }) => role === "assistant" && (calls?.length ?? 0) > 0).length;
}

export function scriptedModel(rounds: readonly ScriptedRound[], more: Partial<CannedAnswer> = {}): UpstreamClient {
  return cannedUpstream((request) => ({
    ...answerOf(
      rounds[Math.min(roundOf(request), rounds.length - 1)]!,
      roundOf(request),
      request.body.includes('"stream":true'),
    ),
    ...more,
  }));
}

/** The provider's bytes for one round. */
export function answerOf(round: ScriptedRound, at: number, stream: boolean): CannedAnswer {
  if (round.status !== undefined)
    return {
      status: round.status,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        error: { message: `Refused with ${round.status}.`, type: "error", param: null, code: null },
      }),
    };
  const frame = { id: round.id ?? `chatcmpl-round-${at + 1}`, created: 1_767_000_000 + at, model: "m" };
  const calls = (round.calls ?? []).map(({ name, args = "{}", id }, index) => ({
    id: id ?? `call_${at + 1}_${index}`,
    type: "function",
    function: { name, arguments: args },
  }));
  const finish = round.finish ?? (calls.length > 0 ? "tool_calls" : "stop");
  const usage = round.usage === false ? {} : { usage: round.told ?? USAGE };
  const { text, reasoning, details, images } = round;
  if (!stream) {
    const message = {
      role: "assistant",
      content: text ?? null,
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
      ...(details && { reasoning_details: details }),
      ...(images && { images }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    return {
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...frame,
        object: "chat.completion",
        choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
        ...usage,
      }),
    };
  }
  const event = (choices: readonly object[], rest: object = {}): string =>
    `data: ${JSON.stringify({ ...frame, object: "chat.completion.chunk", choices, ...rest })}\n\n`;
  const delta = (content: object, reason: string | null = null): string =>
    event([{ index: 0, delta: content, finish_reason: reason }]);
  const pieces = (whole: string | undefined): readonly string[] => whole?.match(/[\s\S]{1,4}/g) ?? [];
  const said = [
    delta({ role: "assistant", content: "" }),
    ...pieces(reasoning).map((piece) => delta({ reasoning_content: piece })),
    ...(details ?? []).map((detail) => delta({ reasoning_details: [detail] })),
    ...pieces(text).map((content) => delta({ content })),
    ...(images ?? []).map((image) => delta({ images: [image] })),
    ...calls.flatMap(({ function: { name, arguments: args }, ...call }, index) => [
      delta({ tool_calls: [{ index, ...call, function: { name, arguments: "" } }] }),
      ...pieces(args).map((piece) => delta({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ];
  const body =
    round.isCut === true
      ? said
      : [...said, delta({}, finish), ...(round.usage === false ? [] : [event([], usage)]), "data: [DONE]\n\n"];
  return { headers: { "content-type": "text/event-stream" }, body: body.join("") };
}

/** What a client has in the end. */
export interface HeardAnswer {
  readonly status: number;
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly route: string;
  readonly message: Record<string, any>;
  readonly finish: string | null;
  readonly usage: Record<string, any> | null;
}

export async function heardWhole(response: Response): Promise<HeardAnswer> {
  const { id, created, model, route, choices, usage, error } = (await response.json()) as Record<string, any>;
  if (error !== undefined) throw new Error(`${response.status}: ${JSON.stringify(error)}`);
  return {
    status: response.status,
    id,
    created,
    model,
    route,
    message: choices[0].message,
    finish: choices[0].finish_reason,
    usage,
  };
}

/** A stream as the client's libraries put it together, and what the chunks by themselves have to keep. */
export function heardStream(
  text: string,
  status = 200,
): HeardAnswer & {
  readonly activity: readonly Record<string, any>[];
  readonly events: readonly Record<string, any>[];
} {
  const { events, done, error } = readStream(text);
  if (error !== null || !done) throw new Error(`the stream failed: ${JSON.stringify(error)}`);
  const message: Record<string, any> = { role: "assistant", content: null, refusal: null };
  const calls: Record<string, any>[] = [];
  const activity: Record<string, any>[] = [];
  let finish: string | null = null;
  let usage: Record<string, any> | null = null;
  for (const event of events) {
    if (event["usage"]) usage = event["usage"];
    const [choice] = event["choices"];
    if (choice === undefined) continue;
    const mcp = event["x_gateway_mcp"];
    if (mcp?.type !== undefined) activity.push(mcp);
    else if (mcp !== undefined) message["x_gateway_mcp"] = mcp;
    const { delta } = choice;
    for (const name of ["content", "reasoning_content", "refusal"])
      if (typeof delta[name] === "string" && delta[name] !== "") message[name] = (message[name] ?? "") + delta[name];
    for (const name of ["reasoning_details", "images"])
      for (const one of delta[name] ?? []) (message[name] ??= []).push(one);
    for (const call of delta.tool_calls ?? []) {
      const known = calls[call.index];
      if (known === undefined) calls[call.index] = { id: call.id, type: call.type, function: { ...call.function } };
      else known["function"].arguments += call.function.arguments;
    }
    if (delta.function_call)
      message["function_call"] = {
        name: message["function_call"]?.name ?? delta.function_call.name,
        arguments: (message["function_call"]?.arguments ?? "") + delta.function_call.arguments,
      };
    if (choice.finish_reason !== null) {
      if (finish !== null) throw new Error("two finish reasons");
      finish = choice.finish_reason;
    }
  }
  if (calls.length > 0) message["tool_calls"] = calls;
  const [first] = events;
  for (const event of events)
    for (const name of ["id", "created", "model"])
      if (event[name] !== first![name]) throw new Error(`${name} changes within the stream`);
  checkOuterMembers(events, true, (holds, fault) => {
    if (!holds) throw new Error(fault);
  });
  const roles = events.filter((event) => event["choices"][0]?.delta.role !== undefined);
  if (roles.length !== 1 || roles[0] !== first) throw new Error("the role does not stand once, and first");
  return {
    status,
    id: first!["id"],
    created: first!["created"],
    model: first!["model"],
    route: first!["route"],
    message,
    finish,
    usage,
    activity,
    events,
  };
}
