// Documents of configured objects in the console: what a form changes in their text, and how a change is told.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { changeWords } from "../../console/src/configured/change-words.ts";
import {
  fileText,
  lineOf,
  readYaml,
  withMoved,
  withSecret,
  withValue,
  writtenYaml,
} from "../../console/src/configured/yaml-text.ts";
import { lineDiff } from "../../console/src/configured/line-diff.ts";
import { mergePatch } from "../../console/src/configured/merge-patch.ts";
import {
  entriesOf,
  type EntryList,
  targetsOf,
  targetWords,
  withMember,
  withModel,
} from "../../console/src/screens/routes/route-targets.ts";

const TEXT = `# the cheap one first
targets:
  - sandbox:echo # free
  - model: sandbox:words-5
    params: { temperature: 0 }
hedge: { after: p95, max_extra: 0.05 } # no form shows this
`;

describe("a document", () => {
  test("keeps its comments, its order and what no form shows when a form changes it", () => {
    const changed = withValue(withValue({ text: TEXT }, ["retries"], 2), ["targets", 1, "weight"], 3);
    expect(changed.text).toContain("# the cheap one first");
    expect(changed.text).toContain("# free");
    expect(changed.text).toContain("max_extra: 0.05 } # no form shows this");
    expect(readYaml(changed).fields).toEqual({
      targets: ["sandbox:echo", { model: "sandbox:words-5", params: { temperature: 0 }, weight: 3 }],
      hedge: { after: "p95", max_extra: 0.05 },
      retries: 2,
    });
    expect(withValue(changed, ["retries"], undefined).text).not.toContain("retries");
    expect(readYaml(withValue({ text: "" }, ["timeouts", "total_ms"], 5)).fields).toEqual({
      timeouts: { total_ms: 5 },
    });
  });

  test("takes a value of the form also below a key that has nothing behind it, and loses none below one that is absent", () => {
    const text = "usd: 5 # each day\nscope:\n";
    const changed = withValue({ text }, ["scope", "user"], "ann");
    expect(readYaml(changed).fields).toEqual({ usd: 5, scope: { user: "ann" } });
    expect(changed.text).toContain("# each day");
    for (const path of [
      ["scope", "user"],
      ["timeouts", "total_ms"],
    ])
      expect(withValue({ text }, path, undefined).text).toBe(text);
    const shared = "scope: &all { user: ann }\nother: *all\n";
    expect(withValue({ text: shared }, ["other", "user"], "kim").text).toBe(shared);
  });

  test("moves an entry of a list with its comment, and not beyond the ends", () => {
    const moved = withMoved({ text: TEXT }, ["targets"], 0, 1);
    expect(targetsOf(readYaml(moved).fields!).map(({ model }) => model)).toEqual(["sandbox:words-5", "sandbox:echo"]);
    expect(moved.text).toContain("sandbox:echo # free");
    expect(withMoved({ text: TEXT }, ["targets"], 0, 2).text).toBe(TEXT);
  });

  test("has a mask for a secret that was typed into a form, which is read and sent, and shown nowhere", () => {
    const typed = withSecret({ text: "type: openai # ours\n" }, ["api_key"], "sk-of-somebody");
    expect(typed.text).toBe("type: openai # ours\napi_key: •••\n");
    expect(readYaml(typed).fields).toEqual({ type: "openai", api_key: "sk-of-somebody" });
    expect(readYaml({ text: typed.text }).fields).toEqual({ type: "openai", api_key: "•••" });
    const renamed = withValue(typed, ["type"], "custom");
    expect(readYaml(renamed).fields).toEqual({ type: "custom", api_key: "sk-of-somebody" });
    expect(readYaml({ ...renamed, text: "api_key: by hand" }).fields).toEqual({ api_key: "by hand" });
    expect(withSecret(renamed, ["api_key"], undefined)).toEqual({ text: "type: custom\n", secrets: {} });
  });

  test("says in which line it cannot be read, and where a path stands", () => {
    expect(readYaml({ text: "targets: [a\nretries: 1" }).problems[0]).toMatchObject({ line: expect.any(Number) });
    expect(readYaml({ text: "- a" }).problems).toHaveLength(1);
    expect(readYaml({ text: "" }).fields).toEqual({});
    expect(lineOf({ text: TEXT }, "targets[1].params.temperature")).toBe(5);
    expect(lineOf({ text: TEXT }, "hedge.missing")).toBe(6);
    expect(lineOf({ text: TEXT }, "nowhere")).toBe(1);
    // an alias that would grow without end is a problem, and no page that hangs
    const bomb = [
      "a: &a [x]",
      ..."bcdefghi".split("").map((name, at) => `${name}: &${name} [${`*${"abcdefgh"[at]},`.repeat(9)}]`),
    ];
    expect(readYaml({ text: bomb.join("\n") }).fields).toBeNull();
  });

  test("is read as it was written, and stands in the file below the keys of its place", () => {
    const fields = { rule: 'a == "b"', list: ["1", 1, null, true], text: "two\nlines\n" };
    expect(readYaml(writtenYaml(fields)).fields).toEqual(fields);
    const place = ["projects", "my project", "routes", "chat"];
    const inFile = fileText(place, writtenYaml(fields).text);
    expect(readYaml({ text: inFile }).fields).toEqual({ projects: { "my project": { routes: { chat: fields } } } });
  });
});

