// The document of a tool server (MCP), as the admin API takes it and the store keeps it. It is kept and administered; calls do not use it yet.
import { z } from "zod";

const MAX_HEADERS = 50;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
/** What frames a message or names its receiver is the client's own. */
const OWN_HEADERS = /^(host|content-length|content-type|connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|mcp-.*)$/i;
const HEADER_VALUE = /^[\x20-\x7e]{0,8192}$/;
const TOOL_NAME = /^[A-Za-z0-9_.*-]{1,128}$/;

const isAddress = (text: string): boolean => {
  if (!/^https?:\/\/[^\s\\#]+$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "" && !text.includes("@");
};

export const toolServerSchema = z
  .strictObject({
    url: z.string().max(2000).refine(isAddress, "expected an http or https address without user name").meta({ title: "URL", description: "Where the server answers, in the form Streamable HTTP." }),
    enabled: z.boolean().optional().meta({ title: "Enabled", description: "False switches it off." }),
    description: z.string().min(1).max(500).optional().meta({ title: "Description", description: "For people." }),
    headers: z
      .record(z.string().regex(HEADER_NAME, "expected the name of a header").refine((name) => !OWN_HEADERS.test(name), "this header is the client's own"), z.string().regex(HEADER_VALUE, "expected printable characters without line breaks"))
      .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `expected at most ${MAX_HEADERS} headers`)
      .optional()
      .meta({ title: "Headers", description: "What is sent along, credentials too: they are sealed, and shown masked." }),
    timeout_s: z.number().gt(0).max(600).optional().meta({ title: "Timeout", description: "Seconds that one call of a tool may take." }),
    allowed_tools: z.array(z.string().regex(TOOL_NAME, "expected the name of a tool, with * for any text")).max(1000).optional().meta({ title: "Tools", description: "Which of its tools may be used. Not set: all." }),
    require_approval: z.enum(["always", "never"]).optional().meta({ title: "Approval", description: "Whether a call of a tool waits for the client's approval, where the request does not say." }),
  })
  .meta({ title: "Tool server", description: "A server of tools." });
