// A wish to be shown a summary of the reasoning, at providers that are asked in a form of their own.
import { expect, test } from "bun:test";
import { cannedUpstream } from "../../harness/in-process.ts";
import { responsesGateway } from "./responses-calls.ts";

async function sent(model: string, reasoning: object): Promise<Record<string, any>> {
  const gateway = responsesGateway({ upstream: cannedUpstream({ status: 500, body: "{}" }) });
  await (await gateway.respond({ model, input: "Why?", reasoning, x_gateway: { num_retries: 0 } })).text();
  return gateway.bodies()[0]!;
}

test("[d12.4] asks Claude for the text of its thinking, which newer models leave out", async () => {
  for (const wish of [{ summary: "auto" }, { generate_summary: "concise" }])
    expect((await sent("anthropic:claude-opus-4-8", { effort: "high", ...wish }))["thinking"]).toEqual({
      type: "adaptive",
      display: "summarized",
    });
  expect((await sent("anthropic:claude-opus-4-8", { effort: "high" }))["thinking"]).toEqual({ type: "adaptive" });
  expect(await sent("anthropic:claude-opus-4-8", { summary: "auto" })).not.toHaveProperty("thinking");
  const thinking = (await sent("anthropic:claude-sonnet-4-5", { effort: "low", summary: "auto" }))["thinking"];
  expect(thinking).toMatchObject({ type: "enabled" });
  expect(thinking).not.toHaveProperty("display");
  expect(
    (await sent("bedrock:anthropic.claude-opus-4-8", { effort: "high", summary: "auto" }))[
      "additionalModelRequestFields"
    ]["thinking"],
  ).toEqual({ type: "adaptive", display: "summarized" });
});

test("[d12.4] asks Gemini for its thoughts, also where it thinks without being told how much", async () => {
  const config = async (model: string, reasoning: object): Promise<unknown> =>
    (await sent(model, reasoning))["generationConfig"]?.["thinkingConfig"];
  expect(await config("gemini:gemini-2.5-flash", { summary: "detailed" })).toEqual({ includeThoughts: true });
  expect(await config("gemini:gemini-2.5-flash", {})).toBeUndefined();
  expect(await config("gemini:gemini-2.5-flash", { effort: "none", summary: "auto" })).toEqual({ thinkingBudget: 0 });
  // the vendor refuses the wish where the model does not think
  for (const model of ["gemini-2.0-flash", "gemini-2.5-flash-lite", "gemini-exp-1206", "tuned"])
    expect([model, await config(`gemini:${model}`, { summary: "auto" })]).toEqual([model, undefined]);
});

test("[d12.4] goes to models that speak Responses alone as it came", async () => {
  expect((await sent("openai:o3-pro", { effort: "low", summary: "detailed" }))["reasoning"]).toEqual({
    effort: "low",
    summary: "detailed",
  });
  expect((await sent("openai:o3-pro", { summary: "auto" }))["reasoning"]).toEqual({ summary: "auto" });
  expect(await sent("openai:o3-pro", {})).not.toHaveProperty("reasoning");
});
