// Turns of the model in Gemini's form, and what a request in that form says.
import type { Json, JsonObject } from "../../../src/core/json.ts";
import type { CannedAnswer } from "../../harness/in-process.ts";
import { type End, json, type Piece, pieces, type Said, sseText, STREAM_TYPE, type Vendor } from "./said.ts";

export function geminiAnswer(said: readonly Said[], end: End = "done"): JsonObject {
  const parts = said.flatMap((one): JsonObject[] => {
    if ("thinking" in one) return [{ text: one.thinking, thought: true }];
    if ("text" in one) return [{ text: one.text }];
    if ("call" in one) return [{ functionCall: { id: one.call, name: one.name, args: one.input } }];
    return [];
  });
  return {
    candidates: [
      {
        content: { role: "model", parts },
        finishReason: end === "length" ? "MAX_TOKENS" : end === "refusal" ? "SAFETY" : "STOP",
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: 100,
      cachedContentTokenCount: 30,
      candidatesTokenCount: 15,
      thoughtsTokenCount: 5,
      totalTokenCount: 120,
    },
    modelVersion: "m",
    responseId: "r",
  };
}

function geminiStream(said: readonly Said[], end: End = "done"): CannedAnswer {
  const whole = geminiAnswer(said, end) as any;
  const [{ content, finishReason }] = whole.candidates;
  const chunks = (content.parts as readonly any[]).flatMap((part) =>
    part.text === undefined ? [part] : pieces(part.text).map((text) => ({ ...part, text })),
  );
  const events = [
    ...chunks.map((part) => ({ ...whole, candidates: [{ content: { role: "model", parts: [part] }, index: 0 }] })),
    { ...whole, candidates: [{ content: { role: "model", parts: [{ text: "" }] }, finishReason, index: 0 }] },
  ];
  return {
    headers: STREAM_TYPE,
    chunk: "event",
    body: sseText(events.map((event) => ({ data: JSON.stringify(event) }))),
  };
}

function heardByGemini({ systemInstruction, contents }: any): readonly Piece[] {
  return [{ role: "system", parts: systemInstruction?.parts ?? [] }, ...contents].flatMap(({ role: own, parts }) =>
    (parts as readonly any[]).flatMap((part) => {
      const role = own === "model" ? "assistant" : own;
      if (part.functionCall !== undefined)
        return { role, call: part.functionCall.id, name: part.functionCall.name, input: part.functionCall.args };
      if (part.functionResponse !== undefined) {
        const { id, response, parts: media = [] } = part.functionResponse;
        const images = (media as readonly any[]).map(({ inlineData }) => inlineData.data);
        return { role, result: id, text: saidIn(response), ...(images.length > 0 && { images }) };
      }
      if (part.inlineData !== undefined) return { role, image: part.inlineData.data };
      return part.thought === true ? { role, thinking: part.text } : { role, text: part.text };
    }),
  );
}

function saidIn(response: Json): string {
  const [only] = Object.values(response as JsonObject);
  return typeof only === "string" ? only : JSON.stringify(only);
}

export const GEMINI: Vendor = {
  model: "gemini:gemini-3-flash-preview",
  counted: { input: 100, cached: 30, written: null, output: 20, thinking: 5 },
  answer: (said, end) => json(geminiAnswer(said, end)),
  stream: geminiStream,
  heard: heardByGemini,
};
