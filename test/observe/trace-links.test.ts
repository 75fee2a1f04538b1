// Links to the trace of a call: of the integrations that have received it and say where they show it.
import { expect, test } from "bun:test";
import { integrationsSection } from "../../src/observe/integrations/integration-settings.ts";
import { traceLinks } from "../../src/observe/trace-links.ts";
import { recordOf } from "../contract/store/call-records.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const otlp = (more: object) => ({ type: "otlp", endpoint: "http://127.0.0.1:9", ...more });
const PAGE = "https://traces.example.com/t/{trace_id}?again={trace_id}";
const integrations = integrationsSection.parse({
  shown: otlp({ trace_url: PAGE }),
  silent: otlp({}),
  other: otlp({ trace_url: PAGE, tenants: ["beta"] }),
  off: otlp({ trace_url: PAGE, enabled: false }),
  metrics: otlp({ trace_url: PAGE, traces: false }),
  none: otlp({ trace_url: PAGE, sample: 0 }),
});
const traced = (sampled: boolean, explained = false) =>
  recordOf({
    tenantId: "acme",
    explained,
    trace: { traceId: TRACE, spanId: "00f067aa0ba902b7", parentSpanId: null, sampled, state: null },
  });

test("a call leads to its trace where it was received, and nowhere else", () => {
  expect(traceLinks(traced(true), integrations)).toEqual([
    { name: "shown", url: `https://traces.example.com/t/${TRACE}?again=${TRACE}` },
  ]);
  expect(traceLinks(traced(false), integrations)).toEqual([]);
  expect(traceLinks(traced(true, true), integrations)).toEqual([]);
  expect(traceLinks(recordOf({ tenantId: "acme", trace: null }), integrations)).toEqual([]);
});

test("the address of the page needs a place for the id, and http", () => {
  for (const wrong of ["https://traces.example.com/", "javascript:alert('{trace_id}')", "{trace_id}"])
    expect(integrationsSection.safeParse({ one: otlp({ trace_url: wrong }) }).success).toBe(false);
});
