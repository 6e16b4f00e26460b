/**
 * The frame of every console route handler: who asks, may they, is the input right, and what an error looks like.
 * A read is a GET and changes nothing. A write needs an Idempotency-Key and must come from our own pages.
 */
import "server-only";
import { z } from "zod";
import { AppError } from "@/lib/domain/fault";
import type { FaultCode } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import type { Action } from "@/lib/domain/role";
import { webEnv } from "@/lib/config/env";
import { getConsoleServices } from "@/lib/wiring/console";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";
import { isOwnPage } from "./same-origin";
import { currentPerson, currentPrincipal } from "./session";
import type { Person } from "./session";

const STATUS: Readonly<Record<FaultCode, number>> = {
  invalid_request: 400,
  unauthenticated: 401,
  // What one may not see and what does not exist look the same.
  forbidden: 404,
  not_found: 404,
  conflict: 409,
  internal: 500,
  quota_store_unavailable: 503,
  upstream_error: 502,
  upstream_timeout: 504,
};
const MAX_BODY_BYTES = 64 * 1024;

interface Context<Params> {
  readonly params: Promise<Params>;
}

export interface ReadCall<Params, Query> {
  readonly who: ConsolePrincipal;
  readonly params: Params;
  readonly query: Query;
}

export interface WriteCall<Params, Input, Who = ConsolePrincipal> {
  readonly who: Who;
  readonly params: Params;
  readonly input: Input;
  readonly idempotencyKey: string;
  readonly requestId: string;
}

function answer(body: unknown, requestId: string, status = 200): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store", "x-request-id": requestId } });
}

function failure(error: unknown, requestId: string): Response {
  const fault = error instanceof AppError ? error : new AppError("internal", "Something went wrong", { cause: error });
  const status = STATUS[fault.code];
  if (status >= 500) getConsoleServices().report(error, requestId);
  const code = fault.code === "forbidden" ? "not_found" : fault.code;
  const message = fault.code === "forbidden" ? "Not found" : fault.publicMessage;
  const fields = fault.fields === undefined ? {} : { fields: fault.fields };
  return answer({ error: { code, message, requestId, ...fields } }, requestId, status);
}

async function signedIn(): Promise<Person> {
  const person = await currentPerson();
  if (person === null) throw new AppError("unauthenticated", "Sign in first");
  return person;
}

async function permitted(action: Action): Promise<ConsolePrincipal> {
  const who = await currentPrincipal();
  if (who === null) throw new AppError("unauthenticated", "Sign in first");
  if (!isPermitted(who, action)) throw new AppError("not_found", "Not found");
  return who;
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const fields = Object.fromEntries(result.error.issues.map((issue) => [issue.path.join("."), issue.message]));
  throw new AppError("invalid_request", "The request is not valid", { fields });
}

async function bodyOf(request: Request, maxBytes: number): Promise<unknown> {
  if (!(request.headers.get("content-type") ?? "").startsWith("application/json")) {
    throw new AppError("invalid_request", "The body must be JSON");
  }
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) {
    throw new AppError("invalid_request", "The body is too large");
  }
  const text = await request.text();
  if (text.length > maxBytes) throw new AppError("invalid_request", "The body is too large");
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError("invalid_request", "The body is not JSON");
  }
}

type Handler<Params> = (request: Request, context: Context<Params>) => Promise<Response>;

interface ReadRoute<Query extends z.ZodType, Answer extends z.ZodType> {
  readonly action: Action;
  readonly query: Query;
  readonly answer: Answer;
}

/** A GET. The answer is checked against its contract, so that nothing leaves that was not meant to. */
export function readRoute<Query extends z.ZodType, Answer extends z.ZodType, Params = Record<string, never>>(
  route: ReadRoute<Query, Answer>,
  read: (call: ReadCall<Params, z.output<Query>>) => Promise<z.input<Answer>>,
): Handler<Params> {
  return async (request, context) => {
    const requestId = newId("req", getConsoleServices().clock.nowMs());
    try {
      const who = await permitted(route.action);
      const query = parsed(route.query, Object.fromEntries(new URL(request.url).searchParams));
      const result = await read({ who, params: await context.params, query });
      return answer(route.answer.parse(result), requestId);
    } catch (error) {
      return failure(error, requestId);
    }
  };
}

