// Embeddings of an OpenAI-compatible provider as data: what differs from OpenAI's own.
// https://platform.openai.com/docs/api-reference/embeddings/create
import type { ChatRequest } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Target } from "../../../core/target.ts";
import type { InputTypeWords } from "../../tasks/embedding-parameters.ts";

/** How a row's embeddings differ from OpenAI's. */
export interface EmbeddingRow {
  /** The vendor's page. */
  readonly docs: string;
  /** Only these models, where the vendor has others that are known by their names. All when absent. */
  readonly models?: RegExp;
  /** Appended to the base address. `/embeddings` when absent. */
  readonly path?: string;
  /** Returns the complete address, when it is more than base and path. */
  readonly address?: (target: Target, request: ChatRequest) => string;
  /** Returns the members that replace `model`. */
  readonly model?: (target: Target, request: ChatRequest) => JsonObject;
  /** The most inputs of one request. */
  readonly mostInputs: number;
  /** The name of the length of vectors on the wire. Absent when it cannot be chosen. */
  readonly dimensions?: string;
  /** The member that says to the vendor what a text is for. Absent where the vendor has none. */
  readonly inputType?: InputTypeField;
  /** Whether lists of token ids are taken. */
  readonly tokens?: true;
  /** Whether `user` is taken. */
  readonly user?: true;
  /** Whether `deployment_id` is taken, which `address` and `model` then write. */
  readonly deployments?: true;
  /** What the vendor takes as `encoding_format`. Absent when it is not sent. */
  readonly formats?: readonly ("float" | "base64")[];
  /** What base64 holds in answers, where it is not 32-bit floats. */
  readonly base64Holds?: "int8";
  /** Models for which some of this differs; the first that matches applies. */
  readonly except?: readonly (Partial<Omit<EmbeddingRow, "except" | "lacks">> & {
    readonly models: RegExp;
    readonly lacks?: readonly ("dimensions" | "inputType" | "tokens")[];
  })[];
}

export interface InputTypeField {
  readonly name: string;
  readonly words: InputTypeWords;
  /** Sent where the request says nothing, because the vendor requires it. */
  readonly otherwise?: string;
}

/** What OpenAI's own embeddings take, for rows that take the same. */
export const LIKE_OPENAI = {
  mostInputs: 2048,
  dimensions: "dimensions",
  tokens: true,
  user: true,
  formats: ["float", "base64"],
} as const satisfies Partial<EmbeddingRow>;
