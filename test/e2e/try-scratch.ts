import { ChatOpenAI } from "@langchain/openai";
import { tool } from "@langchain/core/tools";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { FAMILIES, startFamilyGateway } from "./family-gateway.ts";
import { WEATHER_SCHEMA, FORECAST_SCHEMA } from "./scripted-answers.ts";
const s = await startFamilyGateway();
const show = (l: string, v: unknown) => console.log(l, JSON.stringify(v));
const weather = tool(async ({ city }: any) => city === "Paris" ? "warm" : "cold", { name: "weather", description: "w", schema: WEATHER_SCHEMA as any });
for (const f of FAMILIES) {
  const chat = (o: any = {}) => new ChatOpenAI({ model: f.model, apiKey: s.token, maxRetries: 0, configuration: { baseURL: s.baseUrl }, ...o });
  const m = await chat().invoke("#text"); show(f.wire, m); 
  const r = await chat({ reasoning: undefined, modelKwargs: { reasoning_effort: "low" } }).invoke("#reason"); show(f.wire + " reason", r);
  let all: any; let n = 0; for await (const c of await chat({streaming:true}).stream("#reason")) { n++; all = all ? all.concat(c) : c; } show(f.wire + " stream reason " + n, all);
  const bound = chat().bindTools([weather as any]);
  const ai = await bound.invoke("#tools"); show(f.wire + " tools", ai);
  const results = []; for (const c of ai.tool_calls!) results.push(await (weather as any).invoke(c));
  show("results", results);
  const fin = await bound.invoke([new HumanMessage("#tools"), ai, ...results]); show("final", fin.content);
  let ts: any; for await (const c of await bound.stream("#tools")) ts = ts ? ts.concat(c) : c; show(f.wire + " tools stream", [ts.tool_calls, ts.content, ts.usage_metadata, ts.response_metadata]);
  for (const method of ["jsonSchema", "functionCalling", "jsonMode"]) try {
    show(f.wire + " " + method, [await chat().withStructuredOutput(FORECAST_SCHEMA as any, { method, name: "forecast", strict: method === "jsonSchema" ? true : undefined } as any).invoke(method === "functionCalling" ? "#forecast" : "#json"), s.upstream.last().body]);
  } catch (e) { show(f.wire + " " + method, String(e)); }
  for (const e of ["context","rate-limit","not-found","refused-key","server","overloaded","invalid"]) {
    const before = s.upstream.seen.length; const t = performance.now();
    try { await chat({ maxRetries: e === "server" || e === "overloaded" ? 0 : 1 }).invoke("#fail-" + e); } catch (x: any) { show(f.wire + " " + e, [x.name, x.constructor.name, x.status, x.code, x.lc_error_code, x.message, Object.keys(x), s.upstream.seen.length - before, performance.now() - t]); }
  }
  try { for await (const c of await chat().stream("#broken")) { if (c.content === "Once") s.goOn(); show("c", c.content); } } catch (x: any) { show("broken", [x.name, x.code, x.message]); }
  const ac = new AbortController(); const ended = s.nextEnded(); let t = 0;
  try { for await (const c of await chat().stream("#hang", { signal: ac.signal })) { if (c.content === "Once") { t = performance.now(); ac.abort(); } } } catch (x: any) { show("abort", [x.name, x.message]); }
  console.log("ended", (await ended) - t);
  const ended2 = s.nextEnded(); for await (const c of await chat().stream("#hang")) { if (c.content === "Once") { t = performance.now(); break; } }
  console.log("ended by break", await Promise.race([ended2.then(e => e - t), Bun.sleep(1000)]));
}
await s.stop();
