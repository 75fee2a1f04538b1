// An independent reading of HTTP/1.1 answers: from all that a server has written, with text and patterns where src/wire
// reads byte by byte. After RFC 9112, as strictly as the client has to be.

export interface HttpReading {
  /** `open`: more has to come. */
  readonly outcome: "whole" | "open" | "malformed";
  /** An open head whose complete lines already forbid every end of it; a client may report it at once or wait. */
  readonly isDoomed: boolean;
  readonly hasHead: boolean;
  readonly status: number;
  readonly body: string;
  /** Where the answer ends in the text; only of a whole one. */
  readonly end: number;
  /** Whether another request may be sent behind it, as far as the answer itself says. */
  readonly reusable: boolean;
}

const FIELD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\r\n\0]*$/;
const MAX_HEAD = 64 * 1024;
const MAX_FIELDS = 256;
const MAX_BEFORE = 16;

const result = (outcome: HttpReading["outcome"], more: Partial<HttpReading> = {}): HttpReading => ({
  outcome,
  isDoomed: false,
  hasHead: false,
  status: 0,
  body: "",
  end: 0,
  reusable: false,
  ...more,
});

/** `text`: one character for each byte. `ended`: the server has closed in order behind it. */
export function readHttp(text: string, ended: boolean): HttpReading {
  let at = 0;
  let isMisframed = false;
  for (let before = 0; ; before++) {
    const headEnd = text.indexOf("\r\n\r\n", at);
    const headText = headEnd < 0 ? text.slice(at) : text.slice(at, headEnd);
    const fault = headFault(headText, headEnd < 0);
    if (fault || headText.length + 4 > MAX_HEAD) return result("malformed");
    if (headEnd < 0) {
      const linesEnd = text.lastIndexOf("\r\n");
      const isDoomed = linesEnd > at && readHttp(`${text.slice(at, linesEnd)}\r\n\r\n`, false).outcome === "malformed";
      return result("open", { isDoomed });
    }
    const [statusLine = "", ...lines] = headText.split("\r\n");
    const [, minor = "", digits = ""] = /^HTTP\/1\.([01]) (\d{3})(?: .*)?$/s.exec(statusLine) ?? [];
    const status = Number(digits);
    const fields = lines.map(
      (line) =>
        [
          line.slice(0, line.indexOf(":")).toLowerCase(),
          line.slice(line.indexOf(":") + 1).replaceAll(/^[ \t]+|[ \t]+$/g, ""),
        ] as const,
    );
    const valuesOf = (name: string): readonly string[] =>
      fields.filter(([field]) => field === name).map(([, value]) => value);
    const lengths = valuesOf("content-length").flatMap((value) =>
      value.split(",").map((one) => one.replaceAll(/^[ \t]+|[ \t]+$/g, "")),
    );
    if (
      lengths.some((length) => !/^\d{1,16}$/.test(length) || !Number.isSafeInteger(Number(length))) ||
      new Set(lengths.map(Number)).size > 1
    )
      return result("malformed");
    const codings = valuesOf("transfer-encoding");
    if (status < 200) {
      if (status < 100 || status === 101 || before >= MAX_BEFORE) return result("malformed");
      if (lengths.length > 0 || codings.length > 0) isMisframed = true;
      at = headEnd + 4;
      continue;
    }
    if (codings.length > 0 && (codings.length > 1 || codings[0]!.toLowerCase() !== "chunked"))
      return result("malformed");
    const closes = valuesOf("connection").some((value) =>
      value
        .toLowerCase()
        .split(",")
        .some((word) => word.trim() === "close"),
    );
    if (lengths.length > 1 || (lengths.length > 0 && codings.length > 0)) isMisframed = true;
    const bodyStart = headEnd + 4;
    const whole = (body: string, end: number, mayFollow = true): HttpReading =>
      result("whole", {
        hasHead: true,
        status,
        body,
        end,
        reusable: mayFollow && !isMisframed && !closes && minor === "1",
      });
    if (status === 204 || status === 304)
      return whole("", bodyStart, status === 204 && codings.length === 0 && Number(lengths[0] ?? 0) === 0);
    if (codings.length > 0) return chunked(text, bodyStart, ended, status, whole);
    if (lengths.length === 0)
      return ended
        ? whole(text.slice(bodyStart), text.length, false)
        : result("open", { hasHead: true, status, body: text.slice(bodyStart) });
    const length = Number(lengths[0]);
    const body = text.slice(bodyStart, bodyStart + length);
    return body.length < length ? result("open", { hasHead: true, status, body }) : whole(body, bodyStart + length);
  }
}

/** Whether what is there of a head can be none, be it whole or not. */
function headFault(head: string, isOpen: boolean): boolean {
  if (!"HTTP/1.".startsWith(head.slice(0, 7))) return true;
  // the last character may be the first of a line end
  const said = isOpen && head.endsWith("\r") ? head.slice(0, -1) : head;
  if (/[\0]|\r(?!\n)|(?<!\r)\n/.test(said)) return true;
  const lines = said.split("\r\n");
  const complete = isOpen ? lines.slice(0, -1) : lines;
  if (complete.length > 0 && !/^HTTP\/1\.[01] [1-9]\d\d(?: .*)?$/s.test(complete[0]!)) return true;
  return complete.slice(1).some((line) => !FIELD.test(line)) || complete.length - 1 > MAX_FIELDS;
}

function chunked(
  text: string,
  start: number,
  ended: boolean,
  status: number,
  whole: (body: string, end: number, mayFollow?: boolean) => HttpReading,
): HttpReading {
  let body = "";
  let at = start;
  for (;;) {
    const lineEnd = text.indexOf("\r\n", at);
    const line = lineEnd < 0 ? text.slice(at) : text.slice(at, lineEnd);
    const open = result("open", { hasHead: true, status, body });
    const bad = result("malformed", { hasHead: true, status });
    if (lineEnd < 0)
      return /^[0-9a-f]*(?:[ \t;]|\r?$)/i.test(line) &&
        (line === "" || /^[0-9a-f]/i.test(line)) &&
        !/[\n\0]/.test(line) &&
        !/\r(?!$)/.test(line)
        ? open
        : bad;
    const [, digits = ""] = /^([0-9a-f]{1,16})[ \t]*(?:;[^\r\n\0]*)?$/i.exec(line) ?? [];
    if (digits === "") return bad;
    const size = Number.parseInt(digits, 16);
    if (size > Number.MAX_SAFE_INTEGER) return bad;
    at = lineEnd + 2;
    if (size === 0) break;
    body += text.slice(at, at + size);
    if (text.length < at + size) return { ...open, body };
    at += size;
    const behind = text.slice(at, at + 2);
    if (!"\r\n".startsWith(behind)) return bad;
    if (behind.length < 2) return { ...open, body };
    at += 2;
  }
  // the trailer, up to an empty line
  for (;;) {
    const lineEnd = text.indexOf("\r\n", at);
    const line = lineEnd < 0 ? text.slice(at) : text.slice(at, lineEnd);
    if (/[\n\0]/.test(line) || /\r(?!$)/.test(line) || (lineEnd >= 0 && line.includes("\r")))
      return result("malformed", { hasHead: true, status });
    if (lineEnd < 0) return ended ? whole(body, text.length, false) : result("open", { hasHead: true, status, body });
    at = lineEnd + 2;
    if (line === "") return whole(body, at);
  }
}
