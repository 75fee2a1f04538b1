// What OpenAI's own client library makes of failures, retries and cancellation, against the running gateway with each wire family behind it. Calls are
// counted at the client's own fetch, so that retries of the gateway do not count. This client tells its time limit (`X-Stainless-Timeout`) only where
// the single call sets one, not for a limit of the whole client.
import { describe, expect, spyOn, test } from "bun:test";
import OpenAI, { APIError } from "openai";
import type { ChatCompletionCreateParamsNonStreaming } from "openai/resources/chat/completions";
import { TRACE_ID } from "../operations/expected-answers.ts";
import { FAMILIES } from "../operations/families.ts";
import { standingFamilyGateway } from "../operations/standing-family-gateway.ts";
import type { ScriptedFailure } from "../operations/scripted-answers.ts";
import { until, untilFound } from "../../harness/time/until.ts";

/** The promise is 50 ms, which the drill measures; on a busy machine it is only seen that the call ends. */
const CANCEL_MS = 10_000;

const stage = standingFamilyGateway();

interface CountingClient {
  readonly client: OpenAI;
  /** Statuses of the answers so far. */
  readonly statuses: readonly number[];
}

function clientOf(options: { readonly maxRetries?: number; readonly apiKey?: string } = {}): CountingClient {
  const statuses: number[] = [];
  const counted = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const answer = await fetch(url, init);
    statuses.push(answer.status);
    return answer;
  };
  return {
    statuses,
    client: new OpenAI({ baseURL: stage.baseUrl, apiKey: stage.token, maxRetries: 0, fetch: counted, ...options }),
  };
}

const ask = (model: string, content: string): Pick<ChatCompletionCreateParamsNonStreaming, "model" | "messages"> => ({
  model,
  messages: [{ role: "user", content }],
});

/** Fields of the gateway, and wrong ones, that the client's types do not have. */
const beyondTypes = (fields: object): object => fields;

async function errorOf(call: PromiseLike<unknown>): Promise<APIError> {
  try {
    await call;
  } catch (error) {
    expect(error).toBeInstanceOf(APIError);
    return error as APIError;
  }
  throw new Error("the call did not fail");
}

interface Outcome {
  readonly type: new (...args: never[]) => APIError;
  readonly status: number;
  readonly code: string;
  /** `x-should-retry`. */
  readonly retry: string | null;
  readonly message: RegExp;
}

/** What each failure of a provider is to the client, the same for every wire family. */
const OUTCOMES: Readonly<Record<ScriptedFailure, Outcome>> = {
  context: {
    type: OpenAI.BadRequestError,
    status: 400,
    code: "context_length_exceeded",
    retry: "false",
    message: /maximum context length/,
  },
  "rate-limit": {
    type: OpenAI.RateLimitError,
    status: 429,
    code: "rate_limit_exceeded",
    retry: null,
    message: /try again in 1 s/,
  },
  "not-found": { type: OpenAI.NotFoundError, status: 404, code: "model_not_found", retry: "false", message: /gone/ },
  "refused-key": {
    type: OpenAI.InternalServerError,
    status: 502,
    code: "upstream_authentication",
    retry: "false",
    message: /own credential/,
  },
  server: { type: OpenAI.InternalServerError, status: 502, code: "upstream_error", retry: null, message: /error/ },
  overloaded: {
    type: OpenAI.InternalServerError,
    status: 503,
    code: "upstream_overloaded",
    retry: null,
    message: /overloaded/i,
  },
  invalid: {
    type: OpenAI.BadRequestError,
    status: 400,
    code: "upstream_invalid_request",
    retry: "false",
    message: /the sum is odd/,
  },
};