/** A file that a GET gives. Its first piece is made before anything is sent, so that a refusal is still an answer like others. */
export interface Download {
  readonly fileName: string;
  readonly pieces: AsyncGenerator<string>;
}

/** A GET of a file in CSV, sent as it is made. */
export function downloadRoute<Query extends z.ZodType>(
  route: { readonly action: Action; readonly query: Query },
  read: (call: ReadCall<Record<string, never>, z.output<Query>>) => Promise<Download>,
): Handler<Record<string, never>> {
  return async (request, context) => {
    const requestId = newId("req", getConsoleServices().clock.nowMs());
    try {
      const who = await permitted(route.action);
      const query = parsed(route.query, Object.fromEntries(new URL(request.url).searchParams));
      const { fileName, pieces } = await read({ who, params: await context.params, query });
      return new Response(await streamOf(pieces), {
        headers: {
          "content-type": "text/csv; charset=utf-8",
          "content-disposition": `attachment; filename="${fileName}"`,
          "cache-control": "no-store",
          "x-request-id": requestId,
        },
      });
    } catch (error) {
      return failure(error, requestId);
    }
  };
}

async function streamOf(pieces: AsyncGenerator<string>): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  let next = await pieces.next();
  return new ReadableStream({
    pull: async (controller) => {
      if (next.done === true) {
        controller.close();
        return;
      }
      controller.enqueue(encoder.encode(next.value));
      next = await pieces.next();
    },
    cancel: async () => {
      await pieces.return(undefined);
    },
  });
}

interface WriteContract<Input extends z.ZodType, Answer extends z.ZodType> {
  readonly input: Input;
  readonly answer: Answer;
  /** For bodies that carry a file. */
  readonly maxBytes?: number;
}
interface WriteRoute<Input extends z.ZodType, Answer extends z.ZodType> extends WriteContract<Input, Answer> {
  readonly action: Action;
}

/** A POST, PATCH or DELETE. The use case checks the permission again at the very node it changes. */
export function writeRoute<Input extends z.ZodType, Answer extends z.ZodType, Params = Record<string, never>>(
  route: WriteRoute<Input, Answer>,
  write: (call: WriteCall<Params, z.output<Input>>) => Promise<z.input<Answer>>,
): Handler<Params> {
  return writeOf(route, () => permitted(route.action), write);
}

/** A write of somebody who may not belong to any organisation yet: only that they are signed in is asked here. */
export function personWriteRoute<Input extends z.ZodType, Answer extends z.ZodType, Params = Record<string, never>>(
  route: WriteContract<Input, Answer>,
  write: (call: WriteCall<Params, z.output<Input>, Person>) => Promise<z.input<Answer>>,
): Handler<Params> {
  return writeOf(route, signedIn, write);
}

function writeOf<Input extends z.ZodType, Answer extends z.ZodType, Params, Who>(
  route: WriteContract<Input, Answer>,
  enter: () => Promise<Who>,
  write: (call: WriteCall<Params, z.output<Input>, Who>) => Promise<z.input<Answer>>,
): Handler<Params> {
  return async (request, context) => {
    const requestId = newId("req", getConsoleServices().clock.nowMs());
    try {
      if (!isOwnPage(request.headers, webEnv().NEXTAUTH_URL)) throw new AppError("not_found", "Not found");
      const who = await enter();
      const idempotencyKey = request.headers.get("idempotency-key");
      if (idempotencyKey === null) throw new AppError("invalid_request", "An Idempotency-Key is needed");
      const input = parsed(route.input, await bodyOf(request, route.maxBytes ?? MAX_BODY_BYTES));
      const result = await write({ who, params: await context.params, input, idempotencyKey, requestId });
      return answer(route.answer.parse(result), requestId);
    } catch (error) {
      return failure(error, requestId);
    }
  };
}

/** For reads without parameters. */
export const noQuery = z.object({});
