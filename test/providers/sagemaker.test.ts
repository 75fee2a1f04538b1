// SageMaker endpoints: addresses, signatures, the frame around a container's stream, and errors of the container inside those of AWS.
import { describe, expect, test } from "bun:test";
import type { ChatChunk } from "../../src/core/chat.ts";
import { sagemaker } from "../../src/providers/sagemaker/provider.ts";
import { StreamError } from "../../src/providers/interface/upstream-failure.ts";
import { createAwsEventStreamParser } from "../../src/wire/aws-event-stream.ts";
import { encoded } from "../contract/providers/provider-requests.ts";
import { awsMessage } from "../harness/servers/aws-events.ts";
import { cannedUpstream, stubGateway } from "../harness/in-process.ts";
import { readStream } from "../harness/sse.ts";
import { eventStream, openaiChunk } from "../harness/servers/upstream.ts";

const HEADERS = { ":message-type": "event", ":event-type": "PayloadPart", ":content-type": "application/octet-stream" };
const WORDS = "Grüß Gott, 世界 😀";
const SSE = Buffer.from(
  eventStream(
    openaiChunk({ role: "assistant", content: WORDS }),
    openaiChunk({}, "stop"),
    openaiChunk({}, null, { usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }, choices: [] }),
  ),
);

/** The stream in frames of so many bytes each. */
function framed(size: number, more: Uint8Array = new Uint8Array(0)): Uint8Array {
  const parts = Array.from({ length: Math.ceil(SSE.length / size) }, (_, index) =>
    awsMessage(HEADERS, SSE.subarray(index * size, (index + 1) * size)),
  );
  return Buffer.concat([...parts, more]);
}

function decoded(bytes: Uint8Array): readonly ChatChunk[] {
  const decoder = sagemaker.openStream({ model: "m", memo: null });
  const events = createAwsEventStreamParser({ maxEventBytes: 1 << 20 }).push(bytes);
  return [...events.flatMap((event) => decoder.push(event)), ...decoder.end()];
}

describe("requests", () => {
  test("name the endpoint in the address, and another operation for streams", () => {
    expect(encoded(sagemaker, {}, { model: "my-endpoint" }).request.url).toBe(
      "https://runtime.sagemaker.region.amazonaws.com/endpoints/my-endpoint/invocations",
    );
    expect(encoded(sagemaker, { stream: true }, { model: "my-endpoint" }).request.url).toBe(
      "https://runtime.sagemaker.region.amazonaws.com/endpoints/my-endpoint/invocations-response-stream",
    );
  });
  test("are signed for the service sagemaker", async () => {
    const { request } = encoded(sagemaker, {}, { model: "my-endpoint" });
    const { headers } = await sagemaker.sign(
      request,
      { kind: "aws", accessKeyId: "AKIDEXAMPLE", secret: "secret", fromCaller: false },
      { nowMs: Date.UTC(2026, 10, 20), settings: { region: "eu-west-1" } },
    );
    expect(headers["authorization"]).toStartWith(
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261120/eu-west-1/sagemaker/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=",
    );
  });
});

