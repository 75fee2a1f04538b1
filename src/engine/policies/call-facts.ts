// What the rules of policies (promise 3.1) and the conditions of routes (promise 16.1) can read of a call.

// Decides (the answer): What does a rule read, and when is it evaluated? Also: `policies/policy-facts.ts`,
// `policy-rule.ts`, `engine/policies/call-rules.ts` (`CallRules`). Rule: Once before the first attempt; rules that
// read the target, for each target, and where an entry of a route changes the request, all of them there.
import type { ChatRequest } from "../../core/chat.ts";
import type { Principal } from "../../core/identity.ts";
import type { RecordedOperation } from "../../core/operation.ts";
import type { PolicyTarget, RuleMeter } from "../../core/configured/policy.ts";
import { openRuleMeter } from "../../policies/policy-rule.ts";
import { ClientFacts, RequestFacts, ScopeFacts, TargetFacts, TokenFacts } from "../../policies/policy-facts.ts";

export interface FactSource {
  readonly sent: ChatRequest;
  readonly operation: RecordedOperation;
  readonly principal: Principal;
  /** Returns an empty text when the address is unknown. */
  readonly clientIp: () => string;
  readonly now: () => number;
  /** Of all rules and conditions of the call; where it is left out, those that read these facts have one of their own. */
  readonly meter?: RuleMeter;
  /** The values of the headers that conditions may read, by name; absent where no condition is evaluated. */
  readonly listedHeaders?: () => ReadonlyMap<string, string>;
}

/** Each value is created when a rule uses it. */
export class CallFacts {
  readonly #call: FactSource;
  readonly meter: RuleMeter;
  request: RequestFacts;
  currentTarget: PolicyTarget | null = null;
  #target: TargetFacts | null = null;
  #targetOf: PolicyTarget | null = null;
  #token: TokenFacts | null = null;
  #tenant: ScopeFacts | null = null;
  #project: ScopeFacts | null = null;
  #client: ClientFacts | null = null;
  #now: Date | null = null;
  #headers: ReadonlyMap<string, string> | null = null;

  constructor(call: FactSource) {
    this.#call = call;
    this.meter = call.meter ?? openRuleMeter();
    this.request = new RequestFacts(call.sent, call.operation);
  }
  get target(): TargetFacts {
    if (this.currentTarget === null) throw new Error("there is no target here");
    if (this.#target === null || this.#targetOf !== this.currentTarget)
      this.#target = new TargetFacts(this.currentTarget);
    this.#targetOf = this.currentTarget;
    return this.#target;
  }
  get token(): TokenFacts {
    return (this.#token ??= new TokenFacts(this.#call.principal));
  }
  get tenant(): ScopeFacts {
    return (this.#tenant ??= new ScopeFacts(this.#call.principal.tenantId));
  }
  get project(): ScopeFacts {
    return (this.#project ??= new ScopeFacts(this.#call.principal.projectId));
  }
  get client(): ClientFacts {
    return (this.#client ??= new ClientFacts(this.#call.clientIp()));
  }
  get now(): Date {
    return (this.#now ??= new Date(this.#call.now()));
  }
  get headers(): ReadonlyMap<string, string> {
    return (this.#headers ??= this.#call.listedHeaders?.() ?? NO_HEADERS);
  }
}

const NO_HEADERS: ReadonlyMap<string, string> = new Map();
