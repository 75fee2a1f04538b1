// The import law: a file of src/ imports only from its own folder or from folders to the left of it, type imports
// included, without cycles.
import type { SourceFile, Violation } from "./source-tree.ts";

/** From left to right. A name that ends in .ts is a file that stands directly under src/. */
export const LAYERS = [
  "core",
  "wire",
  "config",
  "store",
  "credentials",
  "observe",
  "accounting",
  "providers",
  "guards",
  "policies",
  "auth",
  "admission",
  "cache",
  "routing",
  "mcp",
  "snapshot",
  "engine",
  "operations",
  "simulation",
  "http",
  "process",
  "diagnostics",
  "import",
  "cli",
  "main.ts",
] as const;

/** What src/ may import from outside itself by path: files that are in the published package. */
const OUTSIDE = new Set(["package.json"]);

/** The folder under src/, or the file's own name when it stands directly there. */
export function layerOf(path: string): string {
  return path.split("/")[1] ?? "";
}

function rankOf(path: string): number {
  return (LAYERS as readonly string[]).indexOf(layerOf(path));
}

export function importLawViolations(files: readonly SourceFile[]): readonly Violation[] {
  return files.flatMap((file) => [
    ...(rankOf(file.path) < 0
      ? [{ path: file.path, line: 1, what: `\`${layerOf(file.path)}\` has no place in the import law` }]
      : []),
    ...file.imports.flatMap(({ target, line }) => {
      const what = target === null ? null : judgeEdge(file.path, target);
      return what === null ? [] : [{ path: file.path, line, what }];
    }),
  ]);
}

function judgeEdge(from: string, to: string): string | null {
  if (OUTSIDE.has(to)) return null;
  if (!to.startsWith("src/")) return `imports ${to}, which is outside src/`;
  if (layerOf(from) === layerOf(to)) return null;
  if (rankOf(to) < 0) return `imports ${to}, which has no place in the import law`;
  return rankOf(to) > rankOf(from) ? `imports ${to}, but ${layerOf(to)} stands to the right of ${layerOf(from)}` : null;
}

/** Folders of src/engine/ with the steps of every call, and those with what belongs to calls that are answered with generated text. */
const EVERY_CALL = new Set(["call", "plan", "attempt", "fit", "content", "metering", "policies"]);
const OPERATION = new Set(["request", "answer", "explain", "tools"]);
/** The steps of every call do not know the operation that they serve. */
export function seamViolations(files: readonly SourceFile[]): readonly Violation[] {
  const inEngine = (path: string): readonly string[] =>
    path.startsWith("src/engine/") ? path.split("/").slice(2) : [];
  return files.flatMap(({ path, imports }) =>
    imports.flatMap(({ target, line }) => {
      const [from, to] = [inEngine(path), inEngine(target ?? "")];
      return EVERY_CALL.has(from[0] ?? "") && OPERATION.has(to[0] ?? "")
        ? [{ path, line, what: `imports ${target}, but ${from[0]}/ serves every operation` }]
        : [];
    }),
  );
}

/** No operation knows another one, and the engine, which is src/engine/, has the name of none of `operations` in a string. */
export function operationViolations(files: readonly SourceFile[], operations: readonly string[]): readonly Violation[] {
  const folderOf = (path: string): string | null => /^src\/operations\/([^/]+)\//.exec(path)?.[1] ?? null;
  return files.flatMap(({ path, text, imports }) => [
    ...imports.flatMap(({ target, line }) => {
      const [from, to] = [folderOf(path), folderOf(target ?? "")];
      return from === null || to === null || from === to
        ? []
        : [{ path, line, what: `imports ${target}, which belongs to another operation` }];
    }),
    ...(path.startsWith("src/engine/") ? text.split("\n") : []).flatMap((content, index) =>
      operations
        .filter((name) => content.includes(`"${name}"`))
        .map((name) => ({ path, line: index + 1, what: `names the operation ${name}` })),
    ),
  ]);
}

/** Packages: `node:` builtins, Bun's own, and what package.json lists as a dependency of the running gateway. `computed`: files that load a configured module. */
export function packageViolations(
  files: readonly SourceFile[],
  dependencies: ReadonlySet<string>,
  computed: ReadonlySet<string> = new Set(),
): readonly Violation[] {
  return files.flatMap((file) =>
    file.imports.flatMap(({ specifier, target, line }) => {
      if (specifier === null)
        return computed.has(file.path)
          ? []
          : [{ path: file.path, line, what: "imports a path that is computed at run time" }];
      if (target !== null)
        return /\.\w+$/.test(target)
          ? []
          : [{ path: file.path, line, what: `imports ${specifier} without the file's ending` }];
      const name = specifier.startsWith("@") ? specifier.split("/").slice(0, 2).join("/") : specifier.split("/")[0]!;
      if (
        specifier.startsWith("node:") ||
        specifier.startsWith("bun:") ||
        specifier === "bun" ||
        dependencies.has(name)
      )
        return [];
      return [
        {
          path: file.path,
          line,
          what: `imports ${specifier}, which is neither a node: builtin nor a dependency of package.json`,
        },
      ];
    }),
  );
}

