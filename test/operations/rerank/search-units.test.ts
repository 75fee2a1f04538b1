// Rankings that the vendor bills in search units: what the record says was used, and what it costs (promise 12.10).
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compilePrices, type PriceDocument, priceSchema } from "../../../src/accounting/price-settings.ts";
import { RERANK } from "../../../src/operations/rerank/rerank.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

interface Asked {
  readonly model: string;
  readonly documents?: number;
  readonly units?: number;
  readonly price?: Partial<PriceDocument>;
  readonly isElsewhere?: boolean;
}

async function ranked({ model, documents = 3, units, price, isElsewhere = false }: Asked) {
  const id = model.split(":")[0]!;
  const stub = stubGateway({
    operation: RERANK,
    upstream: cannedUpstream({
      body: JSON.stringify({
        results: Array.from({ length: documents }, (_, index) => ({ index, relevance_score: 1 })),
        ...(units !== undefined && { meta: { billed_units: { search_units: units } } }),
      }),
    }),
    providers: [
      providerSettings({
        id,
        credentials: [storedKey("key")],
        ...(id === "bedrock" && { settings: { region: "eu-west-1" } }),
        ...(isElsewhere && { isElsewhere }),
      }),
    ],
    ...(price !== undefined && {
      snapshot: {
        prices: compilePrices([
          {
            id: "prices.own",
            name: "own",
            setBy: null,
            origin: "file",
            version: 0,
            tenantId: null,
            projectId: null,
            document: priceSchema.parse({ model, ...price }),
          },
        ]),
      },
    }),
  });
  const response = await stub.chat(
    { model, query: "q", documents: Array.from({ length: documents }, () => "a") },
    { headers: { "x-gateway-cost": "true" } },
  );
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  const { usage, cost } = stub.records[0]!;
  return { units: usage?.search_units, cost, header: response.headers.get("x-gateway-cost-usd") };
}

describe("a ranking that is billed in search units", () => {
  test("[d12.10] costs what the row says for each unit that the vendor told, in the record and the header", async () => {
    expect(await ranked({ model: "cohere:rerank-v3.5", units: 3 })).toEqual({
      units: 3,
      cost: { nanoUsd: 6_000_000, priceId: "published@2026-11-22:cohere/search_unit" },
      header: "0.006",
    });
  });

  test("[d12.10] is estimated at one unit for 100 documents where the vendor tells none", async () => {
    for (const [documents, units] of [
      [1, 1],
      [100, 1],
      [101, 2],
    ] as const) {
      const { units: counted, cost } = await ranked({
        model: "bedrock:amazon.rerank-v1:0",
        documents,
        price: { search_unit: "0.001" },
      });
      expect([counted, cost?.nanoUsd]).toEqual([units, units * 1_000_000]);
    }
  });

  test("[d12.10] has no cost, and not 0, where no price is known", async () => {
    const unknown = { cost: null, header: null };
    expect(await ranked({ model: "cohere:rerank-x", units: 2 })).toEqual({ units: 2, ...unknown });
    expect(await ranked({ model: "bedrock:amazon.rerank-v1:0" })).toEqual({ units: 1, ...unknown });
    expect(await ranked({ model: "cohere:rerank-v3.5", units: 2, isElsewhere: true })).toEqual({
      units: 2,
      ...unknown,
    });
  });

  test("[d12.10] costs the configured price, exactly, with its tokens only where those have a price", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 1, max: 9_000_000 }),
        async (units, nano) => {
          const price = { search_unit: `0.${String(nano).padStart(9, "0")}` };
          const model = "cohere:rerank-v3.5";
          const { cost } = await ranked({ model, units, price });
          expect(cost?.nanoUsd).toBe(units * nano);
          const dearer = await ranked({ model, units, price: { ...price, prompt: "1" } });
          expect(dearer.cost!.nanoUsd).toBeGreaterThan(units * nano);
        },
      ),
      { numRuns: 20 },
    );
  });

  test("[d12.10] is counted in no units at vendors that bill tokens", async () => {
    const { units, cost } = await ranked({ model: "jina:r", price: { search_unit: "1" } });
    expect([units, cost]).toEqual([undefined, null]);
  });
});