describe("a change", () => {
  test("is told field by field, and the order of targets in words", () => {
    const before = { targets: ["a:1", "b:2"], retries: 1, cache: { ttl_s: 5 } };
    const after = { targets: ["b:2", "a:1"], retries: 2, cache: { ttl_s: 5, scope: "user" } };
    expect(changeWords(before, after)).toEqual([
      "targets is in another order.",
      "retries changes from 1 to 2.",
      "cache.scope is set to user.",
    ]);
    expect(targetWords(before, after)).toEqual(["b:2 moves before a:1."]);
    expect(changeWords({ list: ["a"] }, { list: ["a", "b"] })).toEqual(["list has b now."]);
    expect(changeWords({ a: [{ x: 1 }] }, { a: [{ x: 2 }] })).toEqual(["a[0].x changes from 1 to 2."]);
    expect(changeWords(before, before)).toEqual([]);
  });

  test("[d16.1] shows the condition and the share of a target, and tells when they change", () => {
    const before = readYaml({ text: "targets: [a:1, { model: b:2, share: 5, max_concurrency: 3 }]" }).fields!;
    const after = readYaml({ text: "targets: [{ model: a:1, when: request.stream }, { model: b:2 }]" }).fields!;
    expect(targetsOf(before)[1]).toMatchObject({ when: "", share: 5, further: ["max_concurrency"] });
    expect(targetsOf(after)[0]).toMatchObject({ when: "request.stream", share: null, further: [] });
    expect(targetWords(before, after)).toEqual(["a:1 is for calls with request.stream.", "b:2 has no share any more."]);
    expect(targetWords(after, before)).toEqual([
      "a:1 has no condition any more.",
      "b:2 gets a share of 5 % of the calls.",
    ]);
  });

  test("[d16.1] gives fallbacks conditions and shares as it does targets, and leaves their parameters alone", () => {
    const text =
      "fallbacks:\n  - a:1 # cheap\n  - route:other\n  - { route: third, when: request.stream, temperature: 1 }\n";
    const entry = (of: string, index: number, list: EntryList = "fallbacks") => {
      const fields = readYaml({ text: of }).fields!;
      return {
        entry: entriesOf(fields, list)[index]!,
        isMapping: typeof (fields[list] as readonly unknown[])[index] === "object",
      };
    };
    expect(entry(text, 2).entry).toMatchObject({
      model: "route:third",
      when: "request.stream",
      share: null,
      further: ["temperature"],
    });
    const set = (of: string, index: number, name: "when" | "share", value: string | number | undefined): string =>
      withMember({ text: of }, "fallbacks", index, entry(of, index), name, value).text;
    let changed = set(set(set(text, 0, "when", "now > now"), 1, "share", 5), 2, "when", undefined);
    expect(readYaml({ text: changed }).fields).toEqual({
      fallbacks: [
        { model: "a:1", when: "now > now" },
        { route: "other", share: 5 },
        { route: "third", temperature: 1 },
      ],
    });
    const rename = (index: number, model: string): string =>
      withModel({ text: changed }, "fallbacks", index, entry(changed, index).isMapping, model).text;
    changed = rename(1, "b:2");
    changed = rename(0, "route:first");
    expect(readYaml({ text: changed }).fields).toEqual({
      fallbacks: [
        { when: "now > now", route: "first" },
        { share: 5, model: "b:2" },
        { route: "third", temperature: 1 },
      ],
    });
    expect(targetWords({ fallbacks: ["a:1", "a:1"] }, { fallbacks: ["a:1", { model: "a:1", when: "x" }] })).toEqual([
      "The fallback a:1 is for calls with x.",
    ]);
    expect(targetWords({ fallbacks: [{ route: "o", share: 5 }] }, { fallbacks: ["route:o"] })).toEqual([
      "The fallback route:o has no share any more.",
    ]);
  });

  test("line by line gives both texts back, with as few lines as a comparison of all pairs", () => {
    const lines = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 8 }).map((list) => list.join("\n"));
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = lineDiff(before, after);
        const of = (kind: "removed" | "added"): string =>
          diff.flatMap((line) => (line.kind === "same" || line.kind === kind ? [line.text] : [])).join("\n");
        expect([of("removed"), of("added")]).toEqual([before, after]);
        const common = longestCommon(before.split("\n"), after.split("\n"));
        expect(diff.filter(({ kind }) => kind === "same").length).toBe(common);
      }),
    );
  });
});

/** The length of the longest common subsequence, by trying everything. */
function longestCommon(one: readonly string[], two: readonly string[]): number {
  if (
    one.length === 0 ||
    two.length === 0 ||
    (one.length === 1 && one[0] === "") ||
    (two.length === 1 && two[0] === "")
  )
    return 0;
  const [first, ...rest] = one;
  const without = longestCommon(rest, two);
  const at = two.indexOf(first!);
  return at < 0 ? without : Math.max(without, 1 + longestCommon(rest, two.slice(at + 1)));
}

test("a change is a merge patch: what is removed is null, and only what differs is named", () => {
  const before = { a: 1, list: [1, 2], inner: { x: 1, y: 2 }, same: { z: 1 } };
  expect(mergePatch(before, { list: [1], inner: { x: 1, w: 3 }, same: { z: 1 }, b: "new" })).toEqual({
    a: null,
    list: [1],
    inner: { y: null, w: 3 },
    b: "new",
  });
  expect(mergePatch(before, before)).toEqual({});
});
