// Names of headers, and the headers that a document has the gateway send with its requests to a server.
import { z } from "zod";

export const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, "expected the name of a header");
export const HEADER_VALUE = /^[\x20-\x7e]{0,8192}$/;
/** Headers that frame a message or name its receiver are set by the sender only. */
const FRAMING =
  /^(host|content-length|content-type|connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;

/** `sender` is who sets the headers that no document may set: those that frame a message, and those that match `own`. */
export function sentHeaders(sender: string, most: number, own?: RegExp) {
  return z
    .record(
      headerName.refine(
        (name) => !FRAMING.test(name) && own?.test(name) !== true,
        `this header is set by ${sender} itself`,
      ),
      z.string().regex(HEADER_VALUE, "expected printable characters without line breaks"),
    )
    .refine((headers) => Object.keys(headers).length <= most, `expected at most ${most} headers`)
    .optional()
    .meta({
      title: "Headers",
      description: "Headers to send, which may contain credentials: they are stored encrypted and shown masked.",
    });
}
