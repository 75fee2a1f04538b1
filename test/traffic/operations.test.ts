// Every available recorded exchange of responses, embeddings and legacy completions that a provider speaks itself, through
// the whole gateway: the provider gets what the client wrote, the client gets what the provider said, and nothing that
// was cut looks complete. What cannot pass is listed with its reason.
import { describe, expect, test } from "bun:test";
import type { Operation } from "../../src/engine/operation.ts";
import { isObject, type Json, type JsonObject } from "../../src/core/json.ts";
import { COMPLETIONS } from "../../src/operations/completions/completions.ts";
import { EMBEDDINGS } from "../../src/operations/embeddings/embeddings.ts";
import { RESPONSES } from "../../src/operations/responses/responses.ts";
import { providers } from "../../src/providers/registry.ts";
import { type CannedAnswer, cannedUpstream, type Stub, stubGateway } from "../harness/in-process.ts";
import { dataOf } from "../harness/sse.ts";
import { providerSettings, storedKey, targetFor } from "../harness/targets.ts";
import { type OperationCase, operationCases, operationTrafficMissing } from "./operation-cases.ts";

if (operationTrafficMissing)
  console.log(
    "recorded traffic of operations: not on this machine (DRAGOMAN_TRAFFIC_OPERATIONS), these tests are skipped",
  );

/** Why an exchange of responses is not for a vendor that is asked as the client wrote it. */
function notPassed({ request_body: body }: OperationCase): string | null {
  return body!["background"] === true ? "the gateway itself runs what is asked in the background" : null;
}

function answerOf({
  response_status: status,
  response_stream: stream,
  response_body: body,
}: OperationCase): CannedAnswer {
  return {
    status,
    headers: { "content-type": stream === undefined ? "application/json" : "text/event-stream" },
    body: stream ?? body ?? "",
  };
}

function gatewayFor(family: string, answer: CannedAnswer): Stub {
  const provider = providers.get(family)!;
  return stubGateway({
    permissions: ["vendor_objects", "byo_endpoint"],
    providers: [
      providerSettings({
        id: family,
        family,
        credentials: [storedKey("key")],
        hostedTools: ["*"],
        vendorStore: true,
        settings: targetFor(provider).settings,
        baseUrl: provider.baseUrl ?? "https://provider.test/v1",
      }),
    ],
    upstream: cannedUpstream(answer),
  });
}

const modelOf = ({ request_body: body }: OperationCase): string =>
  typeof body!["model"] === "string" ? body!["model"] : "some-model";

function ask(operation: Operation, family: string, recorded: OperationCase, how: Partial<CannedAnswer> = {}) {
  const gateway = gatewayFor(family, { ...answerOf(recorded), ...how });
  const body = { ...recorded.request_body, model: `${family}:${modelOf(recorded)}` };
  return { gateway, answer: gateway.call(operation, body) };
}

const sentBody = ({ sent }: Stub): unknown => sent.map(({ body }) => JSON.parse(body) as JsonObject);
const wholeRequest = (recorded: OperationCase): JsonObject => ({ ...recorded.request_body, model: modelOf(recorded) });

/** What the gateway says itself, wherever the provider says it: its own id, the model as asked, and what is kept. */
const OWN = new Set(["id", "model", "store"]);
const OURS = /^(?:route|x_gateway\w*|sequence_number)$/;

/** Ids of items, which stay the same from the first event of an item to the whole answer, whatever the provider writes. */
const ITEM_ID = /(?:\.item_id|\.item\.id|\.output\[\d+\]\.id)$/;

/** Returns the paths at which something of the provider's answer is missing or another. What is supplied does not count. */
function lostIn(said: Json, shown: Json | undefined, path = ""): readonly string[] {
  if (ITEM_ID.test(path) && typeof shown === "string") return [];
  if (Array.isArray(said) && Array.isArray(shown))
    return said.length === 0 || said.length === shown.length
      ? said.flatMap((item: Json, index) => lostIn(item, (shown as readonly Json[])[index], `${path}[${index}]`))
      : [`${path}: ${said.length} items, ${shown.length} shown`];
  if (isObject(said) && isObject(shown))
    return Object.entries(said).flatMap(([name, value]) => {
      const isResponse = path === "" || path.endsWith(".response");
      if (OURS.test(name) || (isResponse && OWN.has(name))) return [];
      return lostIn(value!, shown[name], `${path}.${name}`);
    });
  return Object.is(said, shown) ? [] : [`${path}: ${JSON.stringify(said)} became ${JSON.stringify(shown)}`];
}

