// Amazon Bedrock's Converse API as a provider:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
import type { BlockType } from "../../core/chat.ts";
import { LEFT_OUT_EMPTY } from "../content-blocks/turns.ts";
import { AWS_REGION, awsSigner, type SigningScope } from "../credentials/aws-signature.ts";
import { BEARER, keySigner } from "../credentials/key-header.ts";
import { PLAIN_PROVIDER, type Provider } from "../interface/provider.ts";
import { APPLY_GUARDRAIL } from "./apply-guardrail.ts";
import { capabilities, conversation } from "./capabilities.ts";
import { decodeResponse } from "./decode-response.ts";
import { openStream } from "./decode-stream.ts";
import { dialect } from "./dialect.ts";
import { embeddings } from "./embeddings.ts";
import { rerank } from "./rerank.ts";
import { encodeRequest, RESERVED } from "./encode-request.ts";
import { classifyError } from "./errors.ts";
import { nativeMessagesOf } from "./native-messages.ts";
import type { PriceFactor } from "../../core/configured/price.ts";
import type { CacheMarks } from "../../core/configured/prompt-cache.ts";
import { CLAUDE_MARKS } from "../claude/cache-marks.ts";

const SCOPE: SigningScope = {
  service: "bedrock",
  regionOfHost: /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com/,
};
/** Everything except text, because Converse accepts only bytes and objects in S3. */
const INLINED: ReadonlySet<BlockType> = new Set(["image_url", "video_url", "file", "document"]);

const PRICING = "https://aws.amazon.com/bedrock/pricing/";
const PRICE_FACTORS: readonly PriceFactor[] = [
  { told: "service_tier", values: ["flex"], times: [1, 2], source: PRICING },
  { told: "service_tier", values: ["priority"], times: [7, 4], source: PRICING },
];

export const bedrock: Provider = {
  ...PLAIN_PROVIDER,
  priceFactors: PRICE_FACTORS,
  requestIds: ["x-amzn-requestid"],
  leavesOutEmpty: () => LEFT_OUT_EMPTY,
  id: "bedrock",
  vendor: "aws.bedrock",
  catalogue: "aws",
  label: "Amazon Bedrock",
  docs: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
  baseUrl: "https://bedrock-runtime.{region}.amazonaws.com",
  keyVariables: ["AWS_BEARER_TOKEN_BEDROCK"],
  credentials: ["key", "aws"],
  settings: [AWS_REGION],
  framing: "aws-event-stream",
  inlines: () => INLINED,
  capabilities,
  dialect,
  conversation: () => conversation,
  cacheMarks: ({ model }) => cacheMarksOf(model),
  ownName,
  reserved: RESERVED,
  guards: ["guardrailConfig"],
  encodeRequest,
  native: (operation, model) => (operation === "messages" ? nativeMessagesOf(model) : null),
  // a Bedrock API key is sent as a bearer token: https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html
  sign: awsSigner(SCOPE, keySigner(BEARER)),
  decodeResponse,
  tasks: { embeddings, rerank },
  judging: { guardrails: APPLY_GUARDRAIL },
  openStream,
  classifyError: (answer) => classifyError(answer),
};

/**
 * The address of a model or of a system's inference profile ends with its id:
 * https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonbedrock.html
 */
function ownName(model: string): string {
  return model.replace(/^arn:[^/]*:(?:foundation-model|inference-profile)\/(?=.)/, "");
}

/**
 * Models behind Converse that take cache points; any other model refuses them:
 * https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html. Claude 3.5 Haiku, 3.7 Sonnet, and all since Claude 4.
 */
const CLAUDE = /claude-(?:3-5-haiku|3-7-sonnet|[a-z]+-(?:[4-9]|[1-9]\d))/;
const NOVA = /nova-(?:2-|micro|lite|pro|premier)/;
/** Nova takes them in the system text and in messages. */
const NOVA_MARKS: CacheMarks = { most: 4, inTools: false, inAnswers: true };

function cacheMarksOf(model: string): CacheMarks | null {
  if (CLAUDE.test(model)) return CLAUDE_MARKS;
  return NOVA.test(model) ? NOVA_MARKS : null;
}
