// An application as its developer writes it: the official client, of which only address and key are ours.
import OpenAI from "openai";

/** Chat calls go to this model; prices per token: input 2,500 nanos, output 10,000. */
export const LARGE = "sandbox-large";
/** What the ladder serves in its place: input 150 nanos, output 600. */
export const SMALL = "sandbox-small";

/** Tokens that the gateway adds to a body's bytes for its one message, so that its bound is never too low. */
const FRAMING_TOKENS = 6;

export interface Tokens {
  readonly prompt: number;
  readonly completion: number;
}

export interface Served {
  readonly requestId: string;
  readonly model: string;
  /** `pass`, `downgrade`, ... */
  readonly decision: string;
  /** Percent of the budget from which the rung applied. */
  readonly rung: string;
  /** Units of the currency. */
  readonly cost: string;
}

export interface Standing {
  readonly limit: string;
  readonly used: string;
  readonly held: string;
}

export interface Application {
  /** One chat call that is answered with exactly these tokens, through the client's own error handling. */
  readonly chat: (tokens: Tokens) => Promise<Served>;
  /** HTTP requests that the client has sent. */
  readonly sent: () => number;
  /** How the budget at this level of the key's chain stands, as `GET /me` tells the key. Nanos. */
  readonly standing: (scope: string) => Promise<Standing | undefined>;
}

/** The client with its defaults, retries included. */
export function applicationOf(baseURL: string, apiKey: string): Application {
  let sent = 0;
  const counted: typeof fetch = (input, init) => {
    sent += 1;
    return fetch(input, init);
  };
  const client = new OpenAI({ baseURL, apiKey, fetch: counted });
  return {
    chat: async (tokens) => {
      const { response } = await client.chat.completions.create(bodyOf(tokens)).withResponse();
      const header = (name: string): string => response.headers.get(name) ?? "";
      return {
        requestId: header("x-request-id"),
        model: header("x-spillway-model"),
        decision: header("x-spillway-decision"),
        rung: header("x-spillway-rung"),
        cost: header("x-spillway-cost"),
      };
    },
    sent: () => sent,
    standing: async (scope) => {
      const response = await fetch(`${baseURL}/me`, { headers: { authorization: `Bearer ${apiKey}` } });
      const me = (await response.json()) as { readonly budgets: readonly (Standing & { readonly scope: string })[] };
      const found = me.budgets.find((budget) => budget.scope === scope);
      return found === undefined ? undefined : { limit: found.limit, used: found.used, held: found.held };
    },
  };
}

/** The body as the client will write it: with a text that brings its input bound to `BOUND_TOKENS` whatever is asked. */
function bodyOf(tokens: Tokens): OpenAI.ChatCompletionCreateParamsNonStreaming {
  const of = (content: string): OpenAI.ChatCompletionCreateParamsNonStreaming =>
    ({
      model: LARGE,
      messages: [{ role: "user", content }],
      max_tokens: tokens.completion,
      // Asks the stand-in provider for these counts; a real one would ignore the field.
      sandbox: { promptTokens: tokens.prompt, completionTokens: tokens.completion },
    }) as OpenAI.ChatCompletionCreateParamsNonStreaming;
  const missing = BOUND_TOKENS - FRAMING_TOKENS - JSON.stringify(of("")).length;
  return of("w".repeat(missing));
}

/** Input tokens that are held for every call here; a call that uses all of them and its whole cap costs what was held. */
export const BOUND_TOKENS = 400;
