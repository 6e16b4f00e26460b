// How the browser stories learn where the product under test is. `npm test` (or `npx playwright test` by itself) starts a
// whole product on throw-away data and puts this into the environment before the first story.
import { z } from "zod";

const schema = z.object({
  E2E_BASE_URL: z.string(),
  E2E_DATABASE_URL: z.string(),
  E2E_REDIS_URL: z.string(),
  E2E_SANDBOX_URL: z.string(),
  /** What the seed printed: sign-in and API key of the sample company. */
  E2E_FIRST_RUN: z.string().transform((text) => firstRunSchema.parse(JSON.parse(text))),
});

const firstRunSchema = z.looseObject({ email: z.string(), password: z.string(), apiKey: z.string() });

export interface E2eEnvironment {
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly sandboxUrl: string;
  readonly firstRun: z.output<typeof firstRunSchema>;
}

export function e2eEnvironment(): E2eEnvironment {
  const env = schema.parse(process.env);
  return {
    baseUrl: env.E2E_BASE_URL,
    databaseUrl: env.E2E_DATABASE_URL,
    redisUrl: env.E2E_REDIS_URL,
    sandboxUrl: env.E2E_SANDBOX_URL,
    firstRun: env.E2E_FIRST_RUN,
  };
}