describe.each([...FAMILIES])("a provider that speaks the form of $wire", ({ model }) => {
  test.each(Object.entries(OUTCOMES))(
    "[s:errors.5xx, d5.1, d9.7] H3 to H6: its failure %s is a typed exception, also for a stream",
    async (failure, outcome) => {
      const { client } = clientOf();
      for (const stream of [false, true]) {
        const error = await errorOf(client.chat.completions.create({ ...ask(model, `#fail-${failure}`), stream }));
        expect(error).toBeInstanceOf(outcome.type);
        expect({ status: error.status, code: error.code, retry: error.headers!.get("x-should-retry") }).toEqual({
          status: outcome.status,
          code: outcome.code,
          retry: outcome.retry,
        });
        expect(error.message).toMatch(outcome.message);
        expect(error.type).toBeString();
        expect(error.requestID).toMatch(TRACE_ID);
        expect(error.headers!.get("content-type")).toBe("application/json");
        if (failure === "refused-key") expect(error.message).not.toMatch(/api.?key/i);
      }
    },
  );

  test("[d9.7] H8: the wait that the provider names reaches the client, which waits that long", async () => {
    const { client, statuses } = clientOf({ maxRetries: 2 });
    using timers = spyOn(globalThis, "setTimeout");
    const error = await errorOf(client.chat.completions.create(ask(model, "#fail-rate-limit")));
    const waitsMs = timers.mock.calls.map(([, waitMs]) => Number(waitMs));
    expect([error.headers!.get("retry-after-ms"), error.headers!.get("retry-after")]).toEqual(["20", "1"]);
    expect(statuses).toEqual([429, 429, 429]);
    // twice the named 20 ms, and none of the client's own backoff, which is between 375 ms and 8 s
    expect(waitsMs.filter((waitMs) => waitMs === 20)).toHaveLength(2);
    expect(waitsMs.filter((waitMs) => waitMs >= 375 && waitMs <= 8000)).toEqual([]);
  });

  test("[d9.7] H6: the client does not retry where it cannot help", async () => {
    for (const failure of ["refused-key", "context", "invalid", "not-found"]) {
      const { client, statuses } = clientOf({ maxRetries: 2 });
      await errorOf(client.chat.completions.create(ask(model, `#fail-${failure}`)));
      expect(statuses.length).toBe(1);
    }
  });

  test("[d8.3, d9.7] S19: an error in the middle of a stream is raised, after the content that was sent", async () => {
    const { client } = clientOf();
    const said: (string | null | undefined)[] = [];
    const stream = await client.chat.completions.create({ ...ask(model, "#broken"), stream: true });
    const error = await errorOf(
      (async () => {
        for await (const chunk of stream) {
          said.push(chunk.choices[0]!.finish_reason ?? chunk.choices[0]!.delta.content);
          if (said.at(-1) === "Once") stage.goOn();
        }
      })(),
    );
    expect(said).toEqual(["", "Once"]);
    expect({ code: error.code, type: error.type, param: error.param }).toEqual({
      code: "upstream_error",
      type: "server_error",
      param: null,
    });
    expect(error.message).toContain("The engine stopped.");
    const helper = client.chat.completions.stream(ask(model, "#broken"));
    helper.on("content", () => stage.goOn());
    expect((await errorOf(helper.finalChatCompletion())).code).toBe("upstream_error");
  });

  test("[d7.7] S24: leaving the loop over a stream ends the upstream call at once", async () => {
    const { client } = clientOf();
    const ended = stage.nextEnded();
    const stream = await client.chat.completions.create({ ...ask(model, "#hang"), stream: true });
    let leftMs = 0;
    for await (const chunk of stream) {
      if (chunk.choices[0]!.delta.content !== "Once") continue;
      leftMs = performance.now();
      break;
    }
    expect((await ended) - leftMs).toBeLessThan(CANCEL_MS);
  });

  test("[d7.7] S24: aborting a stream ends the upstream call at once", async () => {
    const { client } = clientOf();
    const ended = stage.nextEnded();
    const abort = new AbortController();
    const stream = await client.chat.completions.create(
      { ...ask(model, "#hang"), stream: true },
      { signal: abort.signal },
    );
    let leftMs = 0;
    for await (const chunk of stream) {
      if (chunk.choices[0]!.delta.content !== "Once") continue;
      leftMs = performance.now();
      abort.abort();
    }
    expect((await ended) - leftMs).toBeLessThan(CANCEL_MS);
    const record = await callLine(
      (line) => line["cancelled"] === true && line["stream"] === true && line["provider"] === model.split(":")[0],
    );
    expect(record).toMatchObject({
      status: 499,
      code: "client_closed",
      finish: [null],
      prompt_tokens: expect.any(Number),
      completion_tokens: expect.any(Number),
    });
  });

  test("[d7.7] aborting a plain call ends the upstream call at once, and the record says that the client left", async () => {
    const { client } = clientOf();
    const before = stage.upstream.seen.length;
    const ended = stage.nextEnded();
    const abort = new AbortController();
    const call = client.chat.completions.create(ask(model, "#hang"), { signal: abort.signal });
    await until(() => stage.upstream.seen.length > before);
    const leftMs = performance.now();
    abort.abort();
    expect(await errorOf(call)).toBeInstanceOf(OpenAI.APIUserAbortError);
    expect((await ended) - leftMs).toBeLessThan(CANCEL_MS);
    const record = await callLine(
      (line) => line["cancelled"] === true && line["stream"] === false && line["provider"] === model.split(":")[0],
    );
    expect(record).toMatchObject({ status: 499, code: "client_closed", attempts: [{ code: "client_closed" }] });
  });
});

/** The log is written in blocks: waits for a line. */
function callLine(fits: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
  return untilFound(() => stage.gateway.lines().find((one) => one["msg"] === "call" && fits(one)));
}

