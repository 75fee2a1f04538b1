// The official OpenAI library against the gateway: a plain answer, a stream, a tool call, and a refusal as a typed error.
//   npm install openai
//   GATEWAY=http://127.0.0.1:4100 TOKEN=dgm_pt_... bun examples/openai-sdk.ts
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: `${process.env["GATEWAY"] ?? "http://127.0.0.1:4100"}/api/v1`,
  apiKey: process.env["TOKEN"] ?? "",
});
const model = process.env["MODEL"] ?? "sandbox:echo";

const answer = await client.chat.completions.create({
  model,
  messages: [{ role: "user", content: "Hello, Dragoman!" }],
});
console.log("answer:", answer.choices[0]?.message.content);
console.log("tokens:", answer.usage?.total_tokens);

const stream = await client.chat.completions.create({
  model: "sandbox:words-5",
  messages: [{ role: "user", content: "Count" }],
  stream: true,
});
let streamed = "";
for await (const chunk of stream) streamed += chunk.choices[0]?.delta.content ?? "";
console.log("streamed:", streamed);

const withTools = await client.chat.completions.create({
  model: "sandbox:tools",
  messages: [{ role: "user", content: "What is the weather in Vienna?" }],
  tools: [
    {
      type: "function",
      function: {
        name: "weather",
        parameters: { type: "object", properties: { city: { type: "string", enum: ["Vienna"] } }, required: ["city"] },
      },
    },
  ],
});
const call = withTools.choices[0]?.message.tool_calls?.[0];
if (call?.type === "function") console.log("call:", call.function.name, call.function.arguments);

try {
  await client.chat.completions.create({
    model,
    messages: [{ role: "user", content: "Hello" }],
    logit_bias: { "50256": -100 },
  });
} catch (error) {
  if (!(error instanceof OpenAI.BadRequestError)) throw error;
  console.log("refused:", error.status, error.code, error.param);
}
