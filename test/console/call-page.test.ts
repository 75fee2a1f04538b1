// The parts of the page of a call that need no browser: the request that is made again, its code, what has changed since, what a pasted text
// names, and whether a call may still run.
import { describe, expect, test } from "bun:test";
import type { CallDetail } from "../../console/src/api/types.ts";
import { remadeRequest } from "../../console/src/screens/call/call-request.ts";
import type { RecordFields } from "../../console/src/screens/call/call-record.ts";
import { missWords } from "../../console/src/screens/call/cache-miss.ts";
import { commonStart, textOf, toolCallsOf } from "../../console/src/screens/call/conversation-text.ts";
import { gatewayCurl, pythonCode, pythonValue, upstreamCurl } from "../../console/src/screens/call/request-code.ts";
import { arrivalOf, mayRun } from "../../console/src/screens/call/running.ts";
import { lanesOf } from "../../console/src/screens/call/timeline-lanes.ts";
import { differences } from "../../console/src/screens/call/then-and-now.ts";
import { pastedPlaces, theOnePlace } from "../../console/src/shell/pasted.ts";
import { pastedRequest, shellWords } from "../../console/src/shell/pasted-request.ts";
import { requestIn } from "../../console/src/screens/play/share.ts";
import { newTraceId } from "../../src/core/ids.ts";

const CALL = {
  trace_id: "0".repeat(32),
  operation: "chat.completions",
  tenant_id: "acme",
  project_id: "site",
  route: "chat",
  provider: "one",
  model: "large",
  model_asked: "chat",
  end_user: "ann",
  stream: true,
  record: { params: { temperature: "native", model: "native", logit_bias: "dropped" }, metadata: { team: "core" } },
} as unknown as CallDetail;

describe("the request that is made again", () => {
  test("asks for what the call asked for, and says which values are not recorded", () => {
    const { body, lacks } = remadeRequest(CALL, null)!;
    expect(body).toMatchObject({ model: "chat", stream: true, user: "ann", metadata: { team: "core" } });
    expect(body["route"]).toBeUndefined();
    expect(lacks).toEqual([
      "The conversation has not been opened, so a sentence stands in its place.",
      "Values are not recorded of: temperature, logit_bias.",
    ]);
  });

  test("has the conversation that was opened, and a route beside the model that was asked for", () => {
    const messages = [{ role: "user", content: "Hi" }];
    const { body, lacks } = remadeRequest({ ...CALL, model_asked: "one:large" }, { messages })!;
    expect(body).toMatchObject({ model: "one:large", route: "chat", messages });
    expect(lacks.join()).not.toContain("conversation");
  });

  test("is none where the call was no conversation", () => {
    expect(remadeRequest({ ...CALL, operation: "embeddings" }, null)).toBeNull();
  });
});

test("[d11.1] the timeline draws attempts and tools that the gateway or the client ended as such, and not as failed", () => {
  const record: RecordFields = {
    attempts: [
      { provider: "one", model: "m", start_ms: 0, code: "superseded" },
      { provider: "one", model: "m", start_ms: 1, code: "client_closed" },
      { provider: "one", model: "m", start_ms: 2, code: "upstream_timeout" },
      { provider: "two", model: "m", start_ms: 3, status: 200 },
    ],
    tools: [{ server: "desk", tool: "find", round: 1, start_ms: 4, code: "client_closed", is_error: true }],
  };
  const lanes = lanesOf(record, 10);
  expect(lanes.map(({ tone }) => tone)).toEqual(["idle", "idle", "bad", "good", "idle"]);
  expect(lanes[0]!.outcome).toContain("another attempt was faster");
  expect(lanes[4]!.outcome).toContain("the client had left");
});

