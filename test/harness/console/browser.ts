// A browser as far as the console's server side can tell: a page of one origin, with cookies, and the headers that browsers
// add to its requests. `send` is what carries the requests, over sockets or without.
export interface BrowserOptions {
  readonly send: (request: Request) => Promise<Response>;
  /** The origin at which the page is open. */
  readonly origin: string;
  /** What goes along with every request, and takes the place of what the browser would send. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Shown {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: any;
}

export interface ConsoleBrowser {
  /** The value of each cookie that the browser holds. */
  readonly cookies: Map<string, string>;
  ask(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Shown>;
  login(token: string): Promise<Shown>;
}

export function consoleBrowser({ send, origin, headers: always = {} }: BrowserOptions): ConsoleBrowser {
  const cookies = new Map<string, string>();
  const ask: ConsoleBrowser["ask"] = async (method, path, body, headers = {}) => {
    const isSafe = method === "GET" || method === "HEAD";
    const response = await send(
      new Request(`${origin}${path}`, {
        method,
        redirect: "manual",
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
        headers: {
          host: new URL(origin).host,
          "sec-fetch-site": "same-origin",
          "x-gateway-console": "1",
          ...(!isSafe && { origin }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(cookies.size > 0 && { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") }),
          ...always,
          ...headers,
        },
      }),
    );
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === "" || / Max-Age=0(;|$)/.test(line)) cookies.delete(name!);
      else cookies.set(name!, value!);
    }
    const text = await response.text();
    // exports are lines of JSON
    const isJson = /^application\/json\b/.test(response.headers.get("content-type") ?? "");
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? (JSON.parse(text) as unknown) : null,
    };
  };
  return { cookies, ask, login: (token) => ask("POST", "/console/api/session", { token }) };
}
