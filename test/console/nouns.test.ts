// The console calls nouns of the admin API as the command line and the API do. The tables of the first two stand in
// packages that cannot import each other.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { NOUNS } from "../../src/cli/admin/nouns.ts";
import { commandOf } from "../harness/shown-commands.ts";
import { CONFIGURED_NOUNS, type ConfiguredNoun } from "../../src/core/configured/configured.ts";

const SCREENS = join(import.meta.dir, "../../console/src/screens");

/** The words of each noun that the console configures, as its rows in `*-noun.tsx` and `*-nouns.tsx` have them. */
function configuredRows(): readonly Readonly<Record<string, string>>[] {
  return Array.from(new Glob("**/*-noun*.tsx").scanSync(SCREENS)).flatMap((path) =>
    readFileSync(join(SCREENS, path), "utf8")
      .split(/(?=\bplural: )/)
      .slice(1)
      .map((row) =>
        Object.fromEntries(
          [...row.matchAll(/^ *(?<name>plural|one|many|command|operation): "(?<word>[^"]*)",$/gm)].map(({ groups }) => [
            groups!["name"]!,
            groups!["word"]!,
          ]),
        ),
      ),
  );
}

describe("the nouns of the console", () => {
  test.each(
    NOUNS.filter(({ path }) => !path.includes("/")).map(({ word, path, verbs }) => [path, word, verbs] as const),
  )("/%s is `%s` on the command line", (path, word, verbs) => {
    const place = ["tenants", "projects", "gateway", "sessions", "views"].includes(path) ? "" : "/tenants/acme";
    const verb = verbs.includes("list") ? "list" : "get";
    expect(commandOf({ path: `/v1/admin${place}/${path}` })).toMatch(new RegExp(`^dragoman ${word} ${verb}\\b`));
  });

  test("objects of the configuration have the words of the API, and their commands those of the command line", () => {
    const rows = configuredRows();
    expect(rows.length).toBeGreaterThan(0);
    for (const { plural, one, many, command, operation } of rows) {
      const words = CONFIGURED_NOUNS[plural as ConfiguredNoun];
      expect({ plural, one, operation }).toEqual({ plural, one: words.one, operation: words.id });
      const noun = NOUNS.find(({ path }) => path === plural)!;
      expect({ plural, command, many: many!.toLowerCase() }).toEqual({ plural, command: noun.word, many: noun.many });
    }
    // webhooks have screens of their own
    expect(new Set(rows.map(({ plural }) => plural as ConfiguredNoun))).toEqual(
      new Set((Object.keys(CONFIGURED_NOUNS) as ConfiguredNoun[]).filter((noun) => noun !== "webhooks")),
    );
  });
});
