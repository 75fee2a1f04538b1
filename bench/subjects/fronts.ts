// Requests of about 1 KB in the forms of other operations, all with the same text, and the providers that speak such an
// operation themselves.
import { type Protocol, PROTOCOLS, responsesProtocol } from "../load/protocols.ts";
import { OPERATORS_KEY } from "./operators-key.ts";

/** The operation that a row calls. */
export type Front = "chat" | "responses" | "messages";

const INSTRUCTIONS = "You are an assistant that answers in short, complete sentences and never guesses. "
  .repeat(3)
  .trim();
const QUESTION =
  "Compare a queue and a stack, and say for each where a program would want it and what goes wrong with the other. "
    .repeat(5)
    .trim();

interface FrontRequest {
  /** Below the base address of the gateway. */
  readonly path: string;
  readonly body: (model: string, isStreamed: boolean) => object;
}

const REQUESTS: Readonly<Record<Front, FrontRequest>> = {
  chat: {
    path: "/chat/completions",
    body: (model, isStreamed) => ({
      model,
      messages: [
        { role: "system", content: INSTRUCTIONS },
        { role: "user", content: QUESTION },
      ],
      temperature: 0.7,
      max_tokens: 512,
      ...(isStreamed && { stream: true, stream_options: { include_usage: true } }),
    }),
  },
  responses: {
    path: "/responses",
    body: (model, isStreamed) => ({
      model,
      instructions: INSTRUCTIONS,
      input: [{ role: "user", content: QUESTION }],
      temperature: 0.7,
      max_output_tokens: 512,
      store: false,
      ...(isStreamed && { stream: true }),
    }),
  },
  messages: {
    path: "/messages",
    body: (model, isStreamed) => ({
      model,
      system: INSTRUCTIONS,
      messages: [{ role: "user", content: QUESTION }],
      temperature: 0.7,
      max_tokens: 512,
      ...(isStreamed && { stream: true }),
    }),
  },
};

export function requestText(front: Front, model: string, isStreamed: boolean): string {
  return JSON.stringify(REQUESTS[front].body(model, isStreamed));
}

/** `path` is that of the operation chat completions, or one that is not the gateway's. */
export function frontPath(path: string, front: Front): string {
  return front === "chat" ? path : path.replace(REQUESTS.chat.path, REQUESTS[front].path);
}

/** Answers of providers that are sent what the client wrote, by the operation. */
export const NATIVE: readonly (Protocol & { readonly front: Front })[] = [
  { ...responsesProtocol(), id: "native-responses", front: "responses" },
  {
    ...PROTOCOLS.find(({ id }) => id === "anthropic")!,
    id: "native-messages",
    front: "messages",
    entry: (address) => `{ type: anthropic, base_url: "${address}", api_key: ${OPERATORS_KEY}, native: [messages] }`,
  },
];
