// The document of a tool server (MCP), as the admin API accepts it and the store keeps it, and as the configuration
// file has it, where it may also be a program.
import { z } from "zod";
import { SCOPE_ID } from "../config/sections.ts";

const MAX_HEADERS = 50;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
/** Headers that frame a message or name its receiver are set by the client only. */
const OWN_HEADERS =
  /^(host|content-length|content-type|connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|mcp-.*)$/i;
const HEADER_VALUE = /^[\x20-\x7e]{0,8192}$/;
const TOOL_NAME = /^[A-Za-z0-9_.*/-]{1,128}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const WITHOUT_NUL = /^[^\0]*$/;
const MAX_RESULT_BYTES = 64 * 1024 * 1024;

const isAddress = (text: string): boolean => {
  if (!/^https?:\/\/[^\s\\#]+$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "" && !text.includes("@");
};

const address = z.string().max(2000).refine(isAddress, "expected an http or https address without user name");
const words = (max: number) => z.string().max(max).regex(WITHOUT_NUL, "expected text without a zero byte");

const oauth = z
  .strictObject({
    token_url: address.meta({ title: "Token URL", description: "Where the token is asked for." }),
    client_id: z
      .string()
      .min(1)
      .max(500)
      .meta({ title: "Client id", description: "Of the gateway, at that authorization server." }),
    client_secret: z
      .string()
      .min(1)
      .max(8192)
      .meta({ title: "Client secret", description: "Sealed, and shown masked." }),
    client_auth: z.enum(["post", "basic"]).optional().meta({
      title: "Client authentication",
      description:
        "How id and secret are sent: `post`, in the form, or `basic`, in the header `Authorization`. Not set: post.",
    }),
    scope: z
      .string()
      .min(1)
      .max(2000)
      .optional()
      .meta({ title: "Scope", description: "Asked for, names with spaces between them." }),
    audience: z
      .string()
      .min(1)
      .max(2000)
      .optional()
      .meta({ title: "Audience", description: "Sent as `audience`, where the authorization server wants one." }),
  })
  .meta({
    title: "OAuth",
    description:
      "Client credentials (RFC 6749, 4.4): a token is asked for, kept until shortly before its end, and asked for anew when the server refuses it.",
  });

const shared = {
  enabled: z
    .boolean()
    .optional()
    .meta({ title: "Enabled", description: "False switches it off, and wider ones of the same name too." }),
  description: z.string().min(1).max(500).optional().meta({ title: "Description", description: "For people." }),
  timeout_s: z.number().gt(0).max(600).optional().meta({
    title: "Timeout",
    description: "Seconds that one call of a tool may take, waiting for its turn included. Not set: 60.",
  }),
  max_result_bytes: z.int().min(1024).max(MAX_RESULT_BYTES).optional().meta({
    title: "Size of a result",
    description:
      "Bytes of one result as it is sent; where more comes, the answer is cut off and the call fails. Not set: 1048576.",
  }),
  max_concurrent: z.int().min(1).max(1000).optional().meta({
    title: "Calls at once",
    description: "Calls of its tools that run at the same time in one process; further ones wait. Not set: 16.",
  }),
  allowed_tools: z
    .array(z.string().regex(TOOL_NAME, "expected the name of a tool, with * for any text"))
    .max(1000)
    .optional()
    .meta({ title: "Tools", description: "Which of its tools may be used, with * for any text. Not set: all." }),
  role: z
    .enum(["developer", "maintainer", "admin", "owner"])
    .optional()
    .meta({ title: "Role", description: "The least role that may use it. Not set: everybody who may make calls." }),
  require_approval: z.enum(["always", "never"]).optional().meta({
    title: "Approval",
    description:
      "Whether a call of a tool waits for the client's approval, where the request does not say. Not set: always.",
  }),
};

const overHttp = {
  url: address.meta({ title: "URL", description: "Where the server answers." }),
  headers: z
    .record(
      z
        .string()
        .regex(HEADER_NAME, "expected the name of a header")
        .refine((name) => !OWN_HEADERS.test(name), "this header is the client's own"),
      z.string().regex(HEADER_VALUE, "expected printable characters without line breaks"),
    )
    .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `expected at most ${MAX_HEADERS} headers`)
    .optional()
    .meta({ title: "Headers", description: "What is sent along, credentials too: they are sealed, and shown masked." }),
  oauth: oauth.optional(),
};

const HTTP_TRANSPORTS = ["auto", "streamable_http", "sse"] as const;
const TRANSPORT =
  "How it is reached: `streamable_http`, `sse` for older servers, or `auto`, which tries one after the other.";

/** The schema of the admin API and the store: a tool server there always has an address. */
export const toolServerSchema = z
  .strictObject({
    transport: z
      .enum(HTTP_TRANSPORTS)
      .optional()
      .meta({
        title: "Transport",
        description: `${TRANSPORT} Programs (\`stdio\`) stand in the configuration file alone. Not set: auto.`,
      }),
    ...overHttp,
    ...shared,
  })
  .meta({ title: "Tool server", description: "A server of tools." });

const STDIO_FIELDS = ["command", "args", "environment", "folder"] as const;
const HTTP_FIELDS = ["url", "headers", "oauth"] as const;

/** The schema of the configuration file. */
const fileToolServerSchema = z
  .strictObject({
    ...overHttp,
    url: overHttp.url.optional(),
    transport: z
      .enum([...HTTP_TRANSPORTS, "stdio"])
      .optional()
      .meta({
        title: "Transport",
        description: `${TRANSPORT} \`stdio\`: a program that the gateway starts and speaks with over its input and output. Not set: auto, or stdio where there is a \`command\`.`,
      }),
    command: words(4096)
      .min(1)
      .optional()
      .meta({ title: "Command", description: "The program, by its name or path. It is started without a shell." }),
    args: z.array(words(32_768)).max(1000).optional().meta({ title: "Arguments", description: "Of the program." }),
    environment: z
      .record(z.string().regex(VARIABLE, "expected the name of a variable"), words(32_768))
      .optional()
      .meta({
        title: "Environment",
        description: "Variables of the program. Of the gateway's own it gets PATH, HOME and their like, and no other.",
      }),
    folder: words(4096)
      .min(1)
      .optional()
      .meta({ title: "Folder", description: "Where the program runs. Not set: where the gateway does." }),
    ...shared,
  })
  .superRefine((entry, context) => {
    const program = entry.transport === "stdio" || (entry.transport === undefined && entry.command !== undefined);
    const issue = (path: string, message: string): void => context.addIssue({ code: "custom", path: [path], message });
    if (program && entry.command === undefined)
      issue("command", "expected the program that is started, as the transport is stdio");
    if (!program && entry.url === undefined) issue("url", "expected the address of the server, or a command");
    for (const field of program ? HTTP_FIELDS : STDIO_FIELDS)
      if (entry[field] !== undefined)
        issue(
          field,
          program
            ? "this is for servers behind an address, and this one is a program"
            : "this is for a program (`transport: stdio`), and this one is behind an address",
        );
  })
  .meta({ title: "Tool server", description: "A server of tools." });

export type ToolServerDocument = z.output<typeof fileToolServerSchema>;

export const toolServersSection = z
  .record(
    z.string().regex(SCOPE_ID, "expected a name of 1 to 64 letters, digits, dashes, dots and underscores"),
    fileToolServerSchema,
  )
  .prefault({})
  .meta({
    title: "Tool servers",
    description: "Servers of tools (MCP), by name, for all tenants: the `server_label` of a request. docs/tools.md.",
  });
