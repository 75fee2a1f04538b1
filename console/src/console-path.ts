// Where the console and the gateway are in this browser. A proxy may have the gateway below a path of its own, so both are found from the
// address of this script, which is in `<path>/console/assets/`.
const HERE = new URL("..", import.meta.url);

/** Such as `/console`, or `/llm/console`. */
export const CONSOLE_PATH = HERE.pathname.replace(/\/$/, "");

/** The address of the gateway, for programs that call it: without a slash at its end. */
export function gatewayAddress(): string {
  return HERE.origin + CONSOLE_PATH.replace(/\/console$/, "");
}

/** A link to a call that works for every reader. */
export function callAddress(traceId: string): string {
  return `${HERE.origin}${CONSOLE_PATH}/t/${traceId}`;
}
