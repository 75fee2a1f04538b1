// The document of a tool server (MCP), as the admin API accepts it and the store keeps it, and as the configuration
// file has it, where it may also be a program.
import { z } from "zod";
import { httpAddress } from "../config/http-address.ts";
import { sentHeaders } from "../config/sent-headers.ts";
import { SCOPE_ID } from "../config/sections.ts";
import { VARIABLE } from "../config/environment.ts";

const MAX_HEADERS = 50;
/** Headers of the protocol. */
const OWN_HEADERS = /^mcp-/i;
const TOOL_NAME = /^[A-Za-z0-9_.*/-]{1,128}$/;
const WITHOUT_NUL = /^[^\0]*$/;
const MAX_RESULT_BYTES = 64 * 1024 * 1024;

const boundedText = (max: number) => z.string().max(max).regex(WITHOUT_NUL, "expected text without a zero byte");

export const OAUTH = {
  token_url: httpAddress.meta({ title: "Token URL", description: "The token endpoint of the authorization server." }),
  client_id: z
    .string()
    .min(1)
    .max(500)
    .meta({ title: "Client id", description: "The gateway's client id at the authorization server." }),
  client_secret: z
    .string()
    .min(1)
    .max(8192)
    .meta({ title: "Client secret", description: "The client secret. It is stored encrypted and shown masked." }),
  client_auth: z.enum(["post", "basic"]).optional().meta({
    title: "Client authentication",
    description:
      "How id and secret are sent: `post` in the form, `basic` in the header `Authorization`. The default is `post`.",
  }),
  scope: z
    .string()
    .min(1)
    .max(2000)
    .optional()
    .meta({ title: "Scope", description: "Scopes to request, separated by spaces." }),
  audience: z
    .string()
    .min(1)
    .max(2000)
    .optional()
    .meta({ title: "Audience", description: "The `audience` to send, if the authorization server needs one." }),
};
const oauth = z.strictObject(OAUTH).meta({
  title: "OAuth",
  description:
    "Client credentials (RFC 6749, 4.4): a token is requested, cached until shortly before it expires, and requested again if the tool server rejects it.",
});

const shared = {
  enabled: z
    .boolean()
    .optional()
    .meta({ title: "Enabled", description: "`false` disables it, and wider ones with the same name too." }),
  description: z.string().min(1).max(500).optional().meta({ title: "Description", description: "Text for display." }),
  timeout_s: z.number().gt(0).max(600).optional().meta({
    title: "Timeout",
    description: "Time limit of one tool call in seconds, including the time it waits for its turn. The default is 60.",
  }),
  max_result_bytes: z.int().min(1024).max(MAX_RESULT_BYTES).optional().meta({
    title: "Maximum result size",
    description:
      "Largest result in bytes as sent by the server; a tool call with a larger one fails. The default is 1048576.",
  }),
  max_concurrent: z.int().min(1).max(1000).optional().meta({
    title: "Concurrent calls",
    description:
      "Most tool calls that run at the same time in one gateway, over all of its workers; further calls wait. The default is 16.",
  }),
  allowed_tools: z
    .array(z.string().regex(TOOL_NAME, "expected a tool name, with * for any text"))
    .max(1000)
    .optional()
    .meta({ title: "Tools", description: "Tools that may be used, with `*` for any text. The default is all." }),
  role: z.enum(["developer", "maintainer", "admin", "owner"]).optional().meta({
    title: "Role",
    description: "The lowest role that may use it. The default is all callers who may make calls.",
  }),
  require_approval: z.enum(["always", "never"]).optional().meta({
    title: "Approval",
    description:
      "Whether a tool call waits for the client's approval, if the request does not set it. The default is `always`.",
  }),
};

const overHttp = {
  url: httpAddress.meta({ title: "URL", description: "Address of the server." }),
  headers: sentHeaders("the MCP client", MAX_HEADERS, OWN_HEADERS),
  oauth: oauth.optional(),
};

const HTTP_TRANSPORTS = ["auto", "streamable_http", "sse"] as const;
const TRANSPORT = "The transport: `streamable_http`, `sse` for older servers, or `auto`, which tries both.";

/** The schema of the admin API and the store: a tool server there always has an address. */
export const toolServerSchema = z
  .strictObject({
    transport: z
      .enum(HTTP_TRANSPORTS)
      .optional()
      .meta({
        title: "Transport",
        description: `${TRANSPORT} Programs (\`stdio\`) can only be configured in the file. The default is \`auto\`.`,
      }),
    ...overHttp,
    ...shared,
  })
  .meta({ title: "Tool server", description: "A tool server (MCP)." });

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
        description: `${TRANSPORT} \`stdio\` is a program that the gateway starts and talks to over standard input and output. The default is \`stdio\` if \`command\` is set, otherwise \`auto\`.`,
      }),
    command: boundedText(4096)
      .min(1)
      .optional()
      .meta({ title: "Command", description: "Name or path of the program. It is started without a shell." }),
    args: z
      .array(boundedText(32_768))
      .max(1000)
      .optional()
      .meta({ title: "Arguments", description: "Arguments of the program." }),
    environment: z
      .record(z.string().regex(VARIABLE, "expected the name of a variable"), boundedText(32_768))
      .optional()
      .meta({
        title: "Environment",
        description:
          "Environment variables of the program. Of the gateway's own variables it gets only PATH, HOME and similar ones.",
      }),
    folder: boundedText(4096)
      .min(1)
      .optional()
      .meta({ title: "Folder", description: "Working directory of the program. The default is that of the gateway." }),
    ...shared,
  })
  .superRefine((entry, context) => {
    const program = entry.transport === "stdio" || (entry.transport === undefined && entry.command !== undefined);
    const issue = (path: string, message: string): void => context.addIssue({ code: "custom", path: [path], message });
    if (program && entry.command === undefined)
      issue("command", "expected the program to start, because the transport is stdio");
    if (!program && entry.url === undefined) issue("url", "expected the address of the server, or a command");
    for (const field of program ? HTTP_FIELDS : STDIO_FIELDS)
      if (entry[field] !== undefined)
        issue(
          field,
          program
            ? "only for servers with an address; this one is a program"
            : "only for programs (`transport: stdio`); this server has an address",
        );
  })
  .meta({ title: "Tool server", description: "A tool server (MCP)." });

export type ToolServerDocument = z.output<typeof fileToolServerSchema>;

export const toolServersSection = z
  .record(
    z.string().regex(SCOPE_ID, "expected a name of 1 to 64 letters, digits, dashes, dots and underscores"),
    fileToolServerSchema,
  )
  .prefault({})
  .meta({
    title: "Tool servers",
    description:
      "Tool servers (MCP) for all tenants, by name, which is the `server_label` of a request: docs/tools.md.",
  });
