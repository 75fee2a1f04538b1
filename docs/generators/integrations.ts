// The lists of integrations, in the index of docs/integrations/ and on the pages that lead there: each page's title and first paragraph.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { table } from "./markdown.ts";

const FOLDER = "docs/integrations";

interface IntegrationPage {
  readonly file: string;
  readonly title: string;
  readonly words: string;
}

/** Throws for a page that does not begin with a title and a paragraph. */
function integrationPages(projectFolder: string): readonly IntegrationPage[] {
  const files = readdirSync(join(projectFolder, FOLDER))
    .filter((file) => file.endsWith(".md") && file !== "README.md")
    .toSorted();
  return files.map((file) => {
    const head = /^# (.+)\n\n((?:[^\n#`|-].*\n)+)/.exec(readFileSync(join(projectFolder, FOLDER, file), "utf8"));
    if (head === null)
      throw new Error(`${FOLDER}/${file} does not begin with a title and a paragraph that says what goes where`);
    return { file, title: head[1]!, words: head[2]!.trim().replaceAll("\n", " ") };
  });
}

/** For docs/integrations/README.md. */
export function integrationsTable(projectFolder: string): string {
  return table(
    ["page", "what goes where"],
    integrationPages(projectFolder).map(({ file, title, words }) => [`[${title}](${file})`, words]),
  );
}

/** For pages elsewhere; `base` leads from there to the folder. */
export function integrationsList(projectFolder: string, base: string): string {
  return `${integrationPages(projectFolder)
    .map(({ file, title }) => `[${title}](${base}/${file})`)
    .join(", ")}.`;
}
