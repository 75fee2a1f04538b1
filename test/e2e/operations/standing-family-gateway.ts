// The gateway in front of every wire family, for all tests of one file, and OpenAI's client in front of it.
import { afterAll, beforeAll } from "bun:test";
import OpenAI from "openai";
import { type FamilyGateway, startFamilyGateway } from "./family-gateway.ts";

/** It starts before the tests of the file that calls this, and stops after them; `config` is further text of its configuration. */
export function standingFamilyGateway(config = ""): FamilyGateway {
  let started: FamilyGateway | undefined;
  beforeAll(async () => {
    started = await startFamilyGateway(config);
  });
  afterAll(() => started?.stop());
  const standing = (): FamilyGateway => {
    if (started === undefined) throw new Error("the gateway is there once the tests of the file run");
    return started;
  };
  return {
    get gateway() {
      return standing().gateway;
    },
    get upstream() {
      return standing().upstream;
    },
    get tokens() {
      return standing().tokens;
    },
    get baseUrl() {
      return standing().baseUrl;
    },
    get token() {
      return standing().token;
    },
    goOn: () => standing().goOn(),
    nextEnded: () => standing().nextEnded(),
    stop: () => standing().stop(),
  };
}

/** Reports a failure at once. */
export function openaiClient({ baseUrl, token }: Pick<FamilyGateway, "baseUrl" | "token">): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey: token, maxRetries: 0 });
}
