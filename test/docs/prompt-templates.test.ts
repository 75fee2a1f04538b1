// The prompts on docs/prompt-templates.md are those that are sent, and its table has every family with its page.
import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../src/engine/request/parse.ts";
import { PLAIN_FAMILY, PROMPT_FAMILIES } from "../../src/providers/prompt-template/families.ts";
import { promptOf } from "../../src/providers/prompt-template/prompt.ts";
import { completionProviders } from "../../src/providers/raw-completions/rows.ts";
import { codeWords, fencesOf, readPage, tableBelow } from "./pages.ts";

const page = readPage("docs/prompt-templates.md");
const fence = (info: string): string => fencesOf(page).find((each) => each.info === info)!.text;
const textOf = (request: object): string =>
  promptOf(parseChatRequest(JSON.stringify({ model: "vllm-generate:my-model", ...request })), "my-model", {
    serverAddsBos: true,
  }).text;

const CONVERSATION = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Hello" },
  { role: "assistant", content: "Hi." },
  { role: "user", content: "Go on" },
];

describe("docs/prompt-templates.md", () => {
  test.each(["chatml", "mistral-v3"])("the prompt of %s is the one that is sent", (family) => {
    expect(fence(`text ${family}`)).toBe(textOf({ hf_model_name: family, messages: CONVERSATION }));
  });
  test("the prompt of a custom form is the one that is sent", () => {
    expect(fence("text roles")).toBe(textOf(JSON.parse(fence("json")) as object));
  });
  test("every family is in the table, with the page that documents it", () => {
    const rows = tableBelow(page, "## Which form is taken");
    expect(rows.map(([family]) => codeWords(family!)[0]!).toSorted()).toEqual(
      [...PROMPT_FAMILIES, PLAIN_FAMILY].map(({ name }) => name).toSorted(),
    );
    for (const { name, docs } of PROMPT_FAMILIES)
      expect(rows.find(([family]) => codeWords(family!)[0] === name)![2]).toContain(`(${docs})`);
  });
  test("every raw endpoint is in the table", () => {
    expect(
      tableBelow(page, "# Prompt templates for raw endpoints")
        .flatMap(([ids]) => codeWords(ids!))
        .toSorted(),
    ).toEqual([...completionProviders.map(({ id }) => id), "replicate"].toSorted());
  });
});