test("[d16.2] why a call missed the prompt cache is said in a sentence", () => {
  expect(missWords({ why: "prompt_changed", at: 7 })).toContain("from message 7 on");
  expect(missWords({ why: "prompt_changed", at: "tools" })).toContain("tools");
  expect(missWords({ why: "prompt_changed", at: "system" })).toContain("system text");
  expect(missWords({ why: "other_target", earlier: "one:m" })).toContain("went to one:m");
  expect(missWords({ why: "other_credential" })).toContain("another key");
  expect(missWords({ why: "too_old", ago_ms: 540_000 })).toContain("9 min");
  expect(missWords({ why: "not_found" })).toContain("did not find");
  expect(missWords({ why: "of_a_later_version" })).toBe("of_a_later_version.");
});

describe("code", () => {
  const body = { model: "chat", stream: true, route: "r", messages: [{ role: "user", content: 'it\'s "so" $HOME\n' }] };

  test("a shell gives curl the same bytes back", async () => {
    const command = gatewayCurl(body, "http://localhost:1").replace(/^curl \S+/, 'printf "%s\\n"');
    const said = await Bun.$`sh -c ${command}`.env({ ...process.env, DRAGOMAN_TOKEN: "t" }).text();
    expect(said.split("\n")).toEqual([
      "-H",
      "Authorization: Bearer t",
      "-H",
      "Content-Type: application/json",
      "-d",
      JSON.stringify(body),
      "",
    ]);
  });

  test("Python gets its own words, and what its library does not know beside them", () => {
    expect(pythonValue({ a: [true, null, 1.5, "x"] })).toBe('{"a": [True, None, 1.5, "x"]}');
    expect(pythonCode(body, "http://localhost:1")).toContain('    extra_body={"route": "r"},');
    expect(pythonCode(body, "http://localhost:1")).toContain("    stream=True,");
  });

  test("a request to the provider has no part of its key", () => {
    const curl = upstreamCurl({
      method: "POST",
      url: "https://api.example.com/v1",
      headers: { authorization: "Bearer ****abcd", "x-api-key": "****wxyz", accept: "*/*" },
      body: {},
      body_text: '{"a":1}',
    });
    expect(curl).toContain('-H "authorization: Bearer $PROVIDER_KEY"');
    expect(curl).toContain('-H "x-api-key: $PROVIDER_KEY"');
    expect(curl).not.toMatch(/abcd|wxyz|\*{4}/);
    expect(curl).toEndWith(`-d '{"a":1}'`);
  });
});

describe("then and now", () => {
  const target = (name: string, order: number, fate = "native") => ({
    order,
    target: name,
    why: "",
    parameters: [{ name: "temperature", fate, note: null }],
  });
  const now = (...targets: readonly ReturnType<typeof target>[]) => ({
    route: "chat",
    targets,
    limits: [],
    policies: [],
  });

  test("says whether it would go where it went", () => {
    expect(differences(CALL, now(target("one:large", 1)))).toEqual([
      "Now it would go to one:large first, as it was then.",
    ]);
    expect(differences(CALL, now(target("two:m", 1), target("one:large", 2)))).toEqual([
      "Now it would go to two:m first; one:large, where it went then, is number 2 of the targets.",
    ]);
    expect(differences(CALL, now(target("two:m", 1)))[0]).toContain("is not among the targets now");
  });

  test("names parameters that would be treated otherwise, another route, and a limit without room", () => {
    expect(
      differences(CALL, {
        ...now(target("one:large", 1, "dropped")),
        route: "other",
        limits: [{ id: "daily", kind: "budget", mode: "enforce", fits: false }],
      }).slice(1),
    ).toEqual([
      "The route was chat then, and would be other now.",
      "The parameter temperature was native then, and is dropped now.",
      "The budget daily has no room now.",
    ]);
  });

  test("leaves out targets that would not be sent to", () => {
    const passed = { ...target("two:m", 1), passed_over: { code: "unsupported_parameter", message: "" } };
    expect(differences(CALL, now(passed, target("one:large", 2)))[0]).toContain("as it was then");
  });
});

