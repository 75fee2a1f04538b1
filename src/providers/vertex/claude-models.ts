// Claude on Vertex AI: the Messages API with the model in the address and the version in the body.
// https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai,
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude
import { type CapabilityTable, mapped, unsupported } from "../../core/capability.ts";
import type { BlockType, ChatRequest, ContentPart, Message } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import type { Target } from "../../core/target.ts";
import { messagesCapabilities, conversation } from "../anthropic/capabilities.ts";
import { decodeResponse } from "../anthropic/decode-response.ts";
import { openStream } from "../anthropic/decode-stream.ts";
import { dialect } from "../anthropic/dialect.ts";
import { LEFT_OUT_EMPTY } from "../content-blocks/turns.ts";
import { encodeMessagesBody, headersWithBetas } from "../anthropic/encode-request.ts";
import { factsOf, type ModelFacts } from "../claude/models.ts";
import { type EncodedRequest, jsonPost } from "../interface/encoded-request.ts";
import { pathStep, vertexAddress } from "./address.ts";
import { type ModelsOfOneForm, ownName } from "./models.ts";

const DEFAULT_VERSION = "v1";
export const MESSAGES_VERSION = "vertex-2023-10-16";

/**
 * Vertex AI fetches no addresses for Claude and has no Files API:
 * https://platform.claude.com/docs/en/build-with-claude/overview
 */
export const CLAUDE_INLINES: ReadonlySet<BlockType> = new Set(["image_url", "file", "document"]);

/**
 * `output_config.format` is off in every organization that has not allowed it by a policy, so JSON output uses a forced
 * tool call wherever a call can be forced:
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/structured_outputs
 * System messages have to stand before all turns on Vertex AI:
 * https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
 */
function factsHere(facts: ModelFacts): ModelFacts {
  return { ...facts, jsonSchema: facts.jsonSchema && !facts.forcedTools, systemTurns: false };
}

function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  refuseUploadedFiles(request.messages);
  const model = ownName(target.model);
  const { body, betas, ...others } = encodeMessagesBody(request, { ...target, model }, factsHere(factsOf(model)));
  const { model: _inTheAddress, ...members } = body;
  const url = claudeUrl(target, request.params.stream === true);
  const sent = { anthropic_version: MESSAGES_VERSION, ...members };
  return { request: jsonPost(url, headersWithBetas(target.headers, betas), sent), ...others };
}

export function claudeUrl(target: Target, isStreamed: boolean): string {
  const path = ownName(target.model).split("/").map(pathStep).join("/");
  return vertexAddress(target, {
    path: `publishers/anthropic/models/${path}:${isStreamed ? "streamRawPredict" : "rawPredict"}`,
    version: DEFAULT_VERSION,
    express: false,
  });
}

/** Ids of files that were uploaded to Anthropic are not valid on Vertex AI. */
function refuseUploadedFiles(messages: readonly Message[]): void {
  for (const [at, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [index, part] of (content as readonly ContentPart[]).entries()) {
      const file = part.type === "file" && isObject(part["file"]) ? part["file"] : {};
      const id = file["file_id"];
      if (
        typeof id !== "string" ||
        id === "" ||
        typeof file["file_data"] === "string" ||
        /^(?:https?:\/\/|data:)/i.test(id)
      )
        continue;
      const param = `messages[${at}].content[${index}].file.file_id`;
      throw unsupportedValue(
        param,
        `${param}: there are no uploaded files for Claude on Vertex AI; send the file's bytes in file_data.`,
      );
    }
  }
}

const { cells, exceptions } = messagesCapabilities(factsHere);

export const claudeModels: ModelsOfOneForm & { readonly capabilities: Pick<CapabilityTable, "cells" | "exceptions"> } =
  {
    encodeRequest,
    decodeResponse,
    openStream,
    leavesOutEmpty: () => LEFT_OUT_EMPTY,
    dialect,
    conversation: () => conversation,
    capabilities: {
      cells: {
        ...cells,
        image_url: mapped("source base64; the gateway fetches URLs; detail has no equivalent"),
        file: mapped(
          "document: bytes as base64 or text, with the filename as title; the gateway fetches URLs; ids of uploaded files are not supported",
        ),
        document: mapped(
          "document; base64 text is decoded, because the vendor accepts only PDF in base64; the gateway fetches URLs",
        ),
        tools: mapped(
          "name, description, input_schema; strict, which an organization must allow by a policy; the vendor's own tool types unchanged",
        ),
        service_tier: unsupported("capacity is bought at Google Cloud and cannot be chosen per request"),
      },
      exceptions,
    },
  };
