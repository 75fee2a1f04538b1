// Amazon SageMaker endpoints whose container serves OpenAI's chat completions, as TGI, vLLM and LMI do. The endpoint's
// name is the model. The address, the signature and the frame around a stream are AWS's.
// https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html
import type { ChatRequest } from "../../core/chat.ts";
import { isObject, type Json } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { AWS_REGION, awsSigner, type SigningScope } from "../credentials/aws-signature.ts";
import { classifyError as classifyAwsError } from "../bedrock/errors.ts";
import { openTable } from "../conversation/conversation-members.ts";
import { readErrorJson } from "../answers/error-body.ts";
import { openAICompatibleProvider } from "../openai-compatible/provider.ts";
import type { EncodedRequest } from "../interface/encoded-request.ts";
import type { Provider } from "../interface/provider.ts";
import type { ErrorAnswer, UpstreamFailure } from "../interface/upstream-failure.ts";
import { openPayloadStream } from "./payload-stream.ts";

const SCOPE: SigningScope = {
  service: "sagemaker",
  regionOfHost: /^runtime\.sagemaker(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com/,
};

const container = openAICompatibleProvider({
  requestIds: ["x-amzn-requestid"],
  inlines: [],
  id: "sagemaker",
  label: "Amazon SageMaker",
  docs: "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html",
  baseUrl: "https://runtime.sagemaker.{region}.amazonaws.com",
  keyVariables: [],
  credentials: ["aws"],
  settings: [AWS_REGION],
  path: "/endpoints/{model}/invocations",
  // The containers ignore unknown members.
  conversation: openTable("https://docs.aws.amazon.com/sagemaker/latest/dg/large-model-inference.html"),
  takesDeveloper: true,
});

export const sagemaker: Provider = {
  ...container,
  framing: "aws-event-stream",
  encodeRequest,
  // AWS accepts only signatures; a key is for a proxy at an address that the user configured
  sign: awsSigner(SCOPE, (request, credential, context) => container.sign(request, credential, context)),
  openStream: (context) => openPayloadStream(container.openStream(context), context),
  classifyError,
};

/**
 * A stream has an address of its own:
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpointWithResponseStream.html
 */
function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const encoded = container.encodeRequest(request, target);
  return request.params.stream === true
    ? { ...encoded, request: { ...encoded.request, url: `${encoded.request.url}-response-stream` } }
    : encoded;
}

/** The container's error is inside the error that AWS returns. */
function classifyError(answer: ErrorAnswer): UpstreamFailure {
  const body: Json | undefined = readErrorJson(answer.body);
  if (!isObject(body) || body["error"] !== undefined) return container.classifyError(answer);
  const { OriginalMessage: original, OriginalStatusCode: status, Message: message, __type: type } = body;
  if (typeof original === "string" && original !== "")
    return container.classifyError({ status: typeof status === "number" ? status : answer.status, body: original });
  return message === undefined && type === undefined ? container.classifyError(answer) : classifyAwsError(answer);
}