test("a conversation is text: parts are named, and what the call before had said is found", () => {
  expect(textOf({ content: [{ type: "text", text: "Look" }, { type: "image_url" }] })).toBe("Look\n[image_url]");
  expect(textOf({ content: null, refusal: "No" })).toBe("No");
  expect(toolCallsOf({ tool_calls: [{ function: { name: "f", arguments: "{}" } }] })).toEqual([
    { name: "f", arguments: "{}" },
  ]);
  const [one, two, three] = ["a", "b", "c"].map((content) => ({ role: "user", content }));
  expect(commonStart([one!, two!], [one!, two!, three!])).toBe(2);
  expect(commonStart([two!], [one!])).toBe(0);
  expect(commonStart([one!, two!], [one!])).toBe(1);
});

test("a call of the last hour that is not recorded may still run", () => {
  const nowMs = 1_795_000_000_000;
  expect(arrivalOf(newTraceId(nowMs))).toBe(nowMs);
  expect(mayRun(newTraceId(nowMs - 5000), nowMs)).toBe(true);
  expect(mayRun(newTraceId(nowMs - 2 * 3_600_000), nowMs)).toBe(false);
  expect(mayRun("hello", nowMs)).toBe(false);
});

describe("what was pasted", () => {
  const trace = "0198f2a3b4c5".padEnd(32, "7");
  const labels = (text: string) => pastedPlaces(text).map(({ label }) => label);

  test("an id of a call, alone or in an error, and the provider's id in an error", () => {
    expect(pastedPlaces(trace)).toEqual([{ label: `Open the call ${trace}`, path: `/calls/${trace}` }]);
    expect(labels(`{"error": {"message": "no"}, "x_gateway_trace_id": "${trace}"}`)).toEqual([
      `Open the call ${trace}`,
    ]);
    expect(labels(`openai: 500 The server had an error (request id req_011CSHoEeqs5C35K2UUqR7Fy)`)).toEqual([
      "Calls with the provider's request id req_011CSHoEeqs5C35K2UUqR7Fy",
    ]);
  });

  test("another id may be one of several things", () => {
    expect(labels("Ab3dE6gH9jKl")).toEqual([
      "Calls with the client's request id Ab3dE6gH9jKl",
      "Calls with the provider's request id Ab3dE6gH9jKl",
      "Open the token Ab3dE6gH9jKl",
      "Calls of the token Ab3dE6gH9jKl",
    ]);
  });

  test("leads there at once where it names one thing, or one call among other things, and asks otherwise", () => {
    const other = newTraceId(2);
    const leads = (text: string): string | null => theOnePlace(pastedPlaces(text))?.path ?? null;
    expect([
      leads(trace),
      leads(`{"error": {"message": "no"}, "id": "req_0123456789", "x_gateway_trace_id": "${trace}"}`),
      leads(`${trace} and ${other}`),
      leads("something-that-may-be-anything"),
      leads("two words"),
    ]).toEqual([`/calls/${trace}`, `/calls/${trace}`, null, null, null]);
  });

  test("of the text of a token, only its id goes into an address", () => {
    const places = pastedPlaces(`export DRAGOMAN_TOKEN=dgm_pt_Ab3dE6gH9jKl_${"S3cret".repeat(8)}`);
    expect(places.map(({ path }) => path)).toEqual(["/tokens/Ab3dE6gH9jKl", "/calls?q=token%3AAb3dE6gH9jKl&range=30d"]);
  });

  test("a curl command or its body is opened in the playground, without its token", () => {
    const body = { model: "chat", messages: [{ role: "user", content: "it's me" }] };
    const curl = gatewayCurl(body, "http://localhost:1").replace(
      "$DRAGOMAN_TOKEN",
      `dgm_pt_Ab3dE6gH9jKl_${"S".repeat(49)}`,
    );
    for (const text of [curl, curl.replaceAll("\n", ""), JSON.stringify(body)]) {
      const [place, ...others] = pastedPlaces(text);
      expect(others).toEqual([]);
      expect(JSON.parse(requestIn(place!.path.slice("/play".length))!)).toEqual(body);
    }
    expect(pastedRequest(`curl https://example.com`)).toBeNull();
    expect(shellWords(String.raw`curl -d'{"a":"b c"}' "x\"y"`)).toEqual(["curl", `-d{"a":"b c"}`, 'x"y']);
  });
});
