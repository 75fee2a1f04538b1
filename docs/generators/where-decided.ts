// docs/where-decided.md: what the files of src/ say that they decide, in the comments below their heads that begin with `Decides (`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { generatedMark, table } from "./markdown.ts";

/** The parts of the page, in their order. */
const PARTS = [
  "who may call, and with what",
  "the request",
  "targets and attempts",
  "the answer",
  "the response cache",
  "money and limits",
  "records and configuration",
] as const;

/** One question that a file answers. */
export interface Decision {
  readonly part: (typeof PARTS)[number];
  readonly question: string;
  /** The file's own names that decide it, as written. */
  readonly by: string | null;
  /** Other files that take part in it, as written. */
  readonly also: string | null;
  readonly rule: string;
}

const FORM =
  /^Decides \((?<part>[^)]+)\): (?<question>.+?\?)(?= By: | Also: | Rule: |$)(?: By: (?<by>.+?)\.(?= Also: | Rule: |$))?(?: Also: (?<also>.+?)\.(?= Rule: |$))?(?: Rule: (?<rule>.+))?$/;

/**
 * The decisions that a file names:
 * `// Decides (<part of the page>): <question>? By: <its own names>. Also: <other files>. Rule: <the rule>`, of which
 * all after the question may be left out. Throws for one that has another form.
 */
export function decisionsIn(path: string, text: string): readonly Decision[] {
  const comments: string[] = [];
  let isInside = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("// Decides (")) comments.push(line.slice(3));
    else if (isInside && line.startsWith("// ")) comments.push(`${comments.pop()!} ${line.slice(3)}`);
    isInside = line.startsWith("// Decides (") || (isInside && line.startsWith("// "));
  }
  return comments.map((comment) => {
    const found = FORM.exec(comment)?.groups;
    const part = PARTS.find((each) => each === found?.["part"]);
    if (found === undefined || part === undefined)
      throw new Error(
        `${path}: "${comment.slice(0, 80)}" is not of the form "Decides (<part>): <question>? By: <names>. Also: <files>. Rule: <rule>", where the part is one of: ${PARTS.join("; ")}`,
      );
    const { question, by = null, also = null, rule = "" } = found;
    return { part, question: question!, by, also, rule };
  });
}

export function whereDecidedPage(projectFolder: string): string {
  const decisions = [...new Glob("**/*.ts").scanSync({ cwd: join(projectFolder, "src") })]
    .map((path) => path.replaceAll("\\", "/"))
    .toSorted()
    .flatMap((path) =>
      decisionsIn(path, readFileSync(join(projectFolder, "src", path), "utf8")).map((decision) => ({
        path,
        ...decision,
      })),
    );
  const parts = PARTS.map((part) => {
    const rows = decisions
      .filter((decision) => decision.part === part)
      .map(({ path, question, by, also, rule }) => [
        question,
        [`\`${path}\`${by === null ? "" : ` (${by})`}`, ...(also === null ? [] : [withLinks(also)])].join("; "),
        withLinks(rule),
      ]);
    return `## ${part[0]!.toUpperCase()}${part.slice(1)}\n\n${table(["question", "where", "the rule"], rows)}`;
  });
  return `${generatedMark("the comments of src/ that begin with `Decides (`")}

# Where it is decided

Questions about what the gateway does, and the file that answers each. Paths are relative to \`src/\`; a name without a
folder stands beside the file before it. Names in parentheses stand in the file before them, which a test checks
(\`test/architecture/decisions-table.test.ts\`). How the parts fit together is in [ARCHITECTURE.md](../ARCHITECTURE.md).

${parts.join("\n\n")}
`;
}

/** Pages, which comments name from the project's folder, as links from docs/. */
function withLinks(text: string): string {
  return text.replaceAll(
    /(?<!\w)(docs\/)?([\w/-]+\.md)(#[\w-]+)?/g,
    (_, docs: string | undefined, page: string, anchor = "") => {
      return `[${page}](${docs === undefined ? "../" : ""}${page}${anchor})`;
    },
  );
}