describe("streams", () => {
  test("carry the container's answer, wherever the frames cut it", () => {
    for (let size = 1; size <= SSE.length; size++) {
      const chunks = decoded(framed(size));
      expect(chunks.map(({ choices }) => choices[0]?.delta?.content ?? "").join("")).toBe(WORDS);
      expect(chunks.filter(({ choices }) => choices[0]?.finish_reason === "stop").length).toBe(1);
    }
  });
  test.each([
    ["ModelStreamError", "server"],
    ["InternalStreamFailure", "server"],
  ])("[d8.3] are ended by an exception %s of AWS's", (name, failureClass) => {
    const exception = awsMessage(
      { ":message-type": "exception", ":exception-type": name, ":content-type": "application/json" },
      '{"Message":"The container stopped."}',
    );
    let thrown: unknown;
    try {
      decoded(framed(50, exception));
    } catch (caught) {
      thrown = caught;
    }
    expect(thrown).toBeInstanceOf(StreamError);
    expect((thrown as StreamError).failure).toMatchObject({
      class: failureClass,
      message: "The container stopped.",
      nativeCode: name,
    });
  });
  test("[d8.1] reach the client completely, byte by byte", async () => {
    const gateway = stubGateway({
      upstream: cannedUpstream({
        headers: { "content-type": "application/vnd.amazon.eventstream" },
        body: framed(11),
        chunk: 1,
      }),
    });
    const response = await gateway.chat({
      model: "sagemaker:my-endpoint",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      aws_region_name: "eu-west-1",
      aws_access_key_id: "AKIDEXAMPLE",
      aws_secret_access_key: "secret-of-the-caller",
    });
    const { events, done, error } = readStream(await response.text());
    expect([done, error]).toEqual([true, null]);
    expect(events.map((event) => event["choices"][0]?.delta.content ?? "").join("")).toBe(WORDS);
    expect(gateway.sent[0]!.url).toBe(
      "https://runtime.sagemaker.eu-west-1.amazonaws.com/endpoints/my-endpoint/invocations-response-stream",
    );
  });
});

test("[d8.5] an event of the container is bounded as any other, in however many frames it comes", async () => {
  const long = Buffer.from(eventStream(openaiChunk({ role: "assistant", content: "x".repeat(5000) })));
  const frames = Array.from({ length: Math.ceil(long.length / 500) }, (_, index) =>
    awsMessage(HEADERS, long.subarray(index * 500, (index + 1) * 500)),
  );
  const gateway = stubGateway({
    permissions: ["byo_endpoint"],
    limits: { maxEventBytes: 2000 },
    upstream: cannedUpstream({
      body: Buffer.concat(frames),
      headers: { "content-type": "application/vnd.amazon.eventstream" },
    }),
  });
  const response = await gateway.chat({
    model: "sagemaker:my-endpoint",
    messages: [{ role: "user", content: "Hi" }],
    stream: true,
    num_retries: 0,
    aws_region_name: "eu-west-1",
    aws_access_key_id: "AKIDEXAMPLE",
    aws_secret_access_key: "secret-of-the-caller",
  });
  expect(JSON.stringify(await response.json())).toContain("larger than 2000 bytes");
  expect(gateway.records[0]!.code).toBe("upstream_invalid_response");
});

describe("errors", () => {
  test("of the container have its message and its class", () => {
    const body = JSON.stringify({
      ErrorCode: "CLIENT_ERROR_FROM_MODEL",
      LogStreamArn: "arn:aws:logs:...",
      Message: "Received client error (400) from primary",
      OriginalMessage:
        '{"error":{"message":"This model\'s maximum context length is 8192 tokens.","type":"BadRequestError","code":400}}',
      OriginalStatusCode: 400,
    });
    expect(sagemaker.classifyError({ status: 424, body })).toMatchObject({
      class: "context_length",
      message: "This model's maximum context length is 8192 tokens.",
    });
  });
  test.each([
    // the endpoint is the model
    [400, { Message: "Endpoint x of account 1 not found.", __type: "ValidationError" }, "not_found"],
    [400, { Message: "Could not access model data.", __type: "ValidationError" }, "invalid_request"],
    [
      403,
      { Message: "User is not authorized to perform: sagemaker:InvokeEndpoint", __type: "AccessDeniedException" },
      "permission",
    ],
    [429, { Message: "Rate exceeded", __type: "ThrottlingException" }, "rate_limit"],
    [503, { Message: "Wait.", __type: "ServiceUnavailable" }, "overloaded"],
  ])("of AWS's own, %i %j, are %s", (status, body, failureClass) => {
    expect(sagemaker.classifyError({ status, body: JSON.stringify(body) })).toMatchObject({
      class: failureClass,
      message: body.Message,
    });
  });
});
