// Promise 12.9 over kept responses of providers that speak the Responses API themselves: their encrypted reasoning is asked for and
// kept where the client refers to earlier responses, and goes back to where it was made.
import { describe, expect, test } from "bun:test";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { cannedUpstream, type StubOptions } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import {
  eventsOf,
  keptReader,
  type ResponsesStub,
  responsesGateway,
  forShortAndLongRequests,
} from "../../operations/responses/responses-calls.ts";
import { inputItems, retrievedResponse } from "../../../src/operations/responses/kept-response-requests.ts";
import { endOf } from "../../operations/responses/response-grammar.ts";
import { providers } from "../../../src/providers/registry.ts";

const MODEL = "openai:gpt-5.2";
const BLOB = "gAAAAABsecret+/=";
const BLOB_OF_XAI = "xAAAAABsecret+/=";
/** What the vendor shows of an item that has only begun. */
const BEGUN = "gAAAAABbegun";
const CLOCK = { now: (): number => 1_767_225_600_000, monotonic: () => performance.now() };
const ASKED = ["reasoning.encrypted_content"];
const weather = { type: "function", name: "weather", parameters: { type: "object" } };

type Body = Record<string, any>;

const USAGE = {
  input_tokens: 5,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 3,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 8,
};

function outputFor({ input, include, tools }: Body, blob: string): readonly Body[] {
  const encrypted = include?.includes(ASKED[0]) ? { encrypted_content: blob } : {};
  const reasoning = { id: "rs_1", type: "reasoning", summary: [], ...encrypted };
  const isDone = tools === undefined || (Array.isArray(input) && input.at(-1).type === "function_call_output");
  const part = { type: "output_text", text: "Cold.", annotations: [], logprobs: [] };
  return [
    reasoning,
    isDone
      ? { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [part] }
      : { id: "fc_1", type: "function_call", call_id: "call_1", name: "weather", arguments: "", status: "completed" },
  ];
}

function streamOf(response: Body, output: readonly Body[]): string {
  const events: Body[] = [{ type: "response.created", response: { ...response, status: "in_progress", output: [] } }];
  output.forEach((item, index) => {
    const { encrypted_content: encrypted, ...others } = item;
    const begun = encrypted === undefined ? others : { ...others, encrypted_content: BEGUN };
    const started = item["type"] === "reasoning" ? begun : { ...begun, status: "in_progress" };
    const empty = item["type"] === "message" ? { ...started, content: [] } : started;
    events.push({ type: "response.output_item.added", output_index: index, item: empty });
    events.push({ type: "response.output_item.done", output_index: index, item });
  });
  events.push({ type: "response.completed", response: { ...response, output } });
  return events
    .map((event, at) => `event: ${event["type"]}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`)
    .join("");
}

/** A vendor that gives its encrypted reasoning only where it is asked for. */
function vendor(options: StubOptions = {}): ResponsesStub {
  return responsesGateway({
    families: providers,
    permissions: [],
    kept: new KeptObjects(CLOCK),
    upstream: cannedUpstream(({ body, url }) => {
      const said = JSON.parse(body) as Body;
      if (said["messages"] !== undefined)
        return { headers: { "content-type": "application/json" }, body: JSON.stringify(openaiAnswer("Cold.")) };
      const output = outputFor(said, url.includes("x.ai") ? BLOB_OF_XAI : BLOB);
      const response = { id: "resp_v", object: "response", status: "completed", model: "v", output, usage: USAGE };
      return said["stream"] === true
        ? { headers: { "content-type": "text/event-stream" }, body: streamOf(response, output), chunk: "event" }
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(response) };
    }),
    ...options,
  });
}

interface Answered {
  readonly text: string;
  readonly response: Body;
  readonly warnings: string | null;
}

async function asked(stub: ResponsesStub, body: object): Promise<Answered> {
  const answer = await stub.respond({ model: MODEL, tools: [weather], ...body });
  const text = await answer.text();
  const isStream = answer.headers.get("content-type")!.includes("event-stream");
  const response = isStream ? endOf(eventsOf(text)) : (JSON.parse(text) as Body);
  return { text, response, warnings: answer.headers.get("x-gateway-warnings") };
}