describe("the gateway's own refusals", () => {
  test("[s:errors.401-unauthorized, d9.7] an invalid token is an AuthenticationError, and is not retried", async () => {
    const { client, statuses } = clientOf({ apiKey: "sk-of-another-house", maxRetries: 2 });
    const error = await errorOf(client.chat.completions.create(ask("sandbox:echo", "hello")));
    expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(error as object).toMatchObject({
      status: 401,
      code: "invalid_token",
      type: "authentication_error",
      param: null,
    });
    expect(error.headers!.get("www-authenticate")).toStartWith("Bearer");
    expect(error.message).not.toContain("another-house");
    expect(statuses).toEqual([401]);
  });

  test("a call that the token may not make is a PermissionDeniedError", async () => {
    const { client, statuses } = clientOf({ maxRetries: 2 });
    const other = await errorOf(
      client.chat.completions.create({
        ...ask("sandbox:echo", "hello"),
        ...beyondTypes({ project_id: "of-somebody-else" }),
      }),
    );
    expect(other).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(other as object).toMatchObject({ status: 403, code: "scope_mismatch", type: "permission_error" });
    const endpoint = await errorOf(
      client.chat.completions.create({
        ...ask("scripted:scripted-model", "#text"),
        ...beyondTypes({ base_url: "http://127.0.0.1:1/v1" }),
      }),
    );
    expect(endpoint).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(endpoint as object).toMatchObject({ status: 403, code: "permission_required", param: "base_url" });
    expect(statuses).toEqual([403, 403]);
  });

  test("[d9.7] H12: an unknown model is a NotFoundError", async () => {
    const { client, statuses } = clientOf({ maxRetries: 2 });
    const error = await errorOf(client.chat.completions.create(ask("nowhere:nothing", "hello")));
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error as object).toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "model",
      type: "not_found_error",
    });
    expect(statuses).toEqual([404]);
  });

  test("[d5.1, d5.2] a mistake in the body is a BadRequestError that names the place", async () => {
    const { client } = clientOf();
    const wrong = [
      [{ temperature: 3 }, "temperature"],
      [{ top_logprobs: 2 }, "top_logprobs"],
      [{ stream_options: { include_usage: true } }, "stream_options"],
      [
        {
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: "see" },
                { type: "image_url", image_url: {} },
              ],
            },
          ],
        },
        "messages[0].content[1].image_url.url",
      ],
    ] as const;
    for (const [fields, param] of wrong) {
      const error = await errorOf(
        client.chat.completions.create({ ...ask("sandbox:echo", "hello"), ...beyondTypes(fields) }),
      );
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect({ code: error.code, param: error.param, type: error.type }).toEqual({
        code: "invalid_request",
        param,
        type: "invalid_request_error",
      });
    }
  });

  test("[s:behaviors.4, d6.3, d6.4] an unsupported parameter is refused by name, and dropped on request", async () => {
    const { client } = clientOf();
    const body = { ...ask("anthropic:claude-sonnet-4-5", "#text"), seed: 7, presence_penalty: 1 };
    const error = await errorOf(client.chat.completions.create(body));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    const [, named] =
      /^400 Anthropic does not support (.+) with the model anthropic:claude-sonnet-4-5\..* drop_params /.exec(
        error.message,
      )!;
    expect(named!.split(", ").toSorted()).toEqual(["presence_penalty", "seed"]);
    expect({ code: error.code, param: error.param }).toEqual({
      code: "unsupported_parameter",
      param: named!.split(", ")[0]!,
    });
    const { response } = await client.chat.completions
      .create({ ...body, ...beyondTypes({ drop_params: true }) })
      .withResponse();
    expect(response.headers.get("x-gateway-dropped-params")!.split(",").toSorted()).toEqual([
      "presence_penalty",
      "seed",
    ]);
    expect(Object.keys(stage.upstream.last().body)).not.toContain("seed");
  });

  test("[d9.7] H15: a client that announces its time limit receives the gateway's error, not its own timeout", async () => {
    const { client } = clientOf();
    const error = await errorOf(client.chat.completions.create(ask("sandbox:stall", "hello"), { timeout: 2000 }));
    expect(error).toBeInstanceOf(OpenAI.InternalServerError);
    expect(error as object).toMatchObject({ status: 504, code: "upstream_timeout" });
  });

  test.each([
    ["fail-429", OpenAI.RateLimitError, "rate_limit_exceeded"],
    ["fail-500", OpenAI.InternalServerError, "upstream_error"],
    ["garbage", OpenAI.InternalServerError, "upstream_invalid_response"],
    ["cut", OpenAI.InternalServerError, "upstream_incomplete"],
  ] as const)("the sandbox's %s is a typed exception, plain and streamed", async (name, type, code) => {
    const { client } = clientOf();
    const plain = await errorOf(client.chat.completions.create(ask(`sandbox:${name}`, "one two three")));
    expect(plain).toBeInstanceOf(type);
    expect(plain.code).toBe(code);
    const streamed = await errorOf(
      client.chat.completions.stream(ask(`sandbox:${name}`, "one two three")).finalChatCompletion(),
    );
    expect(streamed.code).toBe(code);
    expect(streamed.error as object).toMatchObject({ code });
  });
});
