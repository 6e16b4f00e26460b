/** Something broke (thrown). A decision against a caller is a Denial (a value), never a Fault. */
export type FaultCode =
  | "invalid_request"
  | "not_found"
  | "conflict"
  | "forbidden"
  | "unauthenticated"
  | "quota_store_unavailable"
  | "upstream_error"
  | "upstream_timeout"
  | "internal";

/** `publicMessage` may be shown to callers; the message and cause may not. */
export class AppError extends Error {
  readonly code: FaultCode;
  readonly publicMessage: string;
  readonly fields: Readonly<Record<string, string>> | undefined;

  constructor(
    code: FaultCode,
    publicMessage: string,
    options: { cause?: unknown; fields?: Readonly<Record<string, string>> } = {},
  ) {
    super(publicMessage, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.publicMessage = publicMessage;
    this.fields = options.fields;
  }
}

/** Stops at a state that cannot be. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}
