// Which addresses belong to a vendor: what its row says holds there, and the key of the environment is sent there; at no
// other address (promises 3.2 and 12.3).
import { expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { providers } from "../../src/providers/registry.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { compileProviders } from "../../src/snapshot/provider-table.ts";

const families = [...providers.values()];

function settingsAt(id: string, address: string) {
  const environment = readEnvironment({ [providers.get(id)!.keyVariables[0]!]: "key" });
  const text = `providers:\n  ${id}: {base_url: "${address}"}\n`;
  const entries = parseConfiguration({ file: "f", text, families, environment }).providers;
  return compileProviders(entries, families, environment).providers.get(id)!;
}

test.each([
  ["openai", "https://api.openai.com/v1"],
  ["openai", "https://eu.api.openai.com/v1"],
  ["openai", "https://us.api.openai.com/v1"],
  ["azure", "https://mine.openai.azure.com"],
  ["azure", "https://mine.cognitiveservices.azure.com"],
  ["azure", "https://mine.openai.azure.us/openai/v1"],
  ["azure_ai", "https://mine.services.ai.azure.com/models"],
  ["azure_ai", "https://mine.openai.azure.com/openai/v1"],
  ["dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1"],
  ["dashscope", "https://dashscope-us.aliyuncs.com/compatible-mode/v1"],
  ["dashscope", "https://cn-hongkong.dashscope.aliyuncs.com/compatible-mode/v1"],
  ["dashscope", "https://ws-1.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1"],
  ["moonshot", "https://api.moonshot.cn/v1"],
  ["stepfun", "https://api.stepfun.com/v1"],
  ["siliconflow", "https://api.siliconflow.cn/v1"],
  ["zai", "https://open.bigmodel.cn/api/paas/v4"],
  ["minimax", "https://api.minimaxi.com/v1"],
])("%s owns %s", (id, address) => {
  const { isElsewhere, credentials } = settingsAt(id, address);
  expect([isElsewhere, credentials.length]).toEqual([undefined, 1]);
});

test.each([
  ["openai", "https://api.openai.com.evil.example/v1"],
  ["openai", "https://evil.api.openai.com/v1"],
  ["openai", "http://eu.api.openai.com/v1"],
  ["openai", "https://eu.api.openai.com:8443/v1"],
  ["openai", "https://eu.api.openai.com.evil.example/v1"],
  ["azure", "https://mine.openai.azure.com.evil.example"],
  ["azure", "https://a.b.openai.azure.com"],
  ["dashscope", "https://maas.aliyuncs.com/compatible-mode/v1"],
  ["dashscope", "https://evil.aliyuncs.com/compatible-mode/v1"],
  ["moonshot", "https://api.moonshot.cn.evil.example/v1"],
])("%s does not own %s", (id, address) => {
  const { isElsewhere, credentials } = settingsAt(id, address);
  expect([isElsewhere, credentials.length]).toEqual([true, 0]);
});
