/** Configuration of three rules and five limits that apply to every call, with more room than a benchmark uses. */
export const GOVERNED = `
projects:
  default:
    policies:
      models: { rule: 'request.model.startsWith("forbidden:")' }
      bounded: { rule: "has(request.parameters.max_tokens) && request.parameters.max_tokens > 100000" }
      people: { rule: 'target.provider == "secret" && token.role != "owner"' }
    limits:
      calls: { metric: requests, window: minute, limit: 1000000000 }
      hourly: { metric: tokens, window: hour, limit: 1000000000000 }
      tokens: { metric: tokens, window: day, limit: 1000000000000, scope: { token: "*" } }
      places: { metric: concurrency, limit: 100000 }
    budgets:
      monthly: { tokens: 1000000000000, window: month, thresholds: [80, 100] }
`;