const RESULT = { type: "function_call_output", call_id: "call_1", output: "cold" };
const nextOf = ({ id, output }: Body): readonly Body[] => [
  { input: [RESULT], previous_response_id: id },
  {
    input: [
      { role: "user", content: "Oslo?" },
      ...output.map((item: Body) => ({ type: "item_reference", id: item["id"] })),
      RESULT,
    ],
  },
];
const reasoningIn = (body: Body): readonly Body[] => body["input"].filter(({ type }: Body) => type === "reasoning");

forShortAndLongRequests(() => {
  describe.each([false, true])("streamed: %p", (stream) => {
    test("[d12.8, d12.9] encrypted reasoning that the client did not ask for is asked for, kept, not shown, and goes back", async () => {
      const stub = vendor();
      const first = await asked(stub, { input: "Oslo?", include: ["file_search_call.results"], stream });
      expect(stub.bodies()[0]).toMatchObject({ store: false, include: ["file_search_call.results", ...ASKED] });
      expect(first.response["output"].map(({ type }: Body) => type)).toEqual(["reasoning", "function_call"]);
      expect(first.text).not.toContain("encrypted_content");
      for (const next of nextOf(first.response)) {
        const { response, text, warnings } = await asked(stub, { ...next, stream });
        expect(response["output"].at(-1).content[0].text).toBe("Cold.");
        expect(reasoningIn(stub.bodies().at(-1)!)).toMatchObject([{ id: "rs_1", encrypted_content: BLOB }]);
        expect({ warnings, isShown: text.includes("encrypted_content") }).toEqual({ warnings: null, isShown: false });
      }
    });

    test("[d12.3] a client that asks for it is shown it, and nothing is asked for where nothing is kept or the model refuses it", async () => {
      const stub = vendor();
      const shown = await asked(stub, { input: "Oslo?", include: ASKED, stream });
      expect(shown.response["output"][0].encrypted_content).toBe(BLOB);
      expect(stub.bodies()[0]!["include"]).toEqual(ASKED);
      const others = [{ store: false }, { model: "openai:gpt-5-chat-latest" }, { model: "openai:gpt-4.1" }];
      for (const other of [...others, { model: "groq:openai/gpt-oss-120b" }]) {
        await asked(stub, { input: "Oslo?", ...other, stream });
        expect(stub.bodies().at(-1)).not.toHaveProperty("include");
      }
    });

    test.each([
      ["that the client did not ask for", {}],
      ["that the client was shown", { include: ASKED }],
    ])(
      "[d12.9] reasoning %s goes to no other model, provider or credential, which a warning says",
      async (_, include) => {
        const stub = vendor({ permissions: ["byo_endpoint"] });
        const { response } = await asked(stub, { input: "Oslo?", ...include, stream });
        const elsewhere = [
          { model: "openai:gpt-5.1" },
          { model: "xai:grok-4" },
          { x_gateway: { api_key: "sk-callers-own" } },
        ];
        for (const next of nextOf(response))
          for (const other of elsewhere) {
            const { warnings } = await asked(stub, { ...next, ...other, stream });
            expect({ other, warnings }).toEqual({ other, warnings: "reasoning_left_out" });
            const { body } = stub.sent.at(-1)!;
            expect(reasoningIn(JSON.parse(body) as Body)).toEqual([]);
            expect(body).not.toMatch(/gAAAA|dragoman/);
          }
      },
    );

    test("[d12.8, d12.9] what a client was shown comes back to its vendor, after a turn at another one that never gets it", async () => {
      const stub = vendor();
      const own = { include: ASKED, stream };
      const first = await asked(stub, { ...own, input: "Oslo?" });
      expect(first.response["output"][0].encrypted_content).toBe(BLOB);
      const second = await asked(stub, {
        ...own,
        model: "xai:grok-4",
        input: [RESULT],
        previous_response_id: first.response["id"],
      });
      expect(stub.sent.at(-1)!.body).not.toMatch(/gAAAA|dragoman/);
      expect(second).toMatchObject({ warnings: "reasoning_left_out" });
      expect(second.response["output"][0].encrypted_content).toBe(BLOB_OF_XAI);
      const third = await asked(stub, { ...own, input: "And now?", previous_response_id: second.response["id"] });
      expect(reasoningIn(stub.bodies().at(-1)!)).toMatchObject([{ encrypted_content: BLOB }]);
      expect(stub.sent.at(-1)!.body).not.toMatch(/xAAAA|dragoman/);
      expect(third.text).not.toMatch(/dragoman\d/);
      // the paths show what was answered, and nothing of what is sealed
      const at = { ...keptReader(stub), query: (): undefined => undefined };
      const retrieved = (await retrievedResponse({ ...at, id: first.response["id"] })) as Body;
      expect(retrieved["output"][0].encrypted_content).toBe(BLOB);
      const listed = await inputItems({ ...at, id: third.response["id"] });
      expect(JSON.stringify(listed)).toContain("Oslo?");
      expect(JSON.stringify(listed)).not.toMatch(/encrypted_content|dragoman\d/);
    });

    test("[d12.9] what its vendor compacted comes back to it, and no other target is asked without it", async () => {
      const compaction = { id: "cmp_1", type: "compaction", encrypted_content: BLOB };
      const response = { id: "resp_v", object: "response", status: "completed", model: "v", usage: USAGE };
      const whole = { ...response, output: [compaction] };
      const stub = vendor({
        upstream: cannedUpstream(
          stream
            ? {
                headers: { "content-type": "text/event-stream" },
                body: streamOf(response, [compaction]),
                chunk: "event",
              }
            : { headers: { "content-type": "application/json" }, body: JSON.stringify(whole) },
        ),
      });
      const first = await asked(stub, { input: "Oslo?", stream });
      expect(first.response["output"]).toMatchObject([{ type: "compaction", encrypted_content: BLOB }]);
      const next = { input: "And?", previous_response_id: first.response["id"], stream };
      await asked(stub, next);
      expect(stub.bodies().at(-1)!["input"]).toContainEqual(compaction);
      const asks = stub.sent.length;
      const refused = await stub.respond({ ...next, model: "xai:grok-4" });
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({
        error: { param: "previous_response_id", code: "unknown_reference" },
      });
      expect(stub.sent.length).toBe(asks);
    });

    test("[d12.9] of several credentials of a provider only that which it was made for gets it", async () => {
      const settings = { id: "openai", baseUrl: "https://api.openai.com/v1" };
      const credentials = [storedKey("stored-key-one"), storedKey("stored-key-two")];
      const stub = vendor({ providers: [providerSettings({ ...settings, credentials })] });
      const { response } = await asked(stub, { input: "Oslo?", stream });
      const keyOf = (at: number): unknown => stub.sent.at(at)!.headers["authorization"];
      const made = keyOf(-1);
      const seen = new Set<unknown>();
      for (let turn = 0; turn < 100 && seen.size < 2; turn++) {
        const { warnings } = await asked(stub, { ...nextOf(response)[0], stream });
        const isBack = reasoningIn(stub.bodies().at(-1)!).length > 0;
        expect({ isBack, warnings }).toEqual(
          keyOf(-1) === made ? { isBack: true, warnings: null } : { isBack: false, warnings: "reasoning_left_out" },
        );
        seen.add(keyOf(-1));
      }
      expect(seen.size).toBe(2);
    });

    test("[d12.9] reasoning of which nothing could be kept is left out of a later call, which is told", async () => {
      const stub = vendor();
      const model = "groq:openai/gpt-oss-120b";
      const { response } = await asked(stub, { model, input: "Oslo?", stream });
      for (const next of nextOf(response)) {
        const { warnings } = await asked(stub, { ...next, model, stream });
        expect(warnings).toBe("reasoning_left_out");
        expect(reasoningIn(stub.bodies().at(-1)!)).toEqual([]);
      }
    });

    test("[d12.9] it has no place in a translation, which is told", async () => {
      const kept = new KeptObjects(CLOCK);
      const { response } = await asked(vendor({ kept }), { input: "Oslo?", stream });
      const settings = { id: "openai", baseUrl: "https://api.openai.com/v1", credentials: [storedKey("stored-key")] };
      const translated = vendor({
        kept,
        permissions: ["read_content"],
        providers: [providerSettings({ ...settings, native: [] })],
      });
      for (const next of nextOf(response)) {
        const answer = await translated.respond({ model: MODEL, tools: [weather], ...next, stream });
        const { body, url } = translated.sent.at(-1)!;
        expect(url).toEndWith("/chat/completions");
        expect(body).not.toMatch(/gAAAA|dragoman/);
        expect(answer.headers.get("x-gateway-warnings")).toContain("reasoning_left_out");
        await answer.body?.cancel();
      }
    });
  });
});
