// Calls of the Responses API in this process, and what a test reads of its answers and streams.
import { afterAll, beforeAll, describe } from "bun:test";
import { handleCall } from "../../../src/engine/handle.ts";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { type LongRequests, openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import type { KeptResponseRequest } from "../../../src/operations/responses/kept-response-requests.ts";
import type { Reader } from "../../../src/operations/responses/keeping/opened-responses.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import { providers } from "../../../src/providers/registry.ts";
import type { UpstreamClient, UpstreamRequest } from "../../../src/wire/upstream.ts";
import { eventStream, openaiAnswer } from "../../harness/servers/upstream.ts";
import {
  cannedUpstream,
  type CannedAnswer,
  type Stub,
  stubGateway,
  type StubOptions,
} from "../../harness/in-process.ts";

export interface ResponsesStub extends Stub {
  respond(body: object, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** The bodies that went upstream. */
  bodies(): readonly Record<string, any>[];
}

/** The providers without what they speak beside their own form, so that each call is translated. */
const TRANSLATED: ReadonlyMap<string, Provider> = new Map(
  [...providers].map(([id, provider]) => {
    const members = Object.entries(provider).filter(([name]) => name !== "native");
    return [id, Object.fromEntries(members) as unknown as Provider];
  }),
);

/** What handles the long requests that `forShortAndLongRequests` makes; null while requests are short. */
let longRequests: LongRequests | null = null;

/** Registers tests for short requests and for long ones, which are the same with blanks behind them (promise 5.8). */
export function forShortAndLongRequests(register: () => void): void {
  describe("short requests", register);
  describe("long requests", () => {
    const thread = openLongBodyThread(longBodyProgram());
    beforeAll(() => void (longRequests = openLongRequests(thread)));
    afterAll(async () => {
      longRequests = null;
      await thread.close();
    });
    register();
  });
}

/** A request that the thread of long bodies has written is bytes. */
const asText = ({ bytes, ...request }: UpstreamRequest): UpstreamRequest =>
  bytes === undefined ? request : { ...request, body: Buffer.from(bytes).toString() };

/** A gateway whose providers are all asked in another form than that of the operation. */
export function responsesGateway({ upstream, ...options }: StubOptions = {}): ResponsesStub {
  const read: UpstreamClient | undefined = upstream && {
    send: (request, call) => upstream.send(asText(request), call),
  };
  const stub = stubGateway({
    families: TRANSLATED,
    ...(read && { upstream: read }),
    ...(longRequests !== null && { longRequests }),
    ...options,
  });
  const behind = longRequests === null ? "" : " ".repeat(LONG_BODY_BYTES);
  return {
    ...stub,
    get sent() {
      return longRequests === null ? stub.sent : stub.sent.map(asText);
    },
    bodies: () => stub.sent.map((request) => JSON.parse(asText(request).body) as Record<string, any>),
    respond: (body, headers = {}) =>
      handleCall(
        RESPONSES,
        new Request("http://gateway.test/api/v1/responses", {
          method: "POST",
          headers: { authorization: stub.authorization, "content-type": "application/json", ...headers },
          body: JSON.stringify(body) + behind,
        }),
        stub.context,
      ),
  };
}

/** A gateway whose providers all give this answer. */
export const answering = (answer: CannedAnswer, options: StubOptions = {}): ResponsesStub =>
  responsesGateway({ ...options, upstream: cannedUpstream(answer) });

const JSON_HEAD = { "content-type": "application/json" } as const;
const STREAM_HEAD = { "content-type": "text/event-stream" } as const;

/** A gateway whose providers answer with this message. */
export const saying = (...answer: Parameters<typeof openaiAnswer>): ResponsesStub =>
  answering({ headers: JSON_HEAD, body: JSON.stringify(openaiAnswer(...answer)) });

/** A gateway whose providers stream these chunks. */
export const streaming = (...chunks: readonly (object | string)[]): ResponsesStub =>
  answering({ headers: STREAM_HEAD, body: eventStream(...chunks), chunk: "event" });

export interface SentEvent extends Record<string, any> {
  readonly type: string;
  readonly sequence_number: number;
}

/** The caller of a stub, who asks for what is kept; the token stays as it is. */
export function keptReader(
  { context }: Pick<Stub, "context">,
  address: string | null = null,
): Pick<KeptResponseRequest, "kept" | "readerNow"> & Reader {
  const snapshot = context.snapshot();
  const [token] = snapshot.tokens.values();
  const reader: Reader = { token: token!, address: () => address, snapshot };
  return { ...reader, kept: context, readerNow: async () => reader };
}

/** The events of a stream; throws where the name of an event is not its type, or numbers have a gap. */
export function eventsOf(text: string): readonly SentEvent[] {
  const events = text
    .split("\n\n")
    .filter((block) => block !== "" && block !== "data: [DONE]")
    .map((block) => {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/s.exec(block) ?? [];
      const event = JSON.parse(data!) as SentEvent;
      if (event.type !== name) throw new Error(`an event of type ${event.type} is named ${name}`);
      return event;
    });
  events.forEach(({ type, sequence_number: number }, index) => {
    if (number !== index) throw new Error(`${type} has the number ${number}, not ${index}`);
  });
  return events;
}

export const OPENAI = { model: "openai:gpt-4o-mini", input: "hi" } as const;
