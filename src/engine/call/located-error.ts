// Errors about a request that was translated to a chat completion name the path in what the client wrote, and types
// of content blocks as the client does.
import type { ChatRequest, RequestForm } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";

/** Returns the error with the path in the client's own body. */
export function locatedError(error: GatewayError, request: ChatRequest): GatewayError {
  const { form, written } = request;
  return written === undefined ? error : relocated(error, form, (path) => form.pathOf(path, request));
}

/** Where a message names the type of a content block. */
const BLOCK_TYPE = /(?<=\b(?:blocks|content|is) of type "?)\w+/;

/** Returns the error with the path that `pathOf` returns for its own, which the message then names as well. */
export function relocated(
  error: GatewayError,
  { blockNames = {} }: Pick<RequestForm, "blockNames">,
  pathOf: (path: string) => string,
): GatewayError {
  const { code, param, message, passed, isWritten } = error;
  if (param === null || passed !== null || isWritten) return error;
  const path = pathOf(param);
  const named =
    code === "unsupported_content_block"
      ? message.replace(BLOCK_TYPE, (type) => (Object.hasOwn(blockNames, type) ? blockNames[type]! : type))
      : message;
  if (path === param && named === message) return error;
  const { metadata, headers, detail } = error;
  const located =
    named.startsWith(`${param} `) || named.startsWith(`${param}: `)
      ? path + named.slice(param.length)
      : named.replaceAll(`\`${param}\``, `\`${path}\``);
  return new GatewayError(code, located, {
    param: path,
    headers,
    cause: error,
    ...(metadata !== undefined && { metadata }),
    ...(detail !== null && { detail }),
  });
}
