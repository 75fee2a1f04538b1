// The bounds of what a tool server may list.
import { describe, expect, test } from "bun:test";
import { readList } from "../../src/mcp/tool-list.ts";

/** A tool of about so many bytes. */
const toolOf = (index: number, bytes: number) => ({
  name: `tool-${index}`,
  description: "d",
  inputSchema: { type: "object", description: "x".repeat(bytes) },
});
const failureOfPages = async (page: () => Promise<unknown>): Promise<string> => {
  try {
    await readList(page);
    return "";
  } catch (thrown) {
    return String(thrown);
  }
};
const failureOf = (tools: readonly unknown[]): Promise<string> => failureOfPages(() => Promise.resolve({ tools }));

describe("a list of tools", () => {
  test("may hold 8 MiB of descriptions and schemas, and is refused above that", async () => {
    const large = Array.from({ length: 40 }, (_, index) => toolOf(index, 200_000));
    expect((await readList(() => Promise.resolve({ tools: large }))).tools).toHaveLength(40);
    expect(await failureOf([...large, toolOf(40, 200_000), toolOf(41, 200_000)])).toContain(
      "larger than 8388608 bytes",
    );
  });
  test("counts all pages together", async () => {
    let pages = 0;
    const page = () =>
      Promise.resolve({
        tools: Array.from({ length: 10 }, (_, index) => toolOf(pages * 10 + index, 200_000)),
        nextCursor: `page-${++pages}`,
      });
    expect(await failureOfPages(page)).toContain("larger than 8388608 bytes");
    expect(pages).toBe(5);
  });
  test("leaves out a single tool whose schema is larger than 256 KiB, and says so", async () => {
    const { tools, problems } = await readList(() => Promise.resolve({ tools: [toolOf(0, 300_000), toolOf(1, 10)] }));
    expect(tools.map(({ name }) => name)).toEqual(["tool-1"]);
    expect(problems).toEqual(["the inputSchema of the tool tool-0 is larger than 262144 bytes"]);
  });
});
