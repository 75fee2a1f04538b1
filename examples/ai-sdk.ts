// Vercel's AI SDK against the gateway: a plain answer, a stream, and an object by a schema.
//   npm install ai @ai-sdk/openai-compatible zod
//   GATEWAY=http://127.0.0.1:4100 TOKEN=dgm_pt_... bun examples/ai-sdk.ts
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, streamText } from "ai";
import { z } from "zod";

const gateway = createOpenAICompatible({
  name: "dragoman",
  baseURL: `${process.env["GATEWAY"] ?? "http://127.0.0.1:4100"}/api/v1`,
  apiKey: process.env["TOKEN"] ?? "",
  supportsStructuredOutputs: true,
  includeUsage: true,
});

const { text, usage } = await generateText({
  model: gateway(process.env["MODEL"] ?? "sandbox:echo"),
  prompt: "Hello, Dragoman!",
});
console.log("answer:", text);
console.log("tokens:", usage.totalTokens);

const streamed = streamText({ model: gateway("sandbox:words-5"), prompt: "Count" });
let words = "";
for await (const piece of streamed.textStream) words += piece;
console.log("streamed:", words);

const { output } = await generateText({
  model: gateway("sandbox:json"),
  prompt: "A city",
  output: Output.object({ schema: z.object({ city: z.enum(["Vienna"]), inhabitants: z.number().min(1) }) }),
});
console.log("object:", JSON.stringify(output));