/** Every round of imports, as the files that it goes through; those that lead into a round are not part of it. */
export function importRounds(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const known = new Set(files.map((file) => file.path));
  const targets = new Map(
    files.map((file) => [
      file.path,
      file.imports.flatMap(({ target }) => (target !== null && known.has(target) ? [target] : [])),
    ]),
  );
  const done = new Set<string>();
  const rounds: (readonly string[])[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) {
      rounds.push([...trail.slice(at), path]);
      return;
    }
    if (done.has(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of known) visit(path, []);
  return rounds;
}

/** Rooms of src/providers/ with what several providers need; they, and the files directly in it, are for all. */
export const PROVIDERS_SHARE: ReadonlySet<string> = new Set([
  "answers",
  "conversation",
  "credentials",
  "interface",
  "native",
  "tasks",
]);

/** Which folders of src/providers/ a provider's folder may import from beside its own and what providers share. */
export const PROVIDER_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ["claude", "content-blocks"],
  bedrock: ["anthropic", "claude", "content-blocks"],
  responses: ["content-blocks"],
  // Models of a row may speak the Responses API, alone or beside chat completions, and the Messages API, and may be Claude's.
  "openai-compatible": ["anthropic", "claude", "responses"],
  // It delegates by the name of the model.
  vertex: ["anthropic", "claude", "content-blocks", "gemini", "openai-compatible"],
  // The server has several forms at one address.
  ollama: ["openai-compatible"],
  // Containers that speak OpenAI's form, behind AWS's errors.
  sagemaker: ["bedrock", "openai-compatible"],
  // Raw prompts have answers in OpenAI's form. Ollama takes them at the address of its chat.
  "raw-completions": ["ollama", "openai-compatible", "prompt-template"],
  replicate: ["openai-compatible", "prompt-template", "raw-completions"],
  sandbox: ["openai-compatible"],
};

/**
 * The folders whose files are in rooms, and which other rooms a room may import from. What stands directly in the folder
 * is for all its rooms, and may put them together.
 */
export const ROOM_IMPORTS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "src/core": {
    concurrency: [],
    configured: ["concurrency"],
    record: ["configured"],
    request: [],
    text: [],
  },
  "src/wire": {
    http: [],
    json: [],
  },
  "src/store": {
    // What every room needs of a database, so it needs none of them.
    database: [],
    events: ["database"],
    audit: ["database"],
    journal: ["database"],
    // A version that is restored is in the audit log; what was kept of calls is encrypted anew with the rest.
    configuration: ["audit", "calls", "database"],
    // Tokens and users are part of the versions of the configuration.
    identity: ["configuration", "database"],
    // The drivers of the port to calls answer with the reads of search and sums, which read the schema of calls.
    calls: ["database", "journal", "search", "sums"],
    search: ["calls", "database", "sums"],
    sums: ["calls", "database"],
    // They copy the rows of calls and the files of the ledger as they are, and leave out what is made of sums.
    copies: ["calls", "database", "journal", "sums"],
  },
  "src/observe/integrations": {
    otlp: [],
    sinks: ["otlp"],
  },
  "src/auth": {
    logins: [],
    settings: [],
    tokens: [],
  },
  "src/routing": {
    health: [],
    plan: ["health"],
  },
  "src/operations/responses": {
    // A response may be kept, with what its provider has encrypted; a request refers to one that was kept.
    answer: ["keeping"],
    background: ["keeping"],
    keeping: [],
    native: ["keeping"],
    request: ["keeping"],
  },
  "src/http/admin": {
    audit: [],
    calls: [],
    // Versions show who made them as the audit log does.
    configured: ["audit"],
    // Providers and webhooks are found as they are configured.
    health: ["configured"],
    identity: [],
    request: [],
  },
  "src/process": {
    // What workers share with their supervisor is opened in place of the same parts of a single process.
    parts: ["workers"],
    workers: [],
  },
  "src/cli": {
    // Commands about tokens have the same flags with a gateway as with its database.
    admin: ["database"],
    apply: ["admin"],
    database: [],
  },
};

export function providerImportViolations(files: readonly SourceFile[]): readonly Violation[] {
  const shared = [...PROVIDERS_SHARE];
  const rooms = new Set(files.flatMap(({ path }) => roomOf(path, "src/providers") ?? []));
  const allowed = [...rooms].map((room) => [room, [...shared, ...(PROVIDER_IMPORTS[room] ?? [])]] as const);
  return importsBetweenRooms(files, "src/providers", Object.fromEntries(allowed));
}

export function roomImportViolations(files: readonly SourceFile[]): readonly Violation[] {
  return Object.entries(ROOM_IMPORTS).flatMap(([folder, allowed]) => importsBetweenRooms(files, folder, allowed));
}

/** The most files and folders of one folder, so that a newcomer can read its list. */
const MOST_ENTRIES = 25;

/** The folders that hold more, each with how many. */
export function crowdedFolders(paths: readonly string[]): readonly string[] {
  const entries = new Map<string, Set<string>>();
  for (const path of paths) {
    const names = path.split("/");
    for (const [depth, name] of names.entries()) {
      const folder = names.slice(0, depth).join("/");
      entries.set(folder, (entries.get(folder) ?? new Set()).add(name));
    }
  }
  return [...entries].filter(([, { size }]) => size > MOST_ENTRIES).map(([folder, { size }]) => `${folder}: ${size}`);
}

/** The room of a file in a folder; `null` for what is elsewhere or directly in the folder. */
export function roomOf(path: string, folder: string): string | null {
  const [room, file] = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split("/") : [];
  return file === undefined ? null : room!;
}

/** Imports from one room of a folder into another that `allowed` does not name. */
function importsBetweenRooms(
  files: readonly SourceFile[],
  folder: string,
  allowed: Readonly<Record<string, readonly string[]>>,
): readonly Violation[] {
  return files.flatMap((file) =>
    file.imports.flatMap(({ target, line }) => {
      const [from, to] = [roomOf(file.path, folder), target === null ? null : roomOf(target, folder)];
      if (from === null || to === null || from === to || allowed[from]?.includes(to) === true) return [];
      return [{ path: file.path, line, what: `imports ${target}, but ${from} may not import from ${to}` }];
    }),
  );
}
