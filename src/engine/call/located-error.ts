// Errors about a request that was translated to a chat completion name the path in what the client wrote.
import type { ChatRequest } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";

/** Returns the error with the path in the client's own body. */
export function locatedError(error: GatewayError, request: ChatRequest): GatewayError {
  return request.written === undefined ? error : relocated(error, (path) => request.form.pathOf(path, request));
}

/** Returns the error with the path that `pathOf` returns for its own, which the message then names as well. */
export function relocated(error: GatewayError, pathOf: (path: string) => string): GatewayError {
  const { param, message, passed, isWritten } = error;
  if (param === null || passed !== null || isWritten) return error;
  const path = pathOf(param);
  if (path === param) return error;
  const { code, metadata, headers, detail } = error;
  const named = message.startsWith(`${param} `)
    ? path + message.slice(param.length)
    : message.replaceAll(`\`${param}\``, `\`${path}\``);
  return new GatewayError(code, named, {
    param: path,
    headers,
    cause: error,
    ...(metadata !== undefined && { metadata }),
    ...(detail !== null && { detail }),
  });
}
