/**
 * Connections that cannot be talked into the wrong network. A host is resolved here, all its addresses are judged, and the
 * socket is opened to an address that was judged: a name server that answers differently the second time is never asked a
 * second time. TLS still verifies the certificate against the name.
 */
import { lookup } from "node:dns/promises";
import { Agent, buildConnector } from "undici";
import type { UrlRefusal } from "./check-url";
import { refusalMessage } from "./check-url";
import type { OutboundPolicy, OutboundTarget } from "./outbound-policy";
import { targetRefusal } from "./outbound-policy";
import { parseAddress } from "./address";

/** All addresses of a host name. Rejects where there are none. */
export type Resolver = (host: string) => Promise<readonly string[]>;

/** The guard said no: nothing was sent. */
export class OutboundRefused extends Error {
  readonly code = "OUTBOUND_REFUSED";
  readonly reason: UrlRefusal;

  constructor(reason: UrlRefusal) {
    super(refusalMessage(reason));
    this.name = "OutboundRefused";
    this.reason = reason;
  }
}

export interface GuardedConnectOptions {
  readonly policy: OutboundPolicy;
  readonly resolve?: Resolver;
  /** For resolving, and again for connecting. Milliseconds. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** Addresses tried in turn; each gets its share of the time. */
const MAX_TRIES = 3;

const systemResolver: Resolver = async (host) => {
  const answers = await lookup(host, { all: true });
  return answers.map((answer) => answer.address);
};

/** dns.lookup cannot be given up, but nobody has to wait for it. */
function within<Value>(work: Promise<Value>, timeoutMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(Object.assign(new Error("the host was not resolved in time"), { code: "EAI_AGAIN" }));
    }, timeoutMs);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}

/** One family after the other, so that a machine without IPv6 does not spend all tries on it. */
function interleaved(addresses: readonly string[]): string[] {
  const four = addresses.filter((address) => !address.includes(":"));
  const six = addresses.filter((address) => address.includes(":"));
  const mixed: string[] = [];
  for (let index = 0; index < Math.max(four.length, six.length); index += 1) {
    mixed.push(...[four[index], six[index]].filter((address) => address !== undefined));
  }
  return mixed;
}

/**
 * The addresses a target may be connected to: all of them or none, since a host with one address in the wrong network is
 * not to be trusted with the others. Throws OutboundRefused, or what the resolver throws.
 */
async function judgedAddresses(target: OutboundTarget, options: GuardedConnectOptions): Promise<string[]> {
  const addresses =
    parseAddress(target.host) === undefined
      ? await within((options.resolve ?? systemResolver)(target.host), options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
      : [target.host];
  if (addresses.length === 0) throw new OutboundRefused("notAnAddress");
  for (const address of addresses) {
    const reason = targetRefusal(options.policy, target, address);
    if (reason !== undefined) throw new OutboundRefused(reason);
  }
  return interleaved([...new Set(addresses)]).slice(0, MAX_TRIES);
}

function targetOf(options: buildConnector.Options): OutboundTarget {
  const scheme = options.protocol === "http:" ? "http" : "https";
  const port = options.port === "" ? (scheme === "http" ? 80 : 443) : Number(options.port);
  return { scheme, host: options.hostname.toLowerCase().replace(/^\[|\]$/gu, ""), port };
}

/** For `connect` of an undici Agent, Pool or Client. */
export function guardedConnector(options: GuardedConnectOptions): buildConnector.connector {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const byTries = Array.from({ length: MAX_TRIES }, (_, index) => buildConnector({ timeout: timeoutMs / (index + 1) }));
  return (connection, callback) => {
    const tryNext = (addresses: readonly string[], index: number): void => {
      const connect = byTries[addresses.length - 1];
      const address = addresses[index];
      if (!connect || address === undefined) return;
      // An address instead of the name: nothing is resolved again. The name stays in `host`, from which TLS takes it.
      connect({ ...connection, hostname: address }, (...result) => {
        const [error] = result;
        if (error !== null && index + 1 < addresses.length) tryNext(addresses, index + 1);
        else callback(...result);
      });
    };
    judgedAddresses(targetOf(connection), options).then(
      (addresses) => {
        tryNext(addresses, 0);
      },
      (error: unknown) => {
        callback(error instanceof Error ? error : new Error("the host cannot be resolved"), null);
      },
    );
  };
}

export interface GuardedAgentOptions extends GuardedConnectOptions {
  readonly connectionsPerOrigin?: number;
  readonly keepAliveMs?: number;
}

/** An undici Agent whose every connection is guarded. It follows no redirects: undici's request() does not. */
export function guardedAgent(options: GuardedAgentOptions): Agent {
  return new Agent({
    connections: options.connectionsPerOrigin ?? 64,
    pipelining: 1,
    keepAliveTimeout: options.keepAliveMs ?? 30_000,
    connect: guardedConnector(options),
  });
}
