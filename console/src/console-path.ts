// Where the console and the gateway are in this browser. A proxy may have the gateway below a path of its own, so both are found from the
// address of this script, which is in `<path>/console/assets/`.

/** Such as `/console`, or `/llm/console`. */
export const CONSOLE_PATH = new URL("..", import.meta.url).pathname.replace(/\/$/, "");

/** The address of the gateway, for programs that call it: without a slash at its end. */
export function gatewayAddress(): string {
  return location.origin + CONSOLE_PATH.replace(/\/console$/, "");
}

/** A link to a call that works for every reader. */
export function callAddress(traceId: string): string {
  return `${location.origin}${CONSOLE_PATH}/t/${traceId}`;
}