test.skipIf(operationTrafficMissing)("there are recorded exchanges of each operation that is replayed", () => {
  for (const operation of ["responses", "embeddings", "completions"] as const)
    expect([operation, operationCases(operation).length > 0]).toEqual([operation, true]);
});

const titled = (cases: readonly OperationCase[]): [string, OperationCase][] => cases.map((one) => [one.id, one]);

describe.skipIf(operationTrafficMissing)("responses that the vendor speaks", () => {
  const all = operationCases("responses");
  const passed = all.filter((one) => notPassed(one) === null);
  const answered = passed.filter(({ response_status: status }) => status === 200);
  const streams = answered.filter(({ response_stream: stream }) => stream !== undefined);
  const FAMILY = "openai";

  test.each(titled(passed))("[d12.5] the request of %s is sent as the client wrote it", async (title, recorded) => {
    // open reasoning is sent to the vendor whose it is
    const family = title.includes("deepseek") ? "deepseek" : FAMILY;
    const { gateway, answer } = ask(RESPONSES, family, recorded);
    await (await answer).text();
    expect(sentBody(gateway)).toEqual([wholeRequest(recorded)]);
  });

  test.each(titled(answered.filter((one) => !streams.includes(one))))(
    "[d12.5] the answer of %s comes as the vendor gave it",
    async (_, recorded) => {
      const answer = await ask(RESPONSES, FAMILY, recorded).answer;
      expect(answer.status).toBe(200);
      expect(lostIn(JSON.parse(recorded.response_body!) as Json, (await answer.json()) as Json)).toEqual([]);
    },
  );

  test.each(titled(streams))("[d12.5] the events of %s come as the vendor sent them", async (_, recorded) => {
    const said = dataOf(recorded.response_stream!);
    for (const chunk of ["whole", "event", 7] as const) {
      const answer = await ask(RESPONSES, FAMILY, recorded, { chunk }).answer;
      expect(lostIn(said, dataOf(await answer.text()))).toEqual([]);
    }
  });

  test.each(titled(streams))("[d12.6] the stream of %s, cut at 60 %%, never looks complete", async (_, recorded) => {
    const cutAt = Math.floor(Buffer.byteLength(recorded.response_stream!) * 0.6);
    for (const chunk of ["whole", "event"] as const) {
      const answer = await ask(RESPONSES, FAMILY, recorded, { chunk, cutAt }).answer;
      const types = dataOf(await answer.text()).map((event) => (event as JsonObject)["type"]);
      expect(types.filter((type) => type === "response.completed" || type === "response.incomplete")).toEqual([]);
      if (answer.status === 200) expect(types.at(-1)).toBe("response.failed");
      else expect(answer.status).toBe(502);
    }
  });
});

/** Recordings of those who speak a form under another name. */
const FAMILIES: Readonly<Record<string, string>> = { voyageai: "voyage", portkey: "openai", writer: "openai" };
const familyOf = ({ provider }: OperationCase): string => FAMILIES[provider] ?? provider;

/** A request without what says nothing, and what the gateway asks in its own way: the form of vectors, usage of streams. */
function meaningOf(body: JsonObject): JsonObject {
  const { encoding_format: _format, stream_options: _options, prompt, ...others } = body;
  const said = Object.entries(others).filter(
    ([name, value]) => value !== null && !(name === "stream" && value === false),
  );
  return {
    ...Object.fromEntries(said),
    ...(prompt !== undefined && {
      prompt: Array.isArray(prompt) && prompt.length === 1 ? (prompt[0] as Json) : prompt,
    }),
  };
}

/** Why an exchange of embeddings or legacy completions is not one here. */
function notAsked({ provider, request_body: body }: OperationCase): string | null {
  const input = body!["input"];
  if (input === "" || (Array.isArray(input) && input.includes(""))) return "an empty input is refused";
  if (input === undefined && body!["prompt"] === undefined) return "it has neither an input nor a prompt";
  return provider === "writer" ? "no raw prompts are sent to this provider" : null;
}

describe.skipIf(operationTrafficMissing).each([
  ["embeddings", EMBEDDINGS],
  ["completions", COMPLETIONS],
] as const)("%s of the form that providers share", (name, operation) => {
  const cases = operationCases(name).filter(
    (one) => providers.get(familyOf(one))?.sameShape === true && notAsked(one) === null,
  );

  test.each(titled(cases))(`[d12.10] the request of ${name} %s has all that the client wrote`, async (_, recorded) => {
    const { gateway, answer } = ask(operation, familyOf(recorded), recorded);
    await (await answer).text();
    expect(gateway.sent.map(({ body }) => meaningOf(JSON.parse(body) as JsonObject))).toEqual([
      meaningOf(wholeRequest(recorded)),
    ]);
  });
});
