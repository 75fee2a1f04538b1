// Makes a Provider from a row. Everything that depends only on the row is computed here once.
import type { BlockType, MessageRole } from "../../core/chat.ts";
import type { Target } from "../../core/target.ts";
import { BREAKPOINT_MARKS } from "../conversation/cache-breakpoints.ts";
import { BEARER, keySigner } from "../credentials/key-header.ts";
import { PLAIN_DIALECT } from "../interface/dialect.ts";
import { PLAIN_PROVIDER, type Provider } from "../interface/provider.ts";
import { declaredBy, NO_ROLE } from "../interface/provider-declaration.ts";
import type { Tasks } from "../interface/task-form.ts";
import { answerRules } from "./answer-rules.ts";
import { capabilityTable } from "./capabilities.ts";
import { conversationTables } from "./conversation.ts";
import { decodeResponse } from "./decode-response.ts";
import { compatibleJudging, compatibleModerations } from "./tasks/moderations.ts";
import { compatibleRerank } from "./tasks/rerank.ts";
import { openAICompatibleEmbeddings } from "./tasks/embeddings.ts";
import { baseOf, encodeRequest, joinedTexts } from "./encode-request.ts";
import type { ErrorClassifier } from "./errors.ts";
import { nativeOperations } from "./native.ts";
import type { OpenAICompatibleRow, ResponsesModels } from "./row.ts";
import { openStream } from "./decode-stream.ts";
import { chatFieldOf } from "../responses/encode-request.ts";
import { type ModelForm, RESPONSES_DIALECT, responsesModels } from "./responses-models.ts";
import { wirePlans } from "./wire-plan.ts";

export const RESERVED = [
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "n",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "stream",
  "stream_options",
] as const;

export function openAICompatibleProvider(row: OpenAICompatibleRow): Provider {
  const capabilities = capabilityTable(row);
  const planFor = wirePlans(row, capabilities);
  const rules = answerRules(row);
  const chat: ModelForm = {
    encodeRequest: (request, target) => encodeRequest(row, planFor, request, target),
    decodeResponse: (body, { model }, value) => decodeResponse(body, rules, value, model),
    openStream: () => openStream(rules),
    joinedTexts: (request, target) => joinedTexts(row, planFor, request, target),
  };
  const { responses } = row;
  const other = responses === undefined ? null : responsesModels(row, responses, planFor, rules.errors);
  const formOf = (model: string): ModelForm => (other !== null && responses!.only.test(model) ? other : chat);
  const dialect = { ...PLAIN_DIALECT, ...row.dialect };
  return {
    ...PLAIN_PROVIDER,
    ...declaredBy(row),
    inlines: inlinedBlocks(row),
    capabilities,
    dialect,
    ...(other !== null && {
      dialectOf: (model: string) => (responses!.only.test(model) ? RESPONSES_DIALECT : dialect),
    }),
    conversation: conversationTables(row),
    ...cacheMarksOf(row),
    sameShape: true,
    reserved: new Set([...RESERVED, ...(row.reserved ?? [])]),
    privileged: new Set(row.privileged),
    native: nativeOperations(
      row.native ?? {},
      (parsed, text) => rules.errors.classifyParsed(200, parsed, text),
      (target) => baseOf(row, target),
    ),
    ...(row.leavesOutEmpty !== undefined && {
      leavesOutEmpty: (model: string) => (row.leavesOutEmpty!.test(model) ? ANSWERS : NO_ROLE),
    }),
    encodeRequest: (request, target) => formOf(target.model).encodeRequest(request, target),
    ...(joinsTexts(row) && {
      joinedTexts: (request, target) => formOf(target.model).joinedTexts(request, target),
    }),
    ...(responses?.needed !== undefined && {
      otherwise: {
        ...responses.needed,
        operation: "responses",
        provider: openAICompatibleProvider(byResponsesAlone(row, responses)),
      },
    }),
    sign: keySigner(row.auth ?? BEARER),
    decodeResponse: (body, context, value) => formOf(context.model).decodeResponse(body, context, value),
    openStream: (context) => formOf(context.model).openStream(context),
    classifyError: rules.errors.classify,
    ...(other !== null && {
      chatFieldOf: (place: string, model: string) => (responses!.only.test(model) ? chatFieldOf(place) : place),
    }),
    ...(row.hasOnlyTasks === true && { hasOnlyTasks: true }),
    ...tasksOf(row, rules.errors),
    ...(row.moderations !== undefined && {
      judging: { moderation: compatibleJudging({ row: row.moderations, base: (target) => baseOf(row, target) }) },
    }),
  };
}

/** The row as if none of its models spoke chat completions. */
function byResponsesAlone(
  row: OpenAICompatibleRow,
  { needed: _needed, ...responses }: ResponsesModels,
): OpenAICompatibleRow {
  return { ...row, label: `${row.label} (Responses API)`, responses: { ...responses, only: ANY_MODEL } };
}
const ANY_MODEL = /(?:)/;

const ANSWERS: ReadonlySet<MessageRole> = new Set(["assistant"]);

/** Whether some model of the row may be sent several texts as one. */
function joinsTexts({ textAsString, models = [], hooks, responses }: OpenAICompatibleRow): boolean {
  const asString = textAsString === true || models.some((some) => some.textAsString === true);
  return asString || hooks?.messages !== undefined || responses !== undefined;
}

/** Marks of the prompt cache at the row's own address; others need not know them. */
function cacheMarksOf({ models = [], cacheBreakpoints, elsewhere }: OpenAICompatibleRow): Pick<Provider, "cacheMarks"> {
  const marking = models.filter((one) => one.cacheBreakpoints === true);
  if (cacheBreakpoints !== true && marking.length === 0) return {};
  return {
    cacheMarks: ({ model, isCallersAddress }) =>
      !(isCallersAddress && elsewhere !== undefined) &&
      (cacheBreakpoints === true || marking.some(({ models: names }) => names.test(model)))
        ? BREAKPOINT_MARKS
        : null,
  };
}

/**
 * A row without any statement about files has them as OpenAI has: a file id is the id of an upload, so a file behind an
 * address has to be fetched.
 */
function inlinedBlocks({ inlines, blocks, lacks }: OpenAICompatibleRow): Provider["inlines"] {
  const likeOpenAI: readonly BlockType[] =
    blocks?.file === undefined && lacks?.includes("file") !== true ? ["file"] : [];
  const inlined: ReadonlySet<BlockType> = new Set(inlines ?? likeOpenAI);
  return () => inlined;
}

function tasksOf(row: OpenAICompatibleRow, errors: ErrorClassifier): Pick<Provider, "tasks"> {
  const base = (target: Target): string => baseOf(row, target);
  const tasks: Tasks = {
    ...(row.embeddings !== undefined && {
      embeddings: openAICompatibleEmbeddings({
        label: row.label,
        row: row.embeddings,
        base,
        errors,
      }),
    }),
    ...(row.rerank !== undefined && { rerank: compatibleRerank({ row: row.rerank, base, errors }) }),
    ...(row.moderations !== undefined && {
      moderations: compatibleModerations({ row: row.moderations, base, errors }),
    }),
    ...row.tasks,
  };
  return Object.keys(tasks).length === 0 ? {} : { tasks };
}
